"""What visits say of rows, against figures worked out by hand and distributions of scipy."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy

from ckprof.compare.visits import Visits, common_change, contrasts
from ckprof.compare.visits import _log_bias as log_bias
from ckprof.compare.visits import _log_variance as log_variance
from ckprof.compare.visits import _moderated as moderated
from ckprof.compare.visits import _prior_freedom as prior_freedom
from ckprof.compare.visits import _trimmed_mean as trimmed_mean
from tests.compare.noise import Machine, Shape, simulate

NONE = np.zeros((0, 1, 4))


@pytest.fixture(autouse=True)
def means_of_nothing():
    """Nothing is NaN, which numpy warns of: the caller of these functions skips that."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def test_one_row_by_hand():
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
def test_the_machines_share_is_the_hull_of_nothing_and_the_canaries(moved, share):
    canaries = np.array([[[0.0, 0, one, one]] for one in moved])
    for change, beyond in ((0.5, 0.5 - share[1] - 0.02), (-0.5, -0.5 - share[0] + 0.02)):
        times = np.zeros((1, 3, 4)) + np.array([0.0, 0, change, change])
        found = contrasts(Visits(times=times, canaries=canaries, old=2), (np.arange(2), np.arange(2, 4)))
        assert found.low == pytest.approx(np.full((1, 3), share[0]))
        assert found.high == pytest.approx(np.full((1, 3), share[1]))
        assert found.beyond(0.02) * found.strict_sigma == pytest.approx(np.full((1, 3), beyond))


def centered(values, sides):
    """Without the mean of each side, along the last axis."""
    result = np.array(values)
    for index in np.ndindex(result.shape[:-1]):
        for side in sides:
            result[index][side] -= np.nanmean(result[index][side])
    return result


def likely_variances(residuals, freedoms):
    """Of each list: likely variance, that of all on average, degrees of freedom (Smyth, 2004, section 6)."""
    own = [np.nansum(one**2) / max(freedom, 1) for one, freedom in zip(residuals, freedoms, strict=True)]
    known = [one for one, freedom in zip(own, freedoms, strict=True) if freedom > 0]
    usual = float(np.median([freedom for freedom in freedoms if freedom > 0]))
    logs = np.log([one for one in known if one > 0])
    prior = 0 if len(known) < 2 else 4
    if len(logs) >= 20:
        excess = np.var(logs, ddof=1) - scipy.special.polygamma(1, usual / 2)
        prior = min(range(2, 61), key=lambda one: abs(scipy.special.polygamma(1, one / 2) - excess))
    center = 0.0
    if prior and len(logs):
        below = [scipy.special.digamma(one / 2) - math.log(one / 2) for one in (usual, prior)]
        center = math.exp(np.mean(logs) - below[0] + below[1])
    for one, freedom in zip(own, freedoms, strict=True):
        total = prior + freedom
        yield (prior * center + freedom * one) / total, np.mean(known), total


def one_by_one(visits, sides):
    """The model row by row: change, machine's share, and standard deviations with degrees of freedom."""
    problems, kernels, count = visits.times.shape
    rows, canaries = centered(visits.times, sides), centered(visits.canaries, sides)
    shared = np.zeros((problems, count))
    for problem, visit in np.ndindex(shared.shape):
        shared[problem, visit] = scipy.stats.trim_mean(
            [one for one in rows[problem, :, visit] if math.isfinite(one)], 0.2
        )
    all_problems, parts, scatter = np.median(shared, axis=0), [], shared
    moves = [np.nanmedian(one, axis=0) for one in canaries]
    if problems >= 3:
        unseen = [
            one - min(max(one, min([0, *seen])), max([0, *seen]))
            for one, *seen in zip(all_problems, *moves, strict=True)
        ]
        freedom = max(count - 2, 1)
        parts.append((sum(one**2 for one in unseen) / freedom, freedom))
        scatter = (shared - all_problems) * math.sqrt(problems / (problems - 1))
    of_canaries, chances = [], []
    for one, move in zip(canaries, moves, strict=True):
        freedom = max(1, sum(max(0, np.isfinite(some).sum() - 2) for some in one))
        of_change = np.nansum((one - move) ** 2) / freedom * (1 / len(sides[0]) + 1 / len(sides[1]))
        of_canaries.append((math.pi / 2 * of_change / problems, freedom))
        chances.append(2 * math.sqrt(of_change))

    def freedom_of(some):
        return [max(0, np.isfinite(one).sum() - 2) for one in some]

    of_visits = list(likely_variances(scatter, freedom_of(shared)))
    flat = visits.times.reshape(-1, count)
    left = (rows - shared[:, None]).reshape(-1, count)
    of_rows = list(likely_variances(left, freedom_of(flat)))

    def difference(values):
        return float(np.nanmean(values[sides[1]]) - np.nanmean(values[sides[0]]))

    found = {}
    for problem, kernel in np.ndindex(problems, kernels):
        times = visits.times[problem, kernel]
        if not all(np.isfinite(times[side]).any() for side in sides):
            continue
        weight = sum(1 / np.isfinite(times[side]).sum() for side in sides)
        changes = [
            [difference(visits.times[some, one]) for one in range(kernels)] for some in range(problems)
        ]
        hull = [0.0] if len(canaries) else [0.0, np.nanmedian(np.nanmedian(changes, axis=1))]
        for one, chance in zip(visits.canaries, chances, strict=True):
            moved = [difference(some) for some in one]
            usual = np.nanmedian(moved)
            more = max(0.0, abs(moved[problem] - usual) - chance)
            hull += [1.5 * (usual + math.copysign(more, moved[problem] - usual)), 1.5 * usual]
        both = []
        for strict in (False, True):
            own = [of_rows[problem * kernels + kernel], of_visits[problem]]
            likely = [(max(one, mean if strict else 0), freedom) for one, mean, freedom in own]
            all_parts = [(one * weight, freedom) for one, freedom in (*parts, *likely)] + of_canaries
            variance = 1e-10 + sum(one for one, _ in all_parts)
            both += [math.sqrt(variance), variance**2 / sum(one**2 / freedom for one, freedom in all_parts)]
        found[problem, kernel] = (difference(times), min(hull), max(hull), *both)
    return found


