"""What visits say of rows, against figures worked out by hand and distributions of scipy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ckprof.compare.visits import Visits, common_change, contrasts
from ckprof.compare.visits import _digamma as digamma
from ckprof.compare.visits import _moderated as moderated
from ckprof.compare.visits import _prior_freedom as prior_freedom
from ckprof.compare.visits import _trigamma as trigamma
from ckprof.compare.visits import _trimmed_mean as trimmed_mean
from tests.compare.noise import Machine, Shape, simulate

NONE = np.zeros((0, 1, 4))


@pytest.fixture(autouse=True)
def means_of_nothing() -> Iterator[None]:
    """Nothing is NaN, which numpy warns of: the caller of these functions leaves that out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def test_one_row_by_hand() -> None:
    """Visits of 1 and 3 against 5 and 9: 5 slower; visits vary by (2 + 8) / 2 = 5, means of two by half."""
    found = contrasts(
        Visits(times=np.array([[[1.0, 3, 5, 9]]]), canaries=NONE, old=2), (np.arange(2), np.arange(2, 4))
    )
    assert found.change == pytest.approx(np.array([[5.0]]))
    assert found.sigma == pytest.approx(np.array([[math.sqrt(5.0)]]))
    assert found.freedom == pytest.approx(np.array([[2.0]]))
    # without canaries, the machine may have done what all rows have in common
    assert (found.low.item(), found.high.item()) == (0.0, 5.0)
    assert found.beyond(0.02).item() == 0.0


@pytest.mark.parametrize(
    ("moved", "share"),
    [
        ((0.1, 0.0), (0.0, 0.15)),
        ((-0.1, 0.02), (-0.15, 0.03)),
        ((0.0, 0.0), (0.0, 0.0)),
        ((-0.1, -0.2), (-0.3, 0.0)),
    ],
)
def test_the_machines_share_is_the_hull_of_nothing_and_the_canaries(moved, share) -> None:
    canaries = np.array([[[0.0, 0, one, one]] for one in moved])
    times = np.zeros((1, 3, 4)) + np.array([0.0, 0, 0.5, 0.5])
    found = contrasts(Visits(times=times, canaries=canaries, old=2), (np.arange(2), np.arange(2, 4)))
    assert found.low == pytest.approx(np.full((1, 3), share[0]))
    assert found.high == pytest.approx(np.full((1, 3), share[1]))
    beyond = found.beyond(0.02) * found.strict_sigma
    assert beyond == pytest.approx(np.full((1, 3), 0.5 - share[1] - 0.02))


def test_a_problems_own_canaries_count_for_it_alone() -> None:
    canaries = np.zeros((1, 5, 4))
    canaries[0, 2, 2:] = 0.2
    found = contrasts(
        Visits(times=np.zeros((5, 1, 4)), canaries=canaries, old=2), (np.arange(2), np.arange(2, 4))
    )
    assert found.high.ravel() == pytest.approx([0, 0, 0.3, 0, 0])


def test_what_is_not_known() -> None:
    times = np.array([[[1.0, 2, 3, 4], [np.nan, np.nan, 3, 4], [1, np.nan, 3, np.nan]]])
    found = contrasts(Visits(times=times, canaries=NONE, old=2), (np.arange(2), np.arange(2, 4)))
    assert np.isnan(found.change).tolist() == [[False, True, False]]
    assert found.beyond(0.0)[0, 1] == 0.0


@given(seed=st.integers(0, 2**32), size=st.floats(-1, 1))
@settings(max_examples=20, deadline=None)
def test_changes_are_differences_of_means_whatever_the_rest(seed: int, size: float) -> None:
    visits = simulate(np.random.default_rng(seed), Shape(problems=4, kernels=3), Machine(missing=0.1))
    moved = replace(visits, times=visits.times + size * (np.arange(6) >= 3))
    one, other = (contrasts(some, some.sides) for some in (visits, moved))
    expected = np.nanmean(visits.times[..., 3:], axis=-1) - np.nanmean(visits.times[..., :3], axis=-1)
    assert one.change == pytest.approx(expected, nan_ok=True)
    assert other.change == pytest.approx(expected + size, nan_ok=True)
    # what both sides have in common is no scatter
    assert other.sigma == pytest.approx(one.sigma, nan_ok=True)


def test_standard_deviations_are_those_of_changes() -> None:
    """Over many rows of one size of noise, changes are as far apart as their standard deviations say."""
    visits = simulate(np.random.default_rng(3), Shape(problems=40, kernels=30), Machine(canaries=()))
    found = contrasts(visits, visits.sides)
    assert float(np.std(found.change / found.sigma)) == pytest.approx(1.0, abs=0.1)
    assert float(np.std(found.change)) == pytest.approx(0.01 * math.sqrt(2 / 3), rel=0.1)


