"""The best libraries of a size, against trying all combinations."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from ckprof.report import best_libraries as module
from ckprof.report.best_libraries import best_libraries


def made(seed, problems=9, kernels=7):
    chance = np.random.default_rng(seed)
    times = np.exp(chance.normal(2, 1, (problems, 1)) + chance.exponential(0.4, (problems, kernels)))
    times[chance.random(times.shape) < 0.2] = np.inf
    times[:, 0] = np.where(np.isfinite(times).any(1), times[:, 0], 1.0)
    times[np.isinf(times).all(1), 0] = 1.0
    return times


def brute(times, weights, size):
    ratios = times / times.min(1, keepdims=True)
    worst = module._UNSERVED * ratios[np.isfinite(ratios)].max()
    ratios[np.isinf(ratios)] = worst
    return min(
        float((ratios[:, list(some_)].min(1) * weights).sum() / weights.sum())
        for some_ in combinations(range(times.shape[1]), size)
    )


@given(some.integers(0, 200))
def test_small_sizes_are_exact(seed):
    times, weights = made(seed), np.random.default_rng(seed).uniform(1, 5, 9)
    for found in best_libraries(times, weights, 4):
        assert found.exact
        assert found.slowdown == pytest.approx(brute(times, weights, len(found.kernels)))
        chosen = times[:, list(found.kernels)]
        assert found.unserved == np.isinf(chosen).all(1).sum()


@given(some.integers(0, 60))
def test_the_bound_of_greedy_choices_holds(seed):
    times, weights = made(seed), np.ones(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMBINATIONS", 0)
        found = best_libraries(times, weights, 5)
    for one in found:
        best = brute(times, weights, len(one.kernels))
        assert one.bound <= best * (1 + 1e-9)
        assert best <= one.slowdown * (1 + 1e-9)


def test_the_curve_ends_where_all_are_reached_and_weights_decide():
    times = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 1.5, 1.0]])
    found = best_libraries(times, np.ones(3), 3)
    assert [len(one.kernels) for one in found] == [1, 2]
    assert found[-1].slowdown == pytest.approx(1.0)
    assert set(found[-1].kernels) == {0, 1}
    times = np.array([[1.0, 2.0], [2.0, 1.0]])
    (first, *_) = best_libraries(times, np.array([1.0, 9.0]), 1)
    assert first.kernels == (1,)