@pytest.mark.parametrize("canaries", [(), (1.0, 0.3)])
@pytest.mark.parametrize(
    ("problems", "kernels", "old", "new"),
    [(1, 1, 2, 2), (1, 3, 3, 2), (2, 4, 3, 3), (3, 5, 1, 1), (3, 7, 1, 2), (5, 4, 3, 4), (6, 9, 4, 3)],
)
def test_rows_are_those_of_the_model_one_by_one(problems, kernels, old, new, canaries):
    shape = Shape(problems=problems, kernels=kernels, old=old, new=new)
    machine = Machine(canaries=canaries, slower=0.04, of_process=0.02, shared=False, follow=(0.0, 1.0))
    visits = simulate(np.random.default_rng([problems, old]), shape, machine)
    if old > 1:
        visits.times[0, 0, 1] = np.nan
        visits.canaries[:, 0, 1] = np.nan
    if kernels > 4:
        visits.times[1, 1, old:] = visits.times[2, 2, 1:] = np.nan
    for sides in (visits.sides, tuple(np.roll(np.arange(old + new), 1)[side] for side in visits.sides)):
        found = contrasts(visits, sides)
        expected = one_by_one(visits, sides)
        for row, values in expected.items():
            seen = (found.change, found.low, found.high, found.sigma, found.freedom)
            seen += (found.strict_sigma, found.strict_freedom)
            assert [float(one[row]) for one in seen] == pytest.approx(values, rel=1e-4, nan_ok=True)
        others = [row for row in np.ndindex(problems, kernels) if row not in expected]
        for row in others:
            assert not math.isfinite(found.change[row]) and not math.isfinite(found.strict_sigma[row])
            assert found.beyond(0.0)[row] == 0.0


def test_what_canaries_do_from_visit_to_visit_is_no_change_of_a_problem():
    widths = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        visits = simulate(generator, Shape(problems=32, kernels=2), Machine(canary=0.01))
        visits.canaries[0, 4, 3:] += 0.1
        found = contrasts(visits, visits.sides)
        widths.append((found.high - found.low)[:, 0])
        # what is more than chance counts
        assert widths[-1][4] > 0.1
    assert np.median(widths) < 1.5 * 0.01 * math.sqrt(2 / 3) / 2


def test_standard_deviations_are_those_of_changes():
    """Over many rows of one size of noise, changes are as far apart as their standard deviations say."""
    visits = simulate(np.random.default_rng(3), Shape(problems=40, kernels=30), Machine(canaries=()))
    found = contrasts(visits, visits.sides)
    assert float(np.std(found.change / found.sigma)) == pytest.approx(1.0, abs=0.1)
    assert float(np.std(found.change)) == pytest.approx(0.01 * math.sqrt(2 / 3), rel=0.1)


@pytest.mark.parametrize("side", [0, 1])
def test_disturbed_visits_do_not_count_where_two_others_do(side):
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


@pytest.mark.parametrize(
    ("scatter", "moved", "gone"), [(0.0, 0.03, 0), (0.0, -0.0301, 1), (0.01, 0.0889, 0), (0.01, -0.089, 1)]
)
def test_canaries_disturb_beyond_six_deviations_and_three_percent(scatter, moved, gone):
    """The median distance to the median is the scatter, so that 6 deviations are 8.8956 times that."""
    canaries = np.zeros((2, 5, 6))
    canaries[1] = scatter * np.array([-1, 0, 1, -1, 0, 1])
    place = 5 if moved > 0 else 3
    canaries[1, 0, place] = moved
    left = Visits(times=np.zeros((5, 1, 6)), canaries=canaries, old=3).undisturbed()
    assert np.argwhere(np.isnan(left.times)).tolist() == [[0, 0, place]] * gone


