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
    processes_needed,
)
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes
from tests.compare.noise import (
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


@pytest.mark.parametrize("count", [1, 20, 90])
def test_small_changes_are_found_with_five_processes_of_three_rounds(count: int) -> None:
    shape = Shape(processes=5, rounds=3)
    assert power(INDEPENDENT, shape, 1.05, sides=4, changed=count) >= (0.75 if count == 1 else 0.9)
    assert power(INDEPENDENT, shape, 1.1, sides=4, changed=count) == 1


def test_disturbed_rounds_cost_no_power() -> None:
    for shape in (Shape(rounds=20), Shape(processes=20, rounds=1), Shape(processes=4, rounds=5)):
        assert power(KINDS["bursts"], shape, 1.1, sides=4) >= 0.95


@pytest.mark.parametrize(("processes", "rounds", "sigma"), [(1, 2, 0.05), (1, 3, 0.01), (4, 3, 0.1)])
def test_a_store_with_every_time_doubled_is_slower(processes: int, rounds: int, sigma: float) -> None:
    shape = Shape(processes=processes, rounds=rounds)
    generator = np.random.default_rng(5)
    old, new = (side(generator, shape, INDEPENDENT, sigma) for _ in range(2))
    assert set(verdicts(old, new + math.log(2), shape)) == {Verdict.SLOWER}


def test_two_quiet_sweeps_are_the_same() -> None:
    assert without_change(INDEPENDENT, Shape(), 3, sigma=0.005).same > 0.9
    assert without_change(INDEPENDENT, Shape(rounds=5), 3, sigma=0.008).same > 0.6


def test_an_interval_lies_on_both_sides_of_its_change() -> None:
    """Without disturbed rounds as far above as below, wherever the change is."""
    shape, generator = Shape(processes=4, rounds=3), np.random.default_rng(3)
    old, new = (side(generator, shape, INDEPENDENT, 0.02) for _ in range(2))
    for size in (-0.3, 0.0, 0.3):
        for row in judged(row_times(old, new + size, shape)):
            below, above = row.log_ratio - row.low, row.high - row.log_ratio
            assert below > 0 and above == pytest.approx(below, rel=0.5)


def test_noise_is_never_called_the_same() -> None:
    shape = Shape(processes=2)
    generator = np.random.default_rng(1)
    old, new = (side(generator, shape, INDEPENDENT, 0.1) for _ in range(2))
    assert set(verdicts(old, new, shape)) == {Verdict.UNCLEAR}


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
