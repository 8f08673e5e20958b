"""What a store leaves to do: which attempts count, what need not run again, and how rounds are dealt."""

from __future__ import annotations

import pytest

from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import KernelConfiguration, RoundOptions
from ckprof.store.attempt import MOST_DEVICES_LOST, Mark
from ckprof.store.query import PastVisit

from .bench import make_kernels, make_problems, plan_for

KERNELS = make_kernels(3)
(PROBLEM,) = make_problems(1)
ROUNDS = RoundOptions(min_rounds=3, max_rounds=3, sessions=1)


def cell(kernel, split_k=1):
    return KernelConfiguration(KERNELS[kernel].key, split_k)


def visit(kernel, round=1, time_ms=1.0, **changes):
    """One attempt of before, verified unless something else is said."""
    values = {
        **{"instance": KERNELS[kernel].key, "object_digest": f"o{kernel}", "split_k": 1, "round": round},
        **{"status": "ok", "median_ms": time_ms, "min_ms": time_ms, "spread_ms": 0.01 * time_ms},
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
    for one in ranking.ranking.visits():
        if visits and one.round != visits[0].round:
            break
        visits.append(one)
        ranking.ranking.record(one, Timing(median_ms=1.0, min_ms=1.0))
    return visits


def left(ranking):
    """Return the numbers of the kernels in the next round."""
    keys = [kernel.key for kernel in KERNELS]
    return sorted({keys.index(one.cell.instance) for one in next_round(ranking)})


def test_nothing_was_measured():
    ranking = planned()
    assert left(ranking) == [0, 1, 2] and not ranking.finished
    assert (ranking.before.cells, ranking.before.failed, ranking.before.visit_s) == (set(), set(), None)


def test_what_was_measured_need_not_run_again():
    assert planned(*all_rounds(3)).finished
    ranking = planned(*all_rounds(2))
    assert not ranking.finished and ranking.ranking.rounds == 2
    assert ranking.before.cells == {cell(0), cell(1), cell(2)} and not ranking.before.failed
    assert ranking.before.visit_s == 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"wrong_elements": None},
        {"wrong_elements": 3},
        {"median_ms": None},
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


@pytest.mark.parametrize("mark", [Mark.NOISY, Mark.BIMODAL, Mark.BUSY_HOST, Mark.LOW_CLOCK, Mark.REFERENCE])
def test_attempts_with_other_marks_count(mark):
    assert planned(*all_rounds(3, marks=mark.value)).finished


def test_a_round_that_drifted_is_repeated():
    drifted = [visit(kernel, 3, 1.0 + kernel / 10, marks=Mark.DRIFT.value) for kernel in range(3)]
    ranking = planned(*all_rounds(2), *drifted)
    assert not ranking.finished and left(ranking) == [0, 1, 2]
    assert ranking.ranking.drifted == {3}


def test_a_pruned_kernel_stays_out_as_long_as_the_margin_would_prune_it():
    visits = [
        *all_rounds(1),
        visit(0, 2),
        visit(1, 2, 1.1),
        visit(2, 2, 3.0, marks=Mark.DROPPED.value),
    ]
    visits[2] = visit(2, 1, 3.0)
    assert left(planned(*visits)) == [0, 1]
    wide = RoundOptions(min_rounds=3, max_rounds=3, sessions=1, keep_within=5.0)
    assert left(planned(*visits, rounds=wide)) == [0, 1, 2]


def test_failures_are_outcomes_unless_they_are_tried_again():
    visits = [visit(0), visit(1), visit(2, status="run_error", median_ms=None, wrong_elements=None)]
    ranking = planned(*visits)
    assert ranking.before.failed == {cell(2)} and ranking.before.cells == {cell(0), cell(1), cell(2)}
    assert left(ranking) == [0, 1]
    again = planned(*visits, retry_failed=True)
    assert again.before.failed == set() and again.before.cells == {cell(0), cell(1)}
    assert 2 in left(again)


def test_a_kernel_beside_which_the_device_was_lost_too_often_is_given_up():
    lost = {"status": "run_error", "median_ms": None, "device_lost": True, "marks": Mark.NOT_LAUNCHED.value}
    often = [visit(1, **lost) for _ in range(MOST_DEVICES_LOST)]
    ranking = planned(*often)
    assert ranking.before.given_up == (cell(1),) and left(ranking) == [0, 2]
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


def test_processes_that_are_missing_get_a_round_each():
    rounds = RoundOptions(min_rounds=3, max_rounds=3, sessions=3)
    ranking = planned(*all_rounds(3), rounds=rounds)
    # one process measured all three rounds: two more, a round each
    assert ranking.shares == (2, 2) and not ranking.finished
    two = [visit(kernel, n, 1.0 + kernel / 10, process=n % 2) for n in (1, 2, 3) for kernel in range(3)]
    assert planned(*two, rounds=rounds).shares == (1, 1)
    three = [visit(kernel, n, 1.0 + kernel / 10, process=n) for n in (1, 2, 3) for kernel in range(3)]
    assert planned(*three, rounds=rounds).finished
    # the same number in another session is another process
    others = [visit(kernel, n, 1.0 + kernel / 10, session=f"s{n}") for n in (1, 2, 3) for kernel in range(3)]
    assert planned(*others, rounds=rounds).finished
    # what drifted does not count
    drifted = [one._replace(marks=Mark.DRIFT.value) if one.round == 3 else one for one in three]
    assert planned(*drifted, rounds=rounds).shares == (1, 1)


def test_the_kernel_measured_in_the_fewest_processes_decides_how_many_are_missing():
    rounds = RoundOptions(min_rounds=3, max_rounds=3, sessions=3)
    visits = [visit(0, n, process=n) for n in (1, 2, 3)]
    visits += [visit(1, n, 1.001, process=1) for n in (1, 2, 3)] + [visit(2, 1, 9.0, process=1)]
    assert planned(*visits, rounds=rounds).shares == (2, 2)


def test_wall_seconds_of_an_attempt_are_a_median():
    seconds = (0.1, 0.2, 9.0, None)
    visits = [visit(0, number, wall_s=wall) for number, wall in enumerate(seconds, 1)]
    assert planned(*visits).before.visit_s == 0.2
