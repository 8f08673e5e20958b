"""What is built and measured in a given time: decisions one by one, and whole searches beside brute force."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof_plugins.tuning.search.budget import everything_built, kernels_to_build
from ckprof_plugins.tuning.search.observations import Costs, Observations, Pair
from plugins.tuning.tests.budget_figures import H200, SHOWN, brute_force, some_problems, tuned
from plugins.tuning.tests.search.conftest import time_of
from plugins.tuning.tests.search.test_search import small_space

#: kernel 2 promises most, then 0, 3, 1
MEANS = np.log([[20.0, 40.0, 10.0, 30.0]] * 3)


def observed(left_s, *, built=None, visit_s=0.1):
    """Return what is known of 3 problems and 4 kernels, which 2 compilers take 5 s each for."""
    observations = Observations(
        small_space(), Costs(start_s=1.0, kernel_s=5.0, unit_s=0.0, jobs=2, visit_s=visit_s)
    )
    observations.left_s = left_s
    if built is not None:
        observations.built[built] = True
    return observations


def test_kernels_are_built_as_far_as_time_for_building_and_measuring_suffices():
    # 1 + 2 x 5 s, and a third of 12 measurements of 0.1 s
    assert kernels_to_build(observed(100.0, built=1), MEANS) == [2, 0, 3]
    assert kernels_to_build(observed(11.5, built=1), MEANS) == [2, 0, 3]
    assert kernels_to_build(observed(11.0, built=1), MEANS) == [2, 0]
    assert kernels_to_build(observed(11.5, built=1, visit_s=1.0), MEANS) == [2, 0]
    assert kernels_to_build(observed(5.0, built=1), MEANS) == []


def test_the_first_build_is_short_and_takes_a_kernel_in_any_case():
    assert kernels_to_build(observed(100.0), MEANS) == [2, 0, 3, 1]
    assert kernels_to_build(observed(30.0), MEANS) == [2, 0]
    assert kernels_to_build(observed(1.0), MEANS) == [2, 0]


def test_nothing_is_planned_without_a_budget_or_while_a_build_runs():
    assert kernels_to_build(observed(None), MEANS) == []
    building = observed(100.0, built=1)
    building.building = True
    assert kernels_to_build(building, MEANS) == []
    unsupported = observed(100.0, built=1)
    unsupported.possible[:, 2] = False
    assert kernels_to_build(unsupported, MEANS) == [0, 3]


def test_everything_is_measured_where_there_is_time_for_it():
    pairs = [Pair(0, 1), Pair(1, 1), Pair(2, 1)]
    assert everything_built(observed(1.0, built=1), MEANS, builds=False) == pairs
    assert everything_built(observed(0.2, built=1), MEANS, builds=False) is None
    # of what is left, a part is for kernels that are built meanwhile
    assert everything_built(observed(0.5, built=1), MEANS, builds=True) is None
    slow = observed(5.0, built=1, visit_s=1.5)
    slow.note(Pair(2, 0), time_of(1.0))
    # not cheap: one after the other, that first which is nearest to the best
    assert everything_built(slow, MEANS, builds=False) in ([Pair(0, 1)], [Pair(1, 1)])


@pytest.mark.parametrize("budget_s", [20.0, pytest.param(60.0, marks=pytest.mark.thorough)])
def test_a_search_finds_more_than_brute_force_in_the_same_time(budget_s):
    """The rule set hopper on an H200, as measured: building all takes 31 s, visiting all 91 s."""
    table = some_problems(SHOWN[0])
    found, loop = tuned(table, H200, budget_s)
    assert found >= brute_force(table, H200, budget_s)
    assert found >= {20.0: 0.94, 60.0: 0.97}[budget_s]
    assert loop.bench.seconds() <= budget_s + 2 * H200.visit_s
    assert loop.progress[-1].built >= {20.0: 14, 60.0: 106}[budget_s]


@pytest.mark.thorough
def test_times_that_nothing_predicts_cost_little_against_brute_force():
    """The worst case of a model: on each problem, each time belongs to another kernel."""
    table = some_problems(SHOWN[1])
    chance, times = np.random.default_rng(0), {}
    for index, row in enumerate(table.rows):
        shuffled = chance.permutation(list(row.values())).tolist()
        times.update({(index, *entry): time_us for entry, time_us in zip(row, shuffled, strict=True)})
    table = replace(table, times=times)
    for budget_s in (20.0, 30.0, 60.0, 120.0):
        assert tuned(table, H200, budget_s)[0] >= brute_force(table, H200, budget_s) - 0.02, budget_s
