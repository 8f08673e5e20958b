"""How long a run still takes is told from what kernels and baselines have taken."""

import pytest

from ckprof.measure.options import RunOptions
from ckprof.measure.run_outcomes import RunPace
from ckprof.model.outcome import Status

from .fakes import make_problem
from .run_instances import IN_ROUNDS


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_slow_baselines_count_as_often_as_they_are_still_measured():
    """One kernel and one baseline on each of five problems; a baseline takes a hundred times as long."""
    clock = Clock()
    pace = RunPace(baselines=5, clock=clock)
    estimates = []
    for left in (4, 3, 2, 1, 0):
        pace.begin()
        clock.now += 0.1
        estimates.append(pace.measured(left))
        clock.now += 10.0
        pace.baseline_measured()
    # nobody knows at first; then what is left is four baselines and so on
    assert estimates[0] == pytest.approx(4 * 0.1 + 5 * 0.1)
    assert estimates[1:] == pytest.approx([3 * 0.1 + 40, 2 * 0.1 + 30, 0.1 + 20, 10.0])


def test_without_baselines_only_kernels_count():
    clock = Clock()
    pace = RunPace(clock=clock)
    pace.begin()
    clock.now += 2.0
    assert pace.measured(3) == pytest.approx(6.0)


compiler = pytest.mark.compiler


@compiler
def test_kernels_that_fail_run_once_and_are_known_at_once(start):
    outcomes, seen = start(["ok", "segfault", "wrong", "prints"])
    order = [outcome.key for outcome in outcomes]
    assert set(order[:2]) == {"segfault", "wrong"} and order[2:] == ["ok", "prints"]
    keys = [one.outcome.key for one in seen.samples]
    assert keys.count("segfault") == keys.count("wrong") == 1


@compiler
def test_what_is_left_only_shrinks_to_nothing(start):
    outcomes, seen = start(["ok", "prints", "wrong"], problems=[make_problem(8), make_problem(5)])
    assert len(list(outcomes)) == 6
    assert len(seen.left) == len(seen.samples)
    assert max(seen.left) <= 2 * 3 * IN_ROUNDS.rounds and seen.left[-1] <= 2 * 2


@compiler
def test_closing_tells_what_was_measured(start, opened):
    outcomes, seen = start(["ok", "prints", "segfault"], RunOptions(rounds=1000, max_time_s=1.0))
    assert next(outcomes).key == "segfault"
    outcomes.close()
    (rounds,) = opened
    known = {one.outcome.key for one in seen.samples}
    # the last one may not have reached its reader
    assert {outcome.key for outcome in rounds.abandoned} == known
    for outcome in rounds.abandoned:
        if outcome.key != "segfault":
            assert outcome.status is Status.OK and outcome.measurement.samples >= 1


@pytest.mark.thorough
@compiler
def test_a_result_that_breaks_in_a_later_round_is_wrong(start):
    # right in the first run and the samples of the first round
    outcomes, _ = start(["ok", "wrong_later"], RunOptions(max_time_s=0.5, min_samples=30, rounds=5))
    found = {outcome.key: outcome for outcome in outcomes}
    assert found["wrong_later"].status is Status.WRONG_RESULT
    assert found["wrong_later"].measurement is None
    assert found["ok"].status is Status.OK
