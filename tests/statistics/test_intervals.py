"""Intervals against scipy and against simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ckprof.statistics.intervals import (
    Interval,
    Noise,
    benjamini_hochberg,
    paired_interval,
    pooled_noise,
    unpaired_interval,
)
from ckprof.statistics.student import student_cdf, student_quantile


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 200))
def test_quantiles_agree_with_scipy(probability, freedom):
    expected = scipy.stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@given(st.floats(-50, 50), st.floats(1, 300))
def test_distribution_agrees_with_scipy(value, freedom):
    assert student_cdf(value, freedom) == pytest.approx(scipy.stats.t.cdf(value, freedom), abs=1e-7)


@pytest.mark.parametrize(("probability", "freedom"), [(0, 3), (1, 3), (0.5, 0)])
def test_impossible_quantiles_are_an_error(probability, freedom):
    with pytest.raises(ValueError, match="no quantile"):
        student_quantile(probability, freedom)


@pytest.mark.parametrize("rounds", [2, 3, 5, 10])
def test_intervals_hold_the_truth_as_often_as_they_say(rounds):
    """At every number of rounds, 95 of 100 are asked for; 600 trials are uncertain by 1 to 2 of 100."""
    chance = np.random.default_rng(rounds)
    paired = unpaired = 0
    trials = 600
    for seed in range(trials):
        values = chance.normal(0.1, 0.02, rounds)
        paired += _holds(paired_interval(values, seed=seed), 0.1)
        other = chance.normal(0, 0.02, rounds)
        unpaired += _holds(unpaired_interval(values, other, seed=seed), 0.1)
    assert paired / trials > 0.93
    assert unpaired / trials > 0.93


def _holds(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def test_one_round_says_something_only_with_known_noise():
    alone = paired_interval([0.3])
    assert (alone.estimate, alone.low, alone.high) == (0.3, -math.inf, math.inf)
    known = paired_interval([0.3], noise=Noise(sigma=0.01, freedom=100))
    assert known.low == pytest.approx(0.3 - scipy.stats.t.ppf(0.975, 100) * 0.01 * math.sqrt(2))
    assert paired_interval([]).low == unpaired_interval([], [1.0]).low == -math.inf


def test_values_that_agree_by_chance_get_the_known_noise():
    narrow = paired_interval([0.1, 0.1, 0.1])
    assert narrow.half_width == pytest.approx(0, abs=1e-12)
    wide = paired_interval([0.1, 0.1, 0.1], noise=Noise(sigma=0.02, freedom=50))
    assert wide.half_width > 0.02


def test_many_rounds_give_the_textbook_interval():
    values = np.random.default_rng(1).normal(0.05, 0.01, 400)
    expected = scipy.stats.t.interval(0.95, 399, values.mean(), scipy.stats.sem(values))
    found = paired_interval(values)
    assert (found.low, found.high) == pytest.approx(expected, abs=2e-4)


def test_inside_and_outside():
    interval = Interval(estimate=0.0, low=-0.01, high=0.015)
    assert interval.lies_within(0.02) and not interval.lies_outside(0.005)
    assert Interval(estimate=0.1, low=0.05, high=0.2).lies_outside(0.02)
    assert Interval(estimate=-0.1, low=-0.2, high=-0.05).lies_outside(0.02)
    assert Interval(estimate=0.1, low=0.0, high=0.2).ratio == pytest.approx(1.105, abs=1e-3)


@pytest.mark.parametrize("rounds", [2, 3, 10])
def test_noise_is_found_beside_kernels_and_rounds(rounds):
    chance = np.random.default_rng(rounds)
    found = []
    for _ in range(30):
        logs = (
            chance.normal(0, 1, (80, 1))
            + chance.normal(0, 0.3, (1, rounds))
            + chance.normal(0, 0.02, (80, rounds))
        )
        logs[chance.random(logs.shape) < 0.05] += 0.7  # disturbed visits
        found.append(pooled_noise(logs).sigma)
    assert np.mean(found) == pytest.approx(0.02, rel=0.3)


def test_noise_needs_repetitions():
    nan = math.nan
    assert pooled_noise(np.array([[1.0], [2.0]])) is None
    assert pooled_noise(np.array([[1.0, 2.0]])) is None
    assert pooled_noise(np.array([[1.0, nan], [nan, 2.0], [1.0, nan]])) is None
    assert pooled_noise(np.array([[1.0, 1.1], [nan, 2.0], [2.0, 2.0]])).freedom == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.3))
def test_false_discoveries_agree_with_scipy(values, rate):
    expected = scipy.stats.false_discovery_control(values) <= rate
    found = benjamini_hochberg(values, rate)
    for value, mine, theirs in zip(scipy.stats.false_discovery_control(values), found, expected, strict=True):
        assert mine == theirs or abs(value - rate) < 1e-12