@pytest.mark.parametrize("side", [0, 1])
def test_disturbed_visits_do_not_count_where_two_others_do(side: int) -> None:
    quiet = simulate(np.random.default_rng(5), Shape(problems=10, kernels=2), Machine())
    times, canaries = quiet.times.copy(), quiet.canaries.copy()
    place = 3 * side + 1
    times[4, :, place] += 0.5
    canaries[1, 4, place] += 0.5  # one of the two is enough
    left = Visits(times=times, canaries=canaries, old=3).undisturbed()
    gone = np.isnan(left.times)
    assert np.argwhere(gone).tolist() == [[4, 0, place], [4, 1, place]]
    assert np.isnan(left.canaries[:, 4, place]).all() and np.isnan(left.canaries).sum() == 2
    # where only one other would be left, all count
    times[4, 0, 3 * side] = np.nan
    left = Visits(times=times, canaries=canaries, old=3).undisturbed()
    assert np.isnan(left.times[4, 0]).sum() == 1 and np.isnan(left.times[4, 1]).sum() == 1
    without = Visits(times=times, canaries=canaries[:0], old=3)
    assert np.isnan(without.undisturbed().times).sum() == 1


def test_a_canary_that_moves_within_its_scatter_disturbs_nothing() -> None:
    visits = simulate(np.random.default_rng(6), Shape(), Machine())
    assert not np.isnan(visits.undisturbed().times).any()


def test_the_common_change_is_no_single_rows() -> None:
    shape = Shape(problems=5, kernels=6)
    quiet = simulate(np.random.default_rng(7), shape, Machine(canaries=()))
    slower = replace(quiet, times=quiet.times + 0.3 * (np.arange(6) >= 3))
    common, error = common_change(slower)
    assert common == pytest.approx(0.3, abs=0.01) and 0 < error < 0.02
    one = replace(quiet, times=quiet.times.copy())
    one.times[:, 0, 3:] += 5.0
    assert abs(common_change(one)[0]) < 0.02


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9, 10, 30])
def test_trimmed_means_are_those_of_scipy(count: int) -> None:
    values = np.random.default_rng(count).normal(size=(3, count, 2))
    padded = np.concatenate([values, np.full((3, 4, 2), np.nan)], axis=1)
    assert trimmed_mean(padded) == pytest.approx(stats.trim_mean(values, 0.2, axis=1))


@given(st.floats(0.3, 100))
def test_derivatives_of_log_gamma_are_scipys(x: float) -> None:
    assert trigamma(x) == pytest.approx(float(special.polygamma(1, x)), rel=1e-6)
    assert digamma(x) == pytest.approx(float(special.digamma(x)), rel=1e-6, abs=1e-6)


def test_rows_have_the_variance_that_is_likely_for_them() -> None:
    """Variances as the model has them: on average, a likely one is that of the row, quiet or noisy."""
    chance = np.random.default_rng(4)
    truth = 0.01**2 * 8.0 / stats.chi2(8).rvs(4000, random_state=chance)
    residuals = np.sqrt(truth)[:, None] * chance.normal(size=(4000, 6))
    residuals -= np.repeat(residuals.reshape(4000, 2, 3).mean(axis=2), 3, axis=1)
    likely, average, freedom = moderated(residuals, np.full(4000, 4.0))
    assert average == pytest.approx(truth.mean(), rel=0.1)
    assert freedom == pytest.approx(np.full(4000, 12.0), rel=0.15)
    order = np.argsort(likely)
    for some in (order[:1000], order[1500:2500], order[-1000:]):
        # of a posterior with f degrees of freedom, the mean of 1 / variance is 1 / scale
        assert float((likely[some] / truth[some]).mean()) == pytest.approx(1.0, abs=0.08)


def test_few_trials_that_happen_to_agree_do_not_make_a_row_strictly_quiet() -> None:
    visits = simulate(np.random.default_rng(8), Shape(problems=10), Machine())
    visits.times[3, 4] = [0.0, 0.0, 0.0, 0.03, 0.03, 0.03]
    found = contrasts(visits, visits.sides)
    assert found.sigma[3, 4] < np.median(found.sigma)
    assert found.strict_sigma[3, 4] >= 0.95 * np.median(found.strict_sigma)
    assert (found.strict_sigma >= found.sigma - 1e-12).all()


@pytest.mark.parametrize("prior", [3.0, 8.0])
def test_the_priors_freedom_is_found_again(prior: float) -> None:
    """Variances drawn as the model has them (Smyth, 2004): of an inverse chi-square, then of chi-square."""
    chance = np.random.default_rng(1)
    truth = prior / stats.chi2(prior).rvs(20000, random_state=chance)
    seen = truth * stats.chi2(4).rvs(20000, random_state=chance) / 4
    assert prior_freedom(seen, 4.0) == pytest.approx(prior, rel=0.1)


def test_rows_that_are_alike_or_not_at_all_have_priors_at_the_bounds() -> None:
    chance = np.random.default_rng(2)
    alike = stats.chi2(4).rvs(5000, random_state=chance) / 4
    assert prior_freedom(alike, 4.0) == pytest.approx(60.0, abs=20)
    assert prior_freedom(alike * np.exp(chance.normal(0, 3, 5000)), 4.0) == 2.0
    assert prior_freedom(alike[:19], 4.0) == 4.0
