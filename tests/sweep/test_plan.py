"""What a store leaves to do: which attempts count, what need not run again, and how rounds are dealt."""

import gc
from dataclasses import replace

import pytest

from ckprof.formatting import duration
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ending, KernelConfiguration, RoundOptions
from ckprof.model.problem_case import ProblemCase
from ckprof.model.types import DataType
from ckprof.store.attempt import MOST_DEVICES_LOST, Mark
from ckprof.store.query import PastVisit
from ckprof.sweep.plan import MeasuredBefore, announce, describe, given_up_lines
from tests.store.samples import make_problem

from .bench import make_kernels, make_problems, plan_for

KERNELS = make_kernels(3)
KEYS = {kernel.key: number for number, kernel in enumerate(KERNELS)}
(PROBLEM,) = make_problems(1)
ROUNDS = RoundOptions(min_rounds=3, max_rounds=3, passes=1)


def cell(kernel, split_k=1):
    return KernelConfiguration(KERNELS[kernel].key, split_k)


def visit(kernel, round=1, time_ms=1.0, **changes):
    """One attempt of before, verified unless something else is said."""
    values = {
        **{"instance": KERNELS[kernel].key, "object_digest": f"o{kernel}", "split_k": 1, "round": round},
        **{"status": "ok", "time_ms": time_ms, "spread_ms": 0.01 * (time_ms or 0)},
        **{"wrong_elements": 0, "marks": None, "wall_s": 0.5, "session": "a"},
    }
    return PastVisit(**{**values, **changes})


def planned(*visits, rounds=ROUNDS, **changes):
    """Return the ranking that is left after these attempts."""
    plan = plan_for(KERNELS, [PROBLEM], lambda shared, problem: visits, rounds=rounds, **changes)
    (ranking,) = plan.rankings
    return ranking


def all_rounds(last, **changes):
    """Attempts of all kernels in rounds up to the last one, the first kernel the fastest."""
    return [
        visit(kernel, number, 1.0 + kernel / 10, **changes)
        for number in range(1, last + 1)
        for kernel in range(3)
    ]


def next_round(ranking):
    """Return the visits of the next round, which all take 1 ms."""
    visits = []
    for one in ranking.ranking.visit():
        if visits and one.round != visits[0].round:
            break
        visits.append(one)
        ranking.ranking.record(one, Timing(time_ms=1.0))
    return visits


def left(ranking):
    """Return the numbers of the kernels in the next round."""
    keys = [kernel.key for kernel in KERNELS]
    return sorted({keys.index(one.cell.instance) for one in next_round(ranking)})


def test_what_was_measured_need_not_run_again_but_all_else():
    ranking = planned()
    assert left(ranking) == [0, 1, 2] and not ranking.finished
    assert (ranking.before.cells, ranking.before.failed, ranking.before.attempt_s) == (set(), set(), None)
    assert planned(*all_rounds(3)).finished
    ranking = planned(*all_rounds(2))
    assert not ranking.finished and ranking.ranking.rounds == 2
    assert ranking.before.cells == {cell(0), cell(1), cell(2)} and not ranking.before.failed
    assert ranking.before.attempt_s == 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"wrong_elements": None},
        {"wrong_elements": 3},
        {"time_ms": None},
        {"object_digest": "of another build"},
        *({"marks": mark.value} for mark in (Mark.SLOW_DEVICE, Mark.NOT_LAUNCHED, Mark.PART)),
        {"marks": f"{Mark.NOISY.value},{Mark.SLOW_DEVICE.value}"},
    ],
    ids=str,
)
def test_attempts_that_say_nothing_do_not_count(changes):
    ranking = planned(*all_rounds(2), *(visit(0, number, **changes) for number in (3, 4)))
    assert ranking.ranking.rounds == 2 and not ranking.finished
    # and alone they leave all of the kernel to do
    alone = planned(visit(0, **changes), visit(1), visit(2))
    assert alone.before.cells == {cell(1), cell(2)} and 0 in left(alone)


@pytest.mark.parametrize("mark", [Mark.NOISY, Mark.BIMODAL, Mark.BUSY_HOST, Mark.LOW_CLOCK])
def test_attempts_with_other_marks_count(mark):
    assert planned(*all_rounds(3, marks=mark.value)).finished


