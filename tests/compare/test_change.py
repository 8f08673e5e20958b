"""Intervals and verdicts on data whose truth is known, and whose noise is not what the arithmetic expects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ckprof.compare.change import (
    Change,
    Verdict,
    benjamini_hochberg,
    estimate_changes,
    judge,
    processes_needed,
)
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes, location
from ckprof.errors import UsageError
from ckprof.option import options_of
from tests.compare.noise import (
    FALSE,
    KINDS,
    Shape,
    judged,
    power,
    row_times,
    side,
    verdicts,
    without_change,
)

POLICY = ChangePolicy()
INDEPENDENT = KINDS["independent"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.3))
def test_false_discovery_control_agrees_with_scipy(p_values: list[float], rate: float) -> None:
    adjusted = stats.false_discovery_control(p_values, method="bh")
    ours = benjamini_hochberg(p_values, rate)
    for rejected, p_value in zip(ours, adjusted, strict=True):
        if abs(p_value - rate) > 1e-9:
            assert rejected == (p_value <= rate)


@pytest.mark.parametrize(
    ("processes", "rounds"), [(4, 3), (1, 3), pytest.param(1, 10, marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_did_not_change_gets_a_verdict_and_a_large_change_does(
    kind: str, processes: int, rounds: int
) -> None:
    shape = Shape(processes=processes, rounds=rounds)
    figures = without_change(KINDS[kind], shape, 5)
    assert figures.false <= 0.001
    # a disturbed round among three leaves a row unclear
    assert figures.found >= (0.6 if kind == "bursts" and processes == 1 else 1)


@pytest.mark.parametrize(("processes", "rounds"), [(4, 3), (3, 1)])
def test_what_a_problem_has_in_common_in_a_process_is_no_change(processes: int, rounds: int) -> None:
    """It may be much more than the noise of rows, and is the same error in all of them."""
    shape = Shape(processes=processes, rounds=rounds)
    figures = without_change(KINDS["3 % per problem and process"], shape, 6, sigma=0.004)
    assert figures.false <= 0.001
    assert figures.same > 0.9
    assert figures.found == 1


@pytest.mark.parametrize(
    ("kind", "factor", "least"),
    [
        ("independent", 1.05, 0.95),
        ("3 % per problem and process", 1.2, 0.95),
        ("3 % per problem and process", 1.03, 0),
    ],
)
def test_a_change_of_a_whole_problem_is_one_if_processes_do_not_explain_it(
    kind: str, factor: float, least: float
) -> None:
    shape = Shape(processes=3, rounds=1)
    generator = np.random.default_rng(11)
    old, new = (side(generator, shape, KINDS[kind], 0.004) for _ in range(2))
    changed = shape.problem == 3
    new[changed] += math.log(factor)
    got = verdicts(old, new, shape)
    slower = [verdict is Verdict.SLOWER for verdict, moved in zip(got, changed, strict=True) if moved]
    others = [verdict for verdict, moved in zip(got, changed, strict=True) if not moved]
    assert sum(slower) >= least * len(slower)
    assert least or not any(slower)
    assert not set(others) & set(FALSE)


@pytest.mark.parametrize("count", [1, 20, 90])
def test_small_changes_are_found_with_five_processes_of_three_rounds(count: int) -> None:
    shape = Shape(processes=5, rounds=3)
    assert power(INDEPENDENT, shape, 1.05, sides=4, changed=count) >= (0.75 if count == 1 else 0.9)
    assert power(INDEPENDENT, shape, 1.1, sides=4, changed=count) == 1


def test_disturbed_rounds_cost_no_power() -> None:
    for shape in (Shape(rounds=20), Shape(processes=20, rounds=1), Shape(processes=4, rounds=5)):
        assert power(KINDS["bursts"], shape, 1.1, sides=4) >= 0.95


@pytest.mark.parametrize("noisy", [0.05, 0.2])
def test_quiet_rows_are_judged_by_their_own_noise(noisy: float) -> None:
    shape = Shape()
    generator = np.random.default_rng(3)
    quiet = generator.choice(shape.rows, 30, replace=False)
    sigma = np.full(shape.rows, noisy)
    sigma[quiet] = 0.003
    old, new = (side(generator, shape, INDEPENDENT, sigma) for _ in range(2))
    new[quiet] += math.log(1.1)
    got = verdicts(old, new, shape)
    assert [got[row] for row in quiet.tolist()] == [Verdict.SLOWER] * 30
    assert sum(verdict in FALSE for verdict in got) == 30


def test_what_processes_differ_by_is_seen_among_rows_with_like_noise() -> None:
    """Noisy rows hide an offset of 2 % per process, quiet ones do not have it hidden from them."""
    shape = Shape()
    generator = np.random.default_rng(4)
    sigma = np.where(np.arange(shape.rows) % 5 == 0, 0.003, 0.05)
    old, new = (side(generator, shape, KINDS["2 % per row and process"], sigma) for _ in range(2))
    assert set(FALSE).isdisjoint(verdicts(old, new, shape))


@pytest.mark.parametrize(("processes", "rounds", "sigma"), [(1, 2, 0.05), (1, 3, 0.01), (4, 3, 0.1)])
def test_a_store_with_every_time_doubled_is_slower(processes: int, rounds: int, sigma: float) -> None:
    shape = Shape(processes=processes, rounds=rounds)
    generator = np.random.default_rng(5)
    old, new = (side(generator, shape, INDEPENDENT, sigma) for _ in range(2))
    assert set(verdicts(old, new + math.log(2), shape)) == {Verdict.SLOWER}


def test_single_rounds_say_too_little() -> None:
    shape = Shape(rounds=1)
    generator = np.random.default_rng(6)
    old, new = (side(generator, shape, KINDS["bursts"], 0.02) for _ in range(2))
    new[0] += math.log(1.3)
    assert set(FALSE).isdisjoint(verdicts(old, new, shape))


def test_a_shift_of_all_rows_is_told_once_and_rows_are_judged_after_it() -> None:
    shape = Shape(processes=4)
    generator = np.random.default_rng(8)
    old, new = (side(generator, shape, INDEPENDENT, 0.005) for _ in range(2))
    new += math.log(1.06)
    new[5] += math.log(1.1)
    changes, shift, _ = estimate_changes(row_times(old, new, shape), POLICY)
    assert shift is not None
    assert shift.removed
    assert shift.ratio == pytest.approx(1.06, rel=0.002)
    got = [change.verdict for change in judge(changes, POLICY)]
    assert got.pop(5) is Verdict.SLOWER
    assert set(got) == {Verdict.SAME}
    kept = judged(row_times(old, new, shape), ChangePolicy(max_shift=0))
    assert {change.verdict for change in kept} == {Verdict.SLOWER}


def test_no_shift_is_taken_out_where_none_may_be() -> None:
    parse = next(option.parse for field, option in options_of(ChangePolicy) if field.name == "max_shift")
    assert parse is not None
    assert parse("0") == 0
    for wrong in ("-1", "100", "nan"):
        with pytest.raises(UsageError, match="at least 0 and less than 100 percent"):
            parse(wrong)


def test_a_change_of_half_of_the_rows_is_no_shift() -> None:
    shape = Shape(processes=4)
    generator = np.random.default_rng(8)
    old, new = (side(generator, shape, INDEPENDENT, 0.005) for _ in range(2))
    changed = np.arange(shape.rows) % 2 == 0
    new[changed] += math.log(1.08)
    changes, shift, _ = estimate_changes(row_times(old, new, shape), POLICY)
    assert shift is not None
    assert not shift.removed
    got = np.array([change.verdict.value for change in judge(changes, POLICY)])
    assert not set(got[~changed]) & {"slower", "faster"}


def test_a_problem_that_moved_as_a_whole_is_no_change_of_its_kernels() -> None:
    """One of ten problems was 5.5 % faster throughout in another process; one of its kernels is slower."""
    shape = Shape()
    generator = np.random.default_rng(9)
    old, new = (side(generator, shape, INDEPENDENT, 0.003) for _ in range(2))
    new[:30] -= 0.055
    new[4] += math.log(1.2)
    got = verdicts(old, new, shape)
    assert got.pop(4) is Verdict.SLOWER
    assert set(FALSE).isdisjoint(got)


def test_two_quiet_sweeps_are_the_same() -> None:
    assert without_change(INDEPENDENT, Shape(), 3, sigma=0.005).same > 0.9
    assert without_change(INDEPENDENT, Shape(rounds=5), 3, sigma=0.008).same > 0.6


def test_noise_is_never_called_the_same() -> None:
    shape = Shape(processes=2)
    generator = np.random.default_rng(1)
    old, new = (side(generator, shape, INDEPENDENT, 0.1) for _ in range(2))
    assert set(verdicts(old, new, shape)) == {Verdict.UNCLEAR}


def test_intervals_cover_the_truth() -> None:
    shape = Shape(processes=6, rounds=3, rows=900)
    generator = np.random.default_rng(1)
    old, new = (side(generator, shape, KINDS["2 % per row and process"]) for _ in range(2))
    changes, _, _ = estimate_changes(row_times(old, new, shape), POLICY)
    assert 0.935 < np.mean([change.low < 0 < change.high for change in changes]) < 0.98


def alone(old: tuple[float, ...], new: tuple[float, ...]) -> RowTimes:
    return RowTimes(old={"old": old}, new={"new": new})


def test_one_row_of_two_rounds_that_agree_by_chance() -> None:
    (small,) = judged([alone((0.0, 0.0001), (0.08, 0.08))])
    (large,) = judged([alone((0.0, 0.0001), (math.log(3), math.log(3)))])
    assert small.verdict is Verdict.UNCLEAR
    assert large.verdict is Verdict.SLOWER
    assert small.ratio == pytest.approx(math.exp(0.08))


def test_processes_that_ran_side_by_side_are_free_of_drift() -> None:
    drift = np.random.default_rng(3).normal(0, 0.3, 8)
    fine = np.random.default_rng(4).normal(0, 0.002, 8)
    old = {str(pair): [value] for pair, value in enumerate(drift.tolist())}
    new = {str(pair): [value] for pair, value in enumerate((drift + 0.08 + fine).tolist())}
    (apart,) = judged([RowTimes(old=old, new=new)])
    (beside,) = judged([RowTimes(old=old, new=new, paired=True)])
    assert beside.verdict is Verdict.SLOWER
    assert apart.verdict is Verdict.UNCLEAR


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.5, 1000))
def test_a_disturbed_round_moves_the_location_by_what_the_others_vary(
    times: list[float], disturbance: float
) -> None:
    """However slow it is: with one other round, that one counts."""
    spread = max(times) - min(times)
    moved = location([*times, max(times) + disturbance]) - location(times)
    assert moved <= 2 * spread + 1e-9


@given(st.floats(1e-9, 1e9), st.integers(1, 30), st.integers(0, 3))
def test_equal_times_are_where_they_are(time: float, count: int, disturbed: int) -> None:
    """Timers have a resolution; the mean of equal numbers is at times rounded above them."""
    times = [math.log(time)] * count + [math.log(time) + 1] * min(disturbed, (count - 1) // 2)
    assert location(times) == pytest.approx(math.log(time), rel=1e-12)


def test_the_processes_asked_for_settle_most_rows() -> None:
    def rows(processes: int) -> list[RowTimes]:
        shape = Shape(processes=processes, rounds=3)
        generator = np.random.default_rng(2)
        noise = KINDS["2 % per row and process"]
        old, new = (side(generator, shape, noise) for _ in range(2))
        new[::5] += math.log(1.06)
        return row_times(old, new, shape)

    unclear = [one for one in judged(rows(3))[::5] if one.verdict is Verdict.UNCLEAR]
    needed = [one.processes_needed for one in unclear if one.processes_needed]
    assert unclear
    got = [one.verdict for one in judged(rows(int(np.quantile(needed, 0.9))))[::5]]
    assert got.count(Verdict.SLOWER) > 0.8 * len(got)


@pytest.mark.parametrize("size", [0.0, 0.01, 0.05, 0.15])
@pytest.mark.parametrize("error", [0.01, 0.03])
@pytest.mark.parametrize("threshold", [0.02, 0.4])  # the quantiles are approximate, far out most
def test_processes_that_are_needed_by_the_quantiles_of_scipy(
    size: float, error: float, threshold: float
) -> None:
    change = Change(
        log_ratio=-size, low=0.0, high=0.0, p_value=1, same_p_value=1, error=error, processes=3, rounds=9
    )

    def settled(processes: int) -> bool:
        """Whether the row is outside of 2 % either way at 95 % and significant, or inside at 90 %."""
        student = stats.t(2 * processes - 2)
        reach = student.ppf([0.975, 1 - threshold, 0.95]) * error * math.sqrt(3 / processes)
        return size - max(reach[:2]) > math.log(1.02) or size + reach[2] < math.log(1.02)

    assert (POLICY.min_change, POLICY.confidence) == (0.02, 0.95)
    expected = next((count for count in range(4, 101) if settled(count)), None)
    assert processes_needed(change, POLICY, threshold) == expected


def test_the_side_with_fewer_processes_and_rounds_counts() -> None:
    two, five = ({f"s{n}": [0.0] * 3 for n in range(count)} for count in (2, 5))
    for old, new in ((two, five), (five, two)):
        assert (RowTimes(old=old, new=new).processes, RowTimes(old=old, new=new).rounds) == (2, 6)


def test_a_change_at_the_limit_is_never_settled() -> None:
    change = Change(
        log_ratio=math.log1p(0.02),
        low=0.0,
        high=0.04,
        p_value=1,
        same_p_value=1,
        error=0.01,
        processes=4,
        rounds=12,
    )
    assert processes_needed(change, POLICY, 0.01) is None


@pytest.mark.parametrize(
    ("option", "value"), [("min_change", 0), ("process_noise", 1.5), ("max_shift", -0.1), ("resamples", 10)]
)
def test_values_out_of_range(option: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{option} is"):
        ChangePolicy(**{option: value})
