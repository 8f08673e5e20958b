"""Comparisons of made-up measurements, whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import geometric_mean

import pytest

from ckprof.compare.compare import compare
from ckprof.compare.model import Comparison, FailOn
from ckprof.compare.self_test import halves, self_test, slowed
from ckprof.compare.side import Side, side_of
from ckprof.model.outcome import Status
from ckprof.statistics.verdict import Verdict
from ckprof.store.attempt import Mark
from tests.measured import TOOLCHAIN, Made, attempts, later

OLD = Made(seed=1)
NEW = Made(seed=2, session=later())
DEFAULT = (FailOn.SLOWER, FailOn.STATUS)


def side(made: Made, label: str = "x.db") -> Side:
    return side_of(label, attempts(made))


def compared(old: Made = OLD, new: Made = NEW) -> Comparison:
    return compare(side(old, "old.db"), side(new, "new.db"))


def test_the_same_kernels_are_the_same() -> None:
    comparison = compared()
    assert comparison.verdicts[Verdict.SAME] == 12
    assert comparison.failures(DEFAULT) == []
    assert not comparison.status_changes
    assert comparison.geometric_mean is not None
    assert comparison.geometric_mean.low < 1.0 < comparison.geometric_mean.high


def test_a_slower_kernel_is_found_and_fails() -> None:
    comparison = compared(new=replace(NEW, factor=lambda p, i: 1.2 if (p, i) == (1, 2) else 1.0))
    (row,) = comparison.with_verdict(Verdict.SLOWER)
    assert row.judgement is not None
    assert row.judgement.change.ratio == pytest.approx(1.2, rel=0.03)
    assert row.key.instance == f"{2:032x}"
    assert comparison.failures(DEFAULT) == ["1 slower"]
    assert comparison.failures([FailOn.STATUS]) == []


def test_the_best_that_changed() -> None:
    first = side(OLD)
    problem = next(iter(first.by_problem))
    best = first.best(problem)
    assert best is not None
    index = int(best.key.instance, 16)
    comparison = compared(new=replace(NEW, factor=lambda p, i: 3.0 if (p, i) == (0, index) else 1.0))
    (changed,) = [one for one in comparison.problems if one.changed]
    assert changed.old.key.instance == best.key.instance
    runner_up = first.by_problem[problem][1]
    assert changed.new.key == runner_up.key
    assert changed.old_best_now == pytest.approx(3 * best.mean_ms / runner_up.mean_ms, rel=0.03)


def test_the_geometric_mean_is_that_of_the_bests() -> None:
    comparison = compared(new=replace(NEW, factor=lambda p, i: 0.5))
    assert comparison.geometric_mean is not None
    expected = geometric_mean(one.new.mean_ms / one.old.mean_ms for one in comparison.problems)
    assert comparison.geometric_mean.ratio == pytest.approx(expected)
    assert comparison.geometric_mean.ratio == pytest.approx(0.5, rel=0.02)


def test_wrong_numbers_always_fail() -> None:
    comparison = compared(
        new=replace(NEW, failing=lambda p, i: Status.WRONG_RESULT if (p, i) == (0, 0) else None)
    )
    assert comparison.failures([]) == ["1 computing wrong numbers"]
    assert comparison.status_changes[0].worsened
    assert comparison.status_changes[0].judgement is None


@pytest.mark.parametrize("status", [Status.UNSUPPORTED, Status.RUN_ERROR])
def test_kernels_that_stopped_to_work(status: Status) -> None:
    comparison = compared(new=replace(NEW, failing=lambda p, i: status if (p, i) == (0, 0) else None))
    assert comparison.failures(DEFAULT) == ["1 failing"]
    assert comparison.failures([FailOn.SLOWER]) == []


def test_kernels_that_work_now_are_no_failure() -> None:
    comparison = compared(old=replace(OLD, failing=lambda p, i: Status.RUN_ERROR if i == 0 else None))
    assert len(comparison.status_changes) == 3
    assert comparison.failures(DEFAULT) == []


def test_rows_of_one_side_only() -> None:
    comparison = compared(new=replace(NEW, instances=3))
    assert len(comparison.only_old) == 3
    assert comparison.failures([FailOn.MISSING]) == ["3 missing"]
    back = compared(old=replace(OLD, problems=2))
    assert len(back.only_new) == 4
    assert back.failures([FailOn.MISSING]) == []


def test_what_changed_besides_the_times() -> None:
    comparison = compared(
        new=replace(
            NEW, toolchain=replace(TOOLCHAIN, compiler="clang 22.0"), session=later(ckprof_version="1.1")
        )
    )
    changes = {one.name: (one.old, one.new, one.rows) for one in comparison.what_changed}
    assert changes["toolchain.compiler"] == ("clang 19.1", "clang 22.0", 12)
    assert changes["ckprof_version"] == ("1.0", "1.1", 0)
    assert changes["kernel.object_digest"][2] == 12
    assert "toolchain.headers" not in changes
    assert not any(one.incomparable for one in comparison.what_changed)


def test_another_device_is_marked() -> None:
    comparison = compared(new=replace(NEW, device=replace(OLD.device, model="Model 8")))
    assert [one.name for one in comparison.what_changed if one.incomparable] == ["device.model"]


def test_the_latest_measurement_of_a_kernel_counts() -> None:
    upgraded = replace(NEW, toolchain=replace(TOOLCHAIN, compiler="clang 22.0"), factor=lambda p, i: 2.0)
    both = side_of("both", [*attempts(OLD), *attempts(upgraded)])
    comparison = compare(side(OLD), both)
    assert comparison.superseded == 12
    assert comparison.verdicts[Verdict.SLOWER] == 12


def test_a_kernel_whose_latest_attempt_failed_has_no_time() -> None:
    failed = replace(NEW, failing=lambda p, i: Status.RUN_ERROR)
    both = side_of("both", [*attempts(OLD), *attempts(failed)])
    assert not any(row.ranked for row in both.rows.values())


def test_rounds_with_drift_were_repeated_and_do_not_count() -> None:
    marked = [
        replace(one, marks=(Mark.DRIFT,)) if one.conditions.round == 1 else one for one in attempts(OLD)
    ]
    assert {len(row.rounds) for row in side_of("x", marked).rows.values()} == {5}
    only = [one for one in marked if one.marks]
    assert {len(row.rounds) for row in side_of("x", only).rows.values()} == {1}


def test_several_attempts_in_a_round_are_one_time() -> None:
    """The reference kernel runs at both ends of a round."""
    first = list(attempts(replace(OLD, problems=1, instances=1, rounds=4)))
    again = [
        replace(
            one,
            sequence=one.sequence + 100,
            measurement=replace(one.measurement, median_ms=4 * one.measurement.median_ms),
        )
        for one in first
        if one.measurement
    ]
    (alone,), (twice,) = (side_of("x", some).rows.values() for some in (first, [*first, *again]))
    assert len(twice.rounds) == 4
    assert twice.mean_ms == pytest.approx(2 * alone.mean_ms)


def test_rounds_of_one_session_are_paired() -> None:
    """Both sides in the same rounds, as interleaved measurements are: common drift cancels."""
    new_code = replace(OLD, seed=3, toolchain=replace(TOOLCHAIN, compiler="clang 22.0"))
    drifting = [
        [
            replace(
                one,
                measurement=replace(
                    one.measurement,
                    median_ms=one.measurement.median_ms * (1 + 0.5 * (one.conditions.round % 3)),
                ),
            )
            for one in attempts(made)
            if one.measurement
        ]
        for made in (OLD, new_code)
    ]
    comparison = compare(*(side_of("x", some) for some in drifting))
    noises = [row.judgement.change.noise for row in comparison.rows if row.judgement]
    assert max(noises) < 0.05


def test_devices_can_be_told_apart() -> None:
    other = replace(NEW, device=replace(OLD.device, model="Model 8"))
    both = [*attempts(OLD), *attempts(other)]
    assert len(side_of("x", both).rows) == 12
    assert len(side_of("x", both, by_device=True).rows) == 24


def test_halves_have_every_round_once() -> None:
    whole = side(OLD)
    first, second = halves(whole, 5)
    for key, row in whole.rows.items():
        rounds = sorted((*first.rows[key].rounds, *second.rows[key].rounds), key=lambda one: one.started)
        assert tuple(rounds) == row.rounds
    assert halves(whole, 6)[0].rows != first.rows


def test_slowing_down_multiplies_the_times() -> None:
    whole = side(OLD)
    key = next(iter(whole.rows))
    again = slowed(whole, key, 1.5)
    assert again.rows[key].mean_ms == pytest.approx(1.5 * whole.rows[key].mean_ms)
    assert math.isclose(whole.rows[key].median_ms * 1.5, again.rows[key].median_ms)


def check_self_test(problems: int, seeds: range) -> None:
    """A quiet sweep of 20 rounds, so that a half has 10."""
    whole = side(replace(OLD, problems=problems, instances=25, rounds=20, noise=0.006))
    result = self_test(whole, seeds)
    assert result.rows == problems * 25 * len(seeds)
    assert result.false_verdicts <= result.rows / 1000
    assert result.rounds == (10, 10)
    assert result.found == result.injected == len(seeds)


def test_a_sweep_against_itself() -> None:
    check_self_test(8, range(3))


@pytest.mark.slow
def test_a_sweep_against_itself_with_many_seeds() -> None:
    check_self_test(40, range(20))
