import math
from functools import cache

import numpy as np
import pytest
import scipy

from ckprof.errors import UsageError
from ckprof.measure.stopping import CRITERIA, SamplingEnd, make_criterion
from ckprof.measure.worker.sampling import TimingSettings
from ckprof.model.outcome import PRUNED, SETTLED


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
def test_a_drifting_time_does_not_finish(criterion_id):
    assert samples_until_finished(make_criterion(criterion_id, {}), np.geomspace(1, 100, 120)) is None


def test_stdrel_threshold():
    """Alternating 1 + x, 1 - x has a relative standard deviation of about x."""
    samples = 1 + 0.01 * np.tile([1, -1], 15)
    assert samples_until_finished(make_criterion("stdrel", {"max-noise": 0.02}), samples) == 2
    assert samples_until_finished(make_criterion("stdrel", {"max-noise": 0.005}), samples) is None
    assert samples_until_finished(make_criterion("stdrel", {}), [0.0, 0.0]) == 2
    # a first one that is 10 % off: the noise of all so far is what counts
    samples = [1.1, *[1.0] * 40]
    noises = [np.std(samples[:count], ddof=1) / np.mean(samples[:count]) for count in range(2, 42)]
    expected = next(count for count, noise in enumerate(noises, 2) if noise <= 0.02)
    assert 20 < expected == samples_until_finished(make_criterion("stdrel", {"max-noise": 0.02}), samples)


def test_sample_count():
    assert samples_until_finished(make_criterion("sample-count", {"count": 7}), noisy(0.3)) == 7


def test_every_criterion_has_an_id_and_the_defaults_that_are_documented():
    assert {name: (one.id, dict(one.parameters)) for name, one in CRITERIA.items()} == {
        "stdrel": ("stdrel", {"max-noise": 0.005, "window": 32, "max-drift": 0.05, "max-error": 5e-4}),
        "sample-count": ("sample-count", {"count": 100}),
        "entropy": (
            "entropy",
            {"max-slope": 0.002, "max-residual": 0.1, "window": 32, "resolution": 0.01},
        ),
    }


@pytest.mark.parametrize(
    ("criterion_id", "values", "message"),
    [
        ("magic", {}, "unknown stopping criterion 'magic': expected one of stdrel"),
        ("stdrel", {"count": 3}, "stdrel has no parameter 'count': expected one of max-noise"),
        *[("sample-count", {"count": value}, "more than 0") for value in (0, -1, math.nan, math.inf)],
    ],
)
def test_unknown_names_and_values_are_rejected(criterion_id, values, message):
    with pytest.raises(UsageError, match=message):
        make_criterion(criterion_id, values)


@pytest.mark.parametrize(
    ("count", "rounds", "expected"), [(100, 3, 34), (7, 2, 4), (6, 3, 2), (2, 3, 1), (1, 1, 1)]
)
def test_rounds_together_have_at_least_the_samples_that_were_asked_for(count, rounds, expected):
    criterion = CRITERIA["sample-count"]
    assert criterion.share({"count": count}, rounds) == {"count": expected}
    assert criterion.share({}, 3) == {"count": 34}  # of 100


@pytest.mark.parametrize(("noise", "fewest", "most"), [(0.001, 2, 2), (0.01, 2, 16), (0.03, 2, 60)])
def test_a_round_of_several_takes_the_samples_that_its_mean_needs(noise, fewest, most):
    """Alone, the same samples would go on until the noise itself is known."""
    shared = CRITERIA["stdrel"].share({}, 3)
    assert shared == {"window": 11, "max-error": 0.005}
    assert CRITERIA["stdrel"].share({"window": 8}, 1) == {"window": 8}
    chance = np.random.default_rng(5)
    for _ in range(20):
        samples = list(0.05 * np.exp(chance.normal(0, noise, 400)))
        count = samples_until_finished(make_criterion("stdrel", shared), samples)
        assert fewest <= count <= most
        assert count <= samples_until_finished(make_criterion("stdrel", {}), samples)


def first_true(samples, finished):
    """Return the first number of samples for which a rule over all of them holds."""
    return next((count for count in range(1, len(samples) + 1) if finished(samples[:count])), None)


