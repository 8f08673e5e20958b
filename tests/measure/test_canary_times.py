"""A visit is disturbed where a canary is off by more than its scatter."""

import random

import pytest

from ckprof.measure.canary_times import CanaryTimes


def seen(noise, visits, seed=1):
    """Return what visits with steady canaries say."""
    chance, times = random.Random(seed), CanaryTimes()
    for _ in range(visits):
        rounds = [{"a": chance.gauss(1, noise), "b": chance.gauss(2, noise)} for _ in range(3)]
        assert not times.is_disturbed(rounds)
    return times


def test_few_visits_say_nothing():
    assert not seen(0.0, 3).is_disturbed([{"a": 9.0, "b": 9.0}])
    assert seen(0.0, 4).is_disturbed([{"a": 9.0, "b": 9.0}])


@pytest.mark.parametrize(("noise", "share", "disturbed"), [(1e-4, 1.029, False), (1e-4, 1.031, True)])
def test_at_least_three_percent(noise, share, disturbed):
    for factor in (share, 1 / share):
        assert seen(noise, 20).is_disturbed([{"a": factor, "b": 2.0}]) is disturbed
        assert seen(noise, 20).is_disturbed([{"a": 1.0, "b": 2 * factor}]) is disturbed


def test_what_disturbs_a_visit():
    assert not seen(0.03, 50).is_disturbed([{"a": 1.05, "b": 2.0}])
    assert seen(0.03, 50).is_disturbed([{"a": 1.3, "b": 2.0}])
    assert not seen(1e-4, 20).is_disturbed([{"a": 1.0}, {"a": 3.0}, {}, {"a": 1.0}])
    assert not seen(1e-4, 20).is_disturbed([{}, {}]) and not CanaryTimes().is_disturbed([])
    times = seen(1e-4, 20)
    found = [times.is_disturbed([{"a": 1.05, "b": 2.1}]) for _ in range(40)]
    assert found[0] and not found[-1]
