"""Intervals against scipy and against simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from ckprof.statistics.intervals import (
    Interval,
    Noise,
    paired_interval,
    pooled_noise,
    unpaired_interval,
)


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