def drawn(seed, count=150):
    """Samples in milliseconds: mostly normal, some slow, none like the rounded edges of bins."""
    chance = np.random.default_rng(seed)
    samples = 0.05 * np.exp(chance.normal(0, chance.choice([0.001, 0.01, 0.1]), count))
    return samples * np.where(chance.random(count) < 0.1, 1.5, 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("window", [1, 5, 32])
def test_the_standard_deviation_is_that_of_numpy(seed, window):
    samples = drawn(seed)

    def noise(values):
        return np.std(values, ddof=1) / np.mean(values)

    def finished(seen):
        first = max(2, len(seen) + 1 - max(2, window))
        noises = [noise(seen[:count]) for count in range(first, len(seen) + 1)]
        if not noises:
            return False
        if noises[-1] <= 0.005 or noises[-1] / len(seen) ** 0.5 <= 5e-4:
            return True
        return len(noises) == max(2, window) and noise(noises) <= 0.05

    criterion = make_criterion("stdrel", {"window": window})
    assert samples_until_finished(criterion, samples) == first_true(samples, finished)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("window", [1, 8, 32])
def test_the_entropy_is_that_of_scipy_and_its_line_that_of_numpy(seed, window):
    samples, length = drawn(seed), max(3, window)

    @cache
    def entropy(count):
        values = np.rint(samples[:count] / (0.01 * samples[0]))
        return scipy.stats.entropy(np.unique(values, return_counts=True)[1], base=2)

    def finished(seen):
        if len(seen) < length:
            return False
        entropies = [entropy(count) for count in range(len(seen) - length + 1, len(seen) + 1)]
        places = np.arange(length)
        slope, start = np.polyfit(places, entropies, 1)
        residual = np.sqrt(np.mean((entropies - slope * places - start) ** 2))
        return abs(slope) <= 0.02 and residual <= 0.1

    criterion = make_criterion("entropy", {"window": window, "max-slope": 0.02})
    assert samples_until_finished(criterion, samples) == first_true(samples, finished)


def settings(**changes):
    values = {
        **{"warmup": 0, "min_samples": 5, "fewest_samples": 2, "min_time_s": 0.01, "max_time_s": 1.0},
        **{"timeout_s": 9.0, "criterion": "sample-count", "criterion_parameters": {"count": 3}},
        **{"flush_bytes": 0, "keep_samples": False},
    }
    return TimingSettings(**{**values, **changes})


def ended(samples, *, start=100.0, budget_s=50.0, last_s=0.1, **changes):
    """Return after how many samples (milliseconds, launches, seconds from the start) it ended, and why."""
    end = SamplingEnd(settings(**changes), start, budget_s)
    for count, (sample_ms, launches, seconds) in enumerate(samples, start=1):
        if reason := end.after(sample_ms, launches, start + seconds, last_s):
            return count, reason
    return None


def test_a_satisfied_criterion_waits_for_samples_and_kernel_time():
    # 3 satisfy the criterion, 5 are the least, 10 ms of kernel time are reached by launches of 2 x 1 ms
    assert ended([(1.0, 2, 0.01)] * 9) == (5, "sample-count")
    assert ended([(1.0, 1, 0.01)] * 20) == (10, "sample-count")
    assert ended([(1.0, 2, 0.01)] * 20, criterion_parameters={"count": 7}) == (7, "sample-count")
    assert ended([(1.0, 2, 0.01)] * 9, min_samples=1, min_time_s=0.0) == (3, "sample-count")


def test_time_ends_sampling_that_has_the_fewest_samples_and_kernel_time():
    late = [(1.0, 5, 0.2), (1.0, 5, 1.0)]
    assert ended(late) == (2, "max-time")
    assert ended([(1.0, 5, 0.2), (1.0, 5, 0.99), (1.0, 5, 1.0)]) == (3, "max-time")
    # kernel time first, then at least two samples, or fewer where fewer are the least in all
    assert ended([(1.0, 1, 2.0)] * 20, criterion_parameters={"count": 99}) == (10, "max-time")
    assert ended([(10.0, 1, 2.0)] * 3) == (2, "max-time")
    assert ended([(10.0, 1, 2.0)] * 3, min_samples=1) == (1, "max-time")
    assert ended([(10.0, 1, 2.0)] * 9, fewest_samples=4) == (4, "max-time")


def test_a_sample_that_would_exceed_the_timeout_is_not_begun():
    never = {"criterion_parameters": {"count": 99}, "max_time_s": 99.0}
    for start in (100.0, 3.0):
        samples = [(1.0, 1, 9.8), (1.0, 1, 9.85), (1.0, 1, 9.95)]
        assert ended(samples, start=start, budget_s=10.0, **never) == (3, "timeout")
    assert ended([(1.0, 1, 9.0)] * 9, budget_s=10.0, last_s=1.5, **never) == (1, "timeout")
    assert ended([(1.0, 1, 9.0)] * 9, budget_s=10.0, last_s=1.0, **never) is None
    assert ended([(1.0, 1, 0.1)] * 9, budget_s=10.0, **never) is None


def test_names_of_endings_differ_from_those_of_criteria():
    assert not {PRUNED, SETTLED} & {*CRITERIA}