def test_a_round_that_was_disturbed_is_repeated():
    disturbed = [visit(kernel, 3, 1.0 + kernel / 10, marks=Mark.DISTURBED.value) for kernel in range(3)]
    ranking = planned(*all_rounds(2), *disturbed)
    assert not ranking.finished and left(ranking) == [0, 1, 2]
    assert ranking.ranking.disturbed == {3}


def test_a_pruned_kernel_stays_out_as_long_as_the_margin_would_prune_it():
    visits = [*all_rounds(1), visit(0, 2), visit(1, 2, 1.1), visit(2, 2, 3.0, marks=Mark.DROPPED.value)]
    visits[2] = visit(2, 1, 3.0)
    assert left(planned(*visits)) == [0, 1]
    wide = RoundOptions(min_rounds=3, max_rounds=3, passes=1, keep_within=5.0)
    assert left(planned(*visits, rounds=wide)) == [0, 1, 2]


def test_failures_are_outcomes_unless_they_are_tried_again():
    visits = [visit(0), visit(1), visit(2, status="run_error", time_ms=None, wrong_elements=None)]
    ranking = planned(*visits)
    assert ranking.before.failed == {cell(2)} and ranking.before.cells == {cell(0), cell(1), cell(2)}
    assert left(ranking) == [0, 1]
    again = planned(*visits, retry_failed=True)
    assert again.before.failed == set() and again.before.cells == {cell(0), cell(1)}
    assert 2 in left(again)


def test_a_kernel_beside_which_the_device_was_lost_too_often_is_given_up():
    lost = {"status": "run_error", "time_ms": None, "device_lost": True, "marks": Mark.NOT_LAUNCHED.value}
    often = [visit(1, **lost) for _ in range(MOST_DEVICES_LOST)]
    ranking = planned(*often)
    assert ranking.before.given_up == (cell(1),) and left(ranking) == [0, 2]
    assert planned(*often, *often).before.given_up == (cell(1),)
    assert planned(*often[1:]).before.given_up == ()
    # an outcome since then, not one of another kernel or of another build, begins the count anew
    assert planned(often[0], visit(1), *often[1:]).before.given_up == ()
    assert planned(often[0], visit(0), *often[1:]).before.given_up == (cell(1),)
    other = [visit(1, **{**lost, "object_digest": "x"}) for _ in range(MOST_DEVICES_LOST)]
    assert planned(*other).before.given_up == ()
    for changes in ({"retry_failed": True}, {"fresh": True}):
        assert planned(*often, **changes).before.given_up == ()


def test_fresh_rounds_have_numbers_of_their_own():
    ranking = planned(*all_rounds(3), fresh=True)
    assert not ranking.finished and left(ranking) == [0, 1, 2]
    assert {one.round for one in next_round(planned(*all_rounds(3), fresh=True))} == {4}
    assert {one.round for one in next_round(planned(fresh=True))} == {1}


def visits_left(ranking):
    """Return how many rounds each visit has that is left."""
    found, one = [], ranking.ranking
    while one.ending is None:
        rounds = set()
        for sample in one.visit():
            rounds.add(sample.round)
            one.record(sample, Timing(time_ms=1.0 + KEYS[sample.cell.instance] / 10, process=str(found)))
        found.append(len(rounds))
    return found


def test_passes_that_are_missing_get_a_round_each():
    rounds = RoundOptions(min_rounds=3, max_rounds=3, passes=3)
    # one process measured all three rounds: two more, a round each
    assert visits_left(planned(*all_rounds(3), rounds=rounds)) == [1, 1]
    two = [visit(kernel, n, 1.0 + kernel / 10, process=n % 2) for n in (1, 2, 3) for kernel in range(3)]
    assert visits_left(planned(*two, rounds=rounds)) == [1]
    three = [visit(kernel, n, 1.0 + kernel / 10, process=n) for n in (1, 2, 3) for kernel in range(3)]
    assert planned(*three, rounds=rounds).finished
    # the same number in another session is another process
    others = [visit(kernel, n, 1.0 + kernel / 10, session=f"s{n}") for n in (1, 2, 3) for kernel in range(3)]
    assert planned(*others, rounds=rounds).finished
    # a pass that was disturbed is one: its visit was repeated as well
    disturbed = [one._replace(marks=Mark.DISTURBED.value) if one.round == 3 else one for one in three]
    assert planned(*disturbed, rounds=rounds).finished


