"""The model of a cluster hands out by the rules of the coordinator, and loses nothing."""

from dataclasses import replace

import pytest

from plugins.cluster.tests.benchmarks.cluster_costs import LEAST_WALLTIME_S, Costs, Fleet
from plugins.cluster.tests.benchmarks.cluster_model import GOAL
from plugins.cluster.tests.benchmarks.cluster_simulation import Cluster, simulate

#: as many problems for each device as the benchmark has
COSTS = Costs(problems=100)
FLEET = Fleet(devices=50)


def test_a_small_cluster_is_as_busy_as_a_large_one():
    few = Costs(problems=20), Fleet(devices=10)
    assert simulate(*few) == simulate(*few)
    result = simulate(Costs(problems=400), Fleet(devices=200))
    assert result.problems == 400 and result.busy >= GOAL and result.useful <= result.busy


def test_workers_that_are_lost_cost_time_and_no_problem():
    often = simulate(replace(COSTS, mtbf_h=0.2), FLEET)
    assert often.problems == 100
    assert often.units > simulate(replace(COSTS, mtbf_h=1e6), FLEET).units
    # nobody waits for silent ones where devices have nothing to do
    patient = simulate(replace(COSTS, mtbf_h=0.2, doubt_s=60.0), FLEET)
    assert often.busy > 1.05 * patient.busy


def test_a_pair_that_hangs_does_so_once():
    costs = replace(COSTS, hanging=1e-4, mtbf_h=1e9)
    cluster = Cluster(costs, FLEET)
    pairs = sum(map(len, cluster.hanging))
    result = cluster.run()
    assert result.problems == 100 and result.hangs == pairs > 25
    assert result.busy >= 0.87 and result.hung < 0.15
    # workers that do not name them: others wait, and try them as well
    silent = simulate(replace(costs, suspect_s=1e9), FLEET)
    assert silent.hangs > pairs and silent.run_s > result.run_s


@pytest.mark.thorough
def test_running_in_parts_again_shortens_a_sweep_that_leaves_many_for_the_last_step():
    many = replace(COSTS, finalists=0.5)
    assert simulate(many, FLEET).run_s < 0.95 * simulate(replace(many, narrowed=1.0), FLEET).run_s


def test_jobs_too_short_for_the_model_are_refused():
    with pytest.raises(ValueError, match=f"jobs of 300 s are not modelled, expected {LEAST_WALLTIME_S} s"):
        Costs(walltime_s=300)
