"""What is built and measured in a given time: decisions one by one, and whole searches beside brute force."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.kernels.units import partition
from ckprof_plugins.tuning.search.budget import everything_built, kernels_to_build
from ckprof_plugins.tuning.search.loop import TuneStop
from ckprof_plugins.tuning.search.observations import Costs, Observations, Pair
from plugins.tuning.tests.budget_figures import H200, SHOWN, brute_force, some_problems, tuned
from plugins.tuning.tests.search.conftest import counted, replay, time_of
from plugins.tuning.tests.search.test_search import batch_of, small_space

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


def test_kernels_are_built_as_far_as_time_suffices_and_one_in_any_case():
    # 1 + 2 x 5 s, and a third of 12 measurements of 0.1 s
    assert kernels_to_build(observed(100.0, built=1), MEANS) == [2, 0, 3]
    assert kernels_to_build(observed(11.5, built=1), MEANS) == [2, 0, 3]
    assert kernels_to_build(observed(11.0, built=1), MEANS) == [2, 0]
    assert kernels_to_build(observed(11.5, built=1, visit_s=1.0), MEANS) == [2, 0]
    assert kernels_to_build(observed(5.0, built=1), MEANS) == []
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


CUDA_LIKE = counted(start_s=2.0, unit_s=8.0, build_s=0.6, jobs=4, per_unit=3, visit_s=0.05, overlap=True)


@given(kernels=st.integers(1, 200), jobs=st.integers(1, 20), per_unit=st.integers(1, 12))
def test_seconds_are_those_of_the_busiest_compiler(kernels, jobs, per_unit):
    """An independent reference: the groups that the build makes, dealt out to compilers in turn."""
    costs = Costs(start_s=1.0, unit_s=5.0, kernel_s=0.7, jobs=jobs, per_unit=per_unit)
    units = [SimpleNamespace(key=str(one), kernel=SimpleNamespace(weight=1)) for one in range(kernels)]
    groups = partition(units, jobs, {}, per_unit)
    busy = [0.0] * jobs
    for group in sorted(groups, key=len, reverse=True):
        busy[busy.index(min(busy))] += 5.0 + 0.7 * len(group)
    # groups of different sizes are counted as if all were as large as the largest
    assert 1.0 + max(busy) <= costs.build_s(kernels) + 1e-9
    assert costs.build_s(kernels) <= 1.0 + max(busy) + 0.7 * -(-len(groups) // jobs) + 1e-9
    assert costs.further_s(kernels) == pytest.approx(
        max(0.0, costs.build_s(kernels + 1) - costs.build_s(kernels))
    )


def test_nothing_costs_nothing_and_idle_compilers_are_free():
    costs = Costs(start_s=1.0, unit_s=5.0, kernel_s=0.7, jobs=4, per_unit=3)
    assert costs.build_s(0) == 0.0
    assert [round(costs.further_s(count), 6) for count in range(5)] == [6.7, 0, 0, 0, 0.7]
    assert costs.build_round == 12


def test_parts_are_learned_from_units_of_different_sizes():
    costs = Costs(start_s=2.0, unit_s=1.0, kernel_s=3.0, jobs=4, per_unit=12)
    for size in (1, 2, 6, 12, 7, 3, 9, 5) * 6:
        units = [(size, 8.0 + 0.6 * size)] * 4
        costs.saw_build(4 * size, 4.0 + 8.0 + 0.6 * size, units)
    assert costs.unit_s == pytest.approx(8.0, rel=0.1)
    assert costs.kernel_s == pytest.approx(0.6, rel=0.3)
    assert costs.build_s(24) == pytest.approx(4.0 + 8.0 + 6 * 0.6, rel=0.05)
    assert costs.start_s == pytest.approx(4.0, rel=0.15)


def test_what_builds_say_of_their_costs():
    costs = Costs(start_s=1.0, unit_s=2.0, kernel_s=2.0, jobs=2)
    for _ in range(20):
        costs.saw_build(2, 11.0, [(1, 10.0), (1, 10.0)])
    assert costs.build_s(2) == pytest.approx(11.0, rel=0.03)
    costs = Costs(start_s=2.0, unit_s=5.0, kernel_s=1.0, jobs=2)
    costs.saw_build(8, 4.0, [])
    assert (costs.start_s, costs.unit_s, costs.kernel_s) == (pytest.approx(2.6), 5.0, 1.0)
    costs.saw_build(0, 50.0)
    assert costs.start_s == pytest.approx(2.6)


def test_a_build_takes_kernels_along_that_would_cost_a_build_later():
    """Of two kernels, each the best on another problem, the second joins if that is cheap."""
    draws = np.full((1, 3, 4), np.log(100.0))
    draws[0, 0, 1] = np.log(60.0)
    draws[0, 1, 2] = np.log(95.0)  # alone it would never be worth a build beside the first
    chosen = []
    for per_unit in (1, 3):
        costs = Costs(start_s=5.0, unit_s=5.0, kernel_s=0.5, jobs=1, per_unit=per_unit, visit_s=0.1)
        observations = Observations(small_space(), costs)
        for problem in range(3):
            observations.note(Pair(problem, 0), time_of(100.0))
        observations.built[0] = True

        chosen.append({pair.choice for pair in batch_of(draws, observations)})
    # by itself each kernel is a translation unit: the second costs as much as the first
    assert chosen == [{1}, {1, 2}]


def test_idle_compilers_build_ahead_only_where_they_do_not_disturb():
    draws = np.full((1, 3, 4), np.log(100.0))
    draws[0, 0, 1] = np.log(80.0)
    draws[0, 1, 2] = np.log(90.0)
    found = []
    for overlaps in (False, True):
        observations = Observations(small_space(), Costs(kernel_s=10.0, visit_s=0.1))
        observations.overlaps = overlaps
        for problem in range(3):
            observations.note(Pair(problem, 0), time_of(100.0))
        observations.built[[0, 1]] = True
        found.append({pair.choice for pair in batch_of(draws, observations)})
    assert found == [{1}, {1, 2}]


def test_what_is_going_to_be_measured_is_not_chosen_again():
    observations = Observations(small_space(), Costs(kernel_s=10.0, visit_s=0.1))
    for problem in range(3):
        observations.note(Pair(problem, 0), time_of(100.0))
    observations.built[:] = True
    draws = np.full((1, 3, 4), np.log(100.0))
    draws[0, 0, 1], draws[0, 0, 2] = np.log(80.0), np.log(85.0)  # the second gains nothing beside the first
    draws[0, 1, 3] = np.log(90.0)
    pending = np.zeros((3, 4), dtype=bool)
    pending[0, 1] = True
    assert batch_of(draws, observations, pending) == [Pair(1, 3)]


# --- overlap ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param("model", marks=pytest.mark.thorough), "random", "exhaustive"])
def test_overlap_saves_time_and_finds_the_same(strategies, few, name):
    beside = replay(strategies, few, name, costs=CUDA_LIKE)
    after = replay(strategies, few, name, costs=replace(CUDA_LIKE, overlap=False))
    assert beside.stop is after.stop is TuneStop.SETTLED
    if name != "model":
        assert beside.efficiency.min() == after.efficiency.min() == pytest.approx(1.0)
        assert beside.bench.seconds() < after.bench.seconds()
    assert beside.efficiency.mean() > 0.97
    # nothing is left under way, and nothing was measured twice
    observations = beside.loop.observations
    assert not observations.pending.any() and not observations.building
    assert observations.measured.sum() == beside.loop.progress[-1].measured


def test_a_build_under_way_is_left_when_the_budget_is_spent(strategies, few):
    limits = {"budget_s": 11.0}
    found = replay(strategies, few, "random", costs=CUDA_LIKE, limits=limits)
    assert found.stop is TuneStop.BUDGET
    assert not found.loop.observations.building and not found.loop.observations.pending.any()
    assert not found.bench.build_is_over()