def test_the_kernel_measured_in_the_fewest_passes_decides_how_many_are_missing():
    rounds = RoundOptions(min_rounds=3, max_rounds=3, passes=3)
    visits = [visit(0, n, process=n) for n in (1, 2, 3)]
    visits += [visit(1, n, 1.001, process=1) for n in (1, 2, 3)]
    visits += [visit(2, 1, 9.0, process=1, marks=Mark.DROPPED.value)]
    assert visits_left(planned(*visits, rounds=rounds)) == [1, 1]


def test_wall_seconds_of_an_attempt_are_a_median():
    seconds = (0.1, 0.2, 9.0, None)
    visits = [visit(0, number, wall_s=wall) for number, wall in enumerate(seconds, 1)]
    assert planned(*visits).before.attempt_s == 0.2


def sweep_of(visits, problems=3, **changes):
    """Return the plan for some problems; position of a problem -> its attempts of before."""
    listed = make_problems(problems)
    changes = {"rounds": ROUNDS, **changes}
    return plan_for(KERNELS, listed, lambda shared, problem: visits.get(listed.index(problem), []), **changes)


FAILED = {"time_ms": None, "wrong_elements": None}


def test_a_plan_says_what_is_known_and_what_is_left():
    visits = {
        0: all_rounds(3, wall_s=1.0),
        1: [visit(0, wall_s=2.0), visit(1, wall_s=4.0, status="run_error", **FAILED)],
    }
    plan = sweep_of(visits)
    assert (plan.cells, plan.known, plan.failed) == (9, 5, 1)
    assert [one.problem_index for one in plan.open_rankings] == [1, 2]
    # the first problem is done, on the second one kernel is new and one more open, on the third all are
    assert plan.least_attempts == 1 + 3
    most = [one.ranking.remaining_samples for one in plan.rankings]
    assert most[0] == 0 and plan.most_attempts == sum(most)
    # an attempt took 3 s on the second problem, and 2 s on average of both
    assert plan.usual_attempt_s == 2.0
    assert plan.estimated_s() == (3.0 * 1 + 2.0 * 3, 3.0 * most[1] + 2.0 * most[2])
    assert [index for index, _ in plan.resolutions] == [0]
    unfinished = sweep_of({0: all_rounds(2)}, problems=1)
    assert unfinished.rankings[0].ranking.resolution is not None and unfinished.resolutions == []
    assert describe(plan) == [
        "3 kernels x 3 problems: 9 outcomes with all splits",
        "in the store: 5, 1 of them failed or not supported",
        f"left: 2 of 3 rankings, 4 to {sum(most)} attempts",
        f"estimated time: 9 s to {duration(plan.estimated_s()[1])}",
        "finished (--max-rounds): 1 ranking",
    ]


def test_a_plan_without_past_knows_no_time():
    assert sweep_of({}).estimated_s() is None
    assert describe(sweep_of({}, problems=1))[2:] == [
        "left: 1 of 1 ranking, 3 to 9 attempts",
        "estimated time: unknown, nothing was measured before",
    ]
    done = sweep_of({0: all_rounds(3)}, problems=1)
    assert done.estimated_s() == (0.0, 0.0) and not [line for line in describe(done) if "time" in line]


def test_what_is_not_supported_has_not_failed():
    failures = ("compile_error", "run_error", "wrong_result")
    for status, failed in (("unsupported", False), *((status, True) for status in failures)):
        visits = {0: [visit(0), visit(1), visit(2, status=status, **FAILED)]}
        assert sweep_of(visits).has_failures is failed, status
        assert not sweep_of(visits, retry_failed=True).has_failures
    assert not sweep_of({0: all_rounds(3)}).has_failures