def test_the_common_change_is_no_single_rows():
    shape = Shape(problems=5, kernels=6)
    quiet = simulate(np.random.default_rng(7), shape, Machine(canaries=()))
    slower = replace(quiet, times=quiet.times + 0.3 * (np.arange(6) >= 3))
    common, error, _ = common_change(slower)
    assert common == pytest.approx(0.3, abs=0.01) and 0 < error < 0.02
    one = replace(quiet, times=quiet.times.copy())
    one.times[:, 0, 3:] += 5.0
    assert abs(common_change(one)[0]) < 0.02


@pytest.mark.parametrize(
    ("times", "old", "change", "error", "freedom"),
    [
        ([1.0, 3, 5, 9, 10], 2, 6.0, math.sqrt(16 / 3 * 5 / 6), 3),
        ([1.0, np.nan, 5, 9], 2, 6.0, math.sqrt(8 / 1 * 3 / 2), 1),
        ([1.0, 3], 1, 2.0, 0.0, 0),
        ([np.nan, 3.0], 1, 0.0, 0.0, -1),
    ],
)
def test_the_common_change_by_hand(times, old, change, error, freedom):
    """The squares of what remains of visits, divided by their number without two means."""
    found = common_change(Visits(times=np.array([[times]]), canaries=NONE, old=old))
    assert found == pytest.approx((change, error, freedom))


@pytest.mark.parametrize(("problems", "whole"), [(1, 0), (2, 0), (3, 1)])
def test_passes_with_fewer_than_half_of_the_problems_say_nothing_of_all(problems, whole):
    """Of five problems; the last pass of each side has visited only some."""
    times = np.zeros((5, 1, 8))
    times[problems:, :, [3, 7]] = np.nan
    _, _, freedom = common_change(Visits(times=times, canaries=np.zeros((0, 5, 8)), old=4))
    assert freedom == 6 + 2 * whole - 2


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9, 10, 30])
def test_trimmed_means_are_those_of_scipy(count):
    values = np.random.default_rng(count).normal(size=(3, count, 2))
    padded = np.concatenate([values, np.full((3, 4, 2), np.nan)], axis=1)
    assert trimmed_mean(padded) == pytest.approx(scipy.stats.trim_mean(values, 0.2, axis=1))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4.5, 10, 60, 300])
def test_derivatives_of_log_gamma_are_scipys(freedom):
    half = freedom / 2
    assert log_variance(freedom) == pytest.approx(float(scipy.special.polygamma(1, half)), rel=1e-4)
    assert log_bias(freedom) == pytest.approx(float(scipy.special.digamma(half)) - math.log(half), rel=1e-4)


def test_rows_have_the_variance_that_is_likely_for_them():
    """Variances as the model has them: on average, a likely one is that of the row, quiet or noisy."""
    chance = np.random.default_rng(4)
    truth = 0.01**2 * 8.0 / scipy.stats.chi2(8).rvs(4000, random_state=chance)
    residuals = np.sqrt(truth)[:, None] * chance.normal(size=(4000, 6))
    residuals -= np.repeat(residuals.reshape(4000, 2, 3).mean(axis=2), 3, axis=1)
    likely, average, freedom = moderated(residuals, np.full(4000, 4.0))
    assert average == pytest.approx(truth.mean(), rel=0.1)
    assert freedom == pytest.approx(np.full(4000, 12.0), rel=0.15)
    order = np.argsort(likely)
    for some in (order[:1000], order[1500:2500], order[-1000:]):
        # of a posterior with f degrees of freedom, the mean of 1 / variance is 1 / scale
        assert float((likely[some] / truth[some]).mean()) == pytest.approx(1.0, abs=0.08)


@pytest.mark.parametrize("prior", [3.0, 8.0])
def test_the_priors_freedom_is_found_again(prior):
    """Variances drawn as the model has them (Smyth, 2004): of an inverse chi-square, then of chi-square."""
    chance = np.random.default_rng(1)
    truth = prior / scipy.stats.chi2(prior).rvs(20000, random_state=chance)
    seen = truth * scipy.stats.chi2(4).rvs(20000, random_state=chance) / 4
    assert prior_freedom(seen, 4.0) == pytest.approx(prior, rel=0.1)


def test_rows_that_are_alike_or_not_at_all_have_priors_at_the_bounds():
    chance = np.random.default_rng(2)
    alike = scipy.stats.chi2(4).rvs(5000, random_state=chance) / 4
    assert prior_freedom(alike, 4.0) == pytest.approx(60.0, abs=20)
    assert prior_freedom(alike * np.exp(chance.normal(0, 3, 5000)), 4.0) == 2.0
    assert prior_freedom(alike[:19], 4.0) == 4.0
    # of rows without any scatter there are no logarithms
    assert prior_freedom(np.append(alike[:19], 0.0), 4.0) == 4.0
    assert prior_freedom(np.append(alike, 0.0), 4.0) == prior_freedom(alike, 4.0)
