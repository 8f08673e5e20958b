from __future__ import annotations

import math

import numpy as np
import pytest

from ckprof.errors import UsageError
from ckprof.measure.stopping import CRITERIA, make_criterion


def samples_until_finished(criterion, samples):
    """Return after how many samples the criterion was satisfied, or ``None``."""
    for count, sample in enumerate(samples, start=1):
        criterion.add(float(sample))
        if criterion.is_finished():
            return count
    return None


def noisy(relative, count=3000, seed=3):
    return np.abs(np.random.default_rng(seed).normal(1.0, relative, count))


@pytest.mark.parametrize("criterion_id", CRITERIA)
def test_steady_samples_finish(criterion_id):
    count = samples_until_finished(make_criterion(criterion_id, {}), np.full(1000, 0.25))
    assert count is not None and count <= 100


@pytest.mark.parametrize("criterion_id", CRITERIA)
def test_very_noisy_samples_finish_as_well(criterion_id):
    """A rule that waits for quiet would never end on a noisy machine."""
    count = samples_until_finished(make_criterion(criterion_id, {}), noisy(0.3))
    assert count is not None


@pytest.mark.parametrize("criterion_id", ["stdrel", "entropy"])
def test_noise_takes_more_samples(criterion_id):
    few = samples_until_finished(make_criterion(criterion_id, {}), noisy(0.001))
    many = samples_until_finished(make_criterion(criterion_id, {}), noisy(0.2))
    assert few < many


@pytest.mark.parametrize("criterion_id", ["stdrel", "entropy"])
def test_a_drifting_time_does_not_finish(criterion_id):
    assert samples_until_finished(make_criterion(criterion_id, {}), np.geomspace(1, 100, 120)) is None


def test_stdrel_threshold():
    """Alternating 1 + x, 1 - x has a relative standard deviation of about x."""
    samples = 1 + 0.01 * np.tile([1, -1], 15)
    assert samples_until_finished(make_criterion("stdrel", {"max-noise": 0.02}), samples) == 2
    assert samples_until_finished(make_criterion("stdrel", {"max-noise": 0.005}), samples) is None


def test_sample_count():
    assert samples_until_finished(make_criterion("sample-count", {"count": 7}), noisy(0.3)) == 7


def test_one_sample_satisfies_no_statistical_rule():
    for criterion_id in ("stdrel", "entropy"):
        assert samples_until_finished(make_criterion(criterion_id, {}), [1.0]) is None


@pytest.mark.parametrize("criterion_id", CRITERIA)
def test_every_criterion_has_an_id_and_positive_defaults(criterion_id):
    criterion = CRITERIA[criterion_id]
    assert criterion.id == criterion_id
    assert all(default > 0 for default in criterion.parameters.values())


def test_unknown_criterion():
    with pytest.raises(UsageError, match="unknown stopping criterion 'magic': expected one of stdrel"):
        make_criterion("magic", {})


def test_unknown_parameter():
    with pytest.raises(UsageError, match="stdrel has no parameter 'count': expected one of max-noise"):
        make_criterion("stdrel", {"count": 3})


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_parameters_are_positive(value):
    with pytest.raises(UsageError, match="more than 0"):
        make_criterion("sample-count", {"count": value})


@pytest.mark.parametrize(
    ("count", "rounds", "expected"), [(100, 3, 34), (7, 2, 4), (6, 3, 2), (2, 3, 1), (1, 1, 1)]
)
def test_rounds_together_have_at_least_the_samples_that_were_asked_for(count, rounds, expected):
    criterion = CRITERIA["sample-count"]
    assert criterion.share({"count": count}, rounds) == {"count": expected}
    assert criterion.share({}, 3) == {"count": 34}  # of 100