def test_kernels_that_are_given_up_are_cells_and_named_up_to_twenty():
    lost = {"status": "run_error", "device_lost": True, "marks": Mark.NOT_LAUNCHED.value, **FAILED}
    killing = [visit(kernel, **lost) for kernel in (0, 1) for _ in range(MOST_DEVICES_LOST)]
    plan = sweep_of({index: killing for index in (0, 2)}, splits=(1, 2, 4))
    assert plan.given_up == [(0, "kernel_0"), (0, "kernel_1"), (2, "kernel_0"), (2, "kernel_1")]
    assert (plan.cells, plan.known) == (27, 0)
    lines = given_up_lines(plan)
    assert lines == [line for line in describe(plan) if line.startswith("excluded: ")] and len(lines) == 4
    assert lines[3] == (
        "excluded: kernel_1 on problem 2: the device failed at least 2 times while it ran, which may have "
        "other reasons; --retry-failed tries it again"
    )
    three = [visit(kernel, **lost) for kernel in range(3) for _ in range(MOST_DEVICES_LOST)]
    for problems, past, last in ((10, killing, "kernel_1 on problem 9"), (7, three, "1 more, which ckprof ")):
        lines = given_up_lines(sweep_of(dict.fromkeys(range(problems), past), problems))
        assert lines[-1].startswith(f"excluded: {last}") and len(lines) == 20 + (past is three)


def test_what_a_sweep_does_is_told_before_it_begins():
    told = []
    plan = sweep_of({})
    announce(plan, told.append)
    *lines, progress = told
    assert [line.text for line in lines] == describe(plan)
    assert (progress.what, progress.done, progress.total) == ("sweep", 0, plan.most_attempts)


def test_kernels_are_ranked_with_those_of_their_type_layout_and_dimensions():
    kernels = [*KERNELS, *make_kernels(2, dtype=DataType.BF16), *make_kernels(1, ndim=3)]
    plan = plan_for(kernels, [PROBLEM, make_problem(4, 3)], splits=(1, 4))
    found = [(one.problem_index, one.shared.dtype, len(one.ranking.cells)) for one in plan.rankings]
    assert found == [(0, DataType.FP16, 6), (0, DataType.BF16, 4), (1, DataType.FP16, 2)]


def test_a_problem_that_is_named_twice_is_measured_once_with_the_splits_of_both():
    cases = [ProblemCase(problem=PROBLEM, splits=(4, 1)), PROBLEM, ProblemCase(problem=PROBLEM, splits=(8,))]
    (ranking,) = plan_for(KERNELS[:1], cases, splits=(1, 2)).rankings
    assert [one.split_k for one in ranking.ranking.cells] == [4, 1, 2, 8] and ranking.problem_index == 0


def test_only_cells_that_take_part_are_ranked():
    def takes(problem, one):
        return one.instance != KERNELS[1].key and problem.input == PROBLEM.input

    plan = plan_for(KERNELS, make_problems(2), rounds=ROUNDS, takes=takes)
    assert [len(one.ranking.cells) for one in plan.rankings] == [2, 0]
    assert not plan.rankings[0].finished and plan.rankings[1].ranking.ending is Ending.NO_RANKING


def test_times_and_spreads_of_before_are_those_of_the_rounds():
    ranking = planned(visit(0, time_ms=4.0, spread_ms=0.5), visit(1, spread_ms=None))
    times = ranking.ranking._times
    assert times.of(cell(0)) == {1: [Timing(time_ms=4.0, spread=0.125, process="a/0")]}
    assert times.of(cell(1)) == {1: [Timing(time_ms=1.0, spread=0.0, process="a/0")]}


def test_the_collector_pauses_while_a_plan_is_made():
    def past(shared, problem):
        assert not gc.isenabled()
        return []

    assert gc.isenabled()
    plan_for(KERNELS, [PROBLEM], past)
    assert gc.isenabled()
    gc.disable()
    try:
        plan_for(KERNELS, [PROBLEM], past)
        assert not gc.isenabled(), "who has paused it goes on"
    finally:
        gc.enable()


def test_kernels_and_cells_that_need_not_run_are_known():
    unbuilt = [replace(one, object_digest=None) for one in KERNELS]
    plan = plan_for(unbuilt, [PROBLEM], lambda shared, problem: all_rounds(3), rounds=ROUNDS)
    assert plan.known == 3 and not plan.open_rankings

    def counting(visits, cells, request):
        return MeasuredBefore(visits=tuple(visits), out=frozenset({cell(0)}))

    plan = sweep_of({0: [visit(1)]}, problems=1, counting=counting)
    assert (plan.cells, plan.known) == (3, 2) and left(plan.rankings[0]) == [2]
