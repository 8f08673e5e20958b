"""The rounds of one kernel: where they are, and how sure that is, whatever disturbed some of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ckprof.compare.change import (
    Verdict,
    estimate_changes,
)
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import (
    SIGMAS,
    Errors,
    RowTimes,
    location,
    middle_of,
    posteriors,
    row_errors,
    variation_of_processes,
    variation_of_rounds,
)
from tests.compare.noise import (
    FALSE,
    KINDS,
    Shape,
    judged,
    row_times,
    side,
    verdicts,
)

POLICY = ChangePolicy()


INDEPENDENT = KINDS["independent"]


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


def test_single_rounds_say_too_little() -> None:
    shape = Shape(rounds=1)
    generator = np.random.default_rng(6)
    old, new = (side(generator, shape, KINDS["bursts"], 0.02) for _ in range(2))
    new[0] += math.log(1.3)
    assert set(FALSE).isdisjoint(verdicts(old, new, shape))


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


def test_the_side_with_fewer_processes_and_rounds_counts() -> None:
    two, five = ({f"s{n}": [0.0] * 3 for n in range(count)} for count in (2, 5))
    for old, new in ((two, five), (five, two)):
        assert (RowTimes(old=old, new=new).processes, RowTimes(old=old, new=new).rounds) == (2, 6)


def test_where_rounds_are_and_how_much_they_vary() -> None:
    """Two rounds say nothing of their variance; of three or more the slow ones are left out."""
    for times, where, weight, kept in (
        ([0.3], 0.3, 1.0, []),
        ([0.3, 0.1], 0.1, 1.0, []),
        ([0.3, 0.1, 0.2], 0.2, 0.45, [0.1, 0.2, 0.3]),
        # the median is 0.25, the lower half lies 0.1 below it: from 0.75 on they are disturbed
        ([0.1, 0.2, 0.3, 0.74], 0.335, 1.1 / 4, [0.1, 0.2, 0.3, 0.74]),
        ([0.1, 0.2, 0.3, 0.76], 0.2, 1.1 / 3, [0.1, 0.2, 0.3]),
    ):
        factor = 0.9 if len(times) > 3 else 1.0
        square, freedom = (variance(kept), factor * (len(kept) - 1)) if kept else (0.0, 0.0)
        assert location(times) == pytest.approx(where)
        assert variation_of_rounds(times) == pytest.approx((weight, square, freedom))


def test_processes_are_summed_up_like_rounds_where_there_are_many() -> None:
    few = [0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 3.0]
    for some in (few, few[:2]):
        assert middle_of(some) == pytest.approx(fmean(some))
        assert variation_of_processes(some) == pytest.approx((1 / len(some), variance(some), len(some) - 1))
    assert variation_of_processes([0.1]) == (1.0, 0.0, 0.0)
    for many in ([*few, 0.35], [*few, 0.35, 0.36]):
        assert middle_of(many) == pytest.approx(fmean(sorted(many)[:-1]))
        assert variation_of_processes(many) == variation_of_rounds(many)


def test_the_difference_of_both_sides() -> None:
    def row(old: dict[str, list[float]], new: dict[str, list[float]], **how: bool) -> RowTimes:
        return RowTimes(old=old, new=new, **how)

    one = row({"a": [0.1, 0.3, 0.2]}, {"b": [1.0, 1.4]})
    assert (
        one.single
        and one.log_ratio == pytest.approx(1.0 - 0.2)
        and one.disturbed == pytest.approx((0.0, 0.0025))
    )
    several = row({"a": [0.1, 0.3], "b": [0.2]}, {"c": [1.0]})
    assert not several.single and several.log_ratio == pytest.approx(1.0 - 0.15)
    assert several.sides == ([0.1, 0.2], [1.0]) and several.disturbed == (0.0, 0.0)
    pairs = row({"a": [0.1], "b": [0.5], "c": [9.0]}, {"a": [0.3], "b": [0.9]}, paired=True)
    assert pairs.sides == (pytest.approx([0.2, 0.4]),) and pairs.log_ratio == pytest.approx(0.3)
    assert not pairs.single and (pairs.processes, pairs.rounds) == (2, 2)


#: variances are rounded up to the next of 60 steps from 1e-8 to 4
STEP = 4e8 ** (1 / 59)


@pytest.mark.parametrize(("processes", "noisier"), [(1, 1.0), (4, 1.0), (1, 10.0)])
def test_errors_are_as_large_as_they_are(processes: int, noisier: float) -> None:
    """Their variance is that of differences of two sides that changed nothing."""
    shape = Shape(processes=processes, rounds=6 // processes + 3, rows=600)
    generator = np.random.default_rng(5)
    old, new = (side(generator, shape, INDEPENDENT, sigma) for sigma in (0.01, 0.01 * noisier))
    rows = row_times(old, new, shape)
    errors = row_errors(rows, POLICY)
    real = np.var([row.log_ratio for row in rows])
    assert real < np.mean(errors.variance) < STEP * real
    wider = errors.widened(np.full(len(rows), 1e-3))
    assert wider.variance == pytest.approx(errors.variance + 1e-3)
    # two sigmas: 0.0228, of variances that are rounded up more
    tails = errors.tail(np.full(len(rows), 2 * math.sqrt(real)))
    assert 0.02 < np.mean(tails) < 0.05
    assert np.all(wider.tail(np.full(len(rows), 0.01)) > errors.tail(np.full(len(rows), 0.01)))


def test_a_row_that_says_nothing_has_what_is_assumed() -> None:
    """A standard deviation of 5 %, whose logarithm has one of 0.7: it is distributed log-normally."""
    errors = row_errors([alone((0.0, 0.1), (0.0, 0.1))], ChangePolicy(round_noise=0.05))
    expected = 2 * 0.05**2 * math.exp(2 * 0.7**2)
    assert expected < errors.variance[0] < STEP * expected


def test_rows_of_a_problem_that_share_what_disturbs_them_count_as_one() -> None:
    """One problem of sixty disturbed rows among nine quiet ones hardly says what to expect of another."""

    def variance_of_another(name: Callable[[int, int], object]) -> float:
        generator = np.random.default_rng(2)
        rows = []
        for problem, (count, sigma) in enumerate([(60, 0.2), *[(10, 0.001)] * 9]):
            for number in range(count):
                # of the same variance
                times = [sigma * one for one in generator.permutation([-1.0, 0.0, 1.0])]
                rows.append(RowTimes(old={"a": times}, new={"b": times[::-1]}, problem=name(problem, number)))
        rows.append(RowTimes(old={"a": [0.0]}, new={"b": [0.0]}, problem="another"))
        return float(row_errors(rows, POLICY).variance[-1])

    # what is expected, which the median row says, counts as four more: the square of 0.2 is that of one in 14
    # problems, and of sixty in 154 rows
    together = variance_of_another(lambda problem, number: problem)
    apart = variance_of_another(lambda problem, number: (problem, number))
    assert together == pytest.approx(2 * 0.04 / 14, rel=0.3)
    assert apart == pytest.approx(2 * 0.04 * 60 / 154, rel=0.3)
    # where the same are dealt to ten problems alike, nothing is shared; one problem alone says nothing of it
    assert variance_of_another(lambda problem, number: number % 10) == pytest.approx(apart)
    assert variance_of_another(lambda problem, number: 0) == pytest.approx(apart)


def test_rows_count_by_the_correlation_of_their_variances() -> None:
    """Of ten rows in each of six problems: (F - 1) / (F - 1 + 10) of an analysis of variance."""
    generator = np.random.default_rng(3)
    logs = generator.normal(0, 0.4, (6, 1)) + generator.normal(-8, 0.8, (6, 10))
    correlation = (ratio := stats.f_oneway(*logs).statistic - 1) / (ratio + 10)
    assert 0.1 < correlation < 0.5
    rows = [
        # of this variance, on both sides
        RowTimes(old={"a": [-size, 0.0, size]}, new={"b": [size, 0.0, -size]}, problem=problem)
        for problem, own in enumerate(np.exp(logs / 2).tolist())
        for size in own
    ]
    counts, freedom = np.full(60, 1 / (1 + 9 * correlation)), np.full(60, 4.0)
    weights = posteriors(np.exp(logs.ravel()), freedom, counts, POLICY.round_noise)
    expected = Errors.mixture(weights, np.tile(2 * 0.45 * SIGMAS**2, (60, 1)))
    assert row_errors(rows, POLICY).variance == pytest.approx(expected.variance, rel=1e-9)


def test_quantiles_and_tails_of_mixtures() -> None:
    """A tenth of what has a standard deviation of 0.001 has one of 0.1 besides."""
    weights, variances = np.ones((1, 1)), np.full((1, 1), 1e-6)
    errors = Errors.mixture(weights, variances)
    sigma = math.sqrt(errors.variance[0])
    assert 0.001 <= sigma < 0.001 * math.sqrt(STEP)
    for share in (0.025, 0.16):
        assert errors.quantile(share)[0] == pytest.approx(stats.norm.isf(share) * sigma, rel=2e-3)
    size = np.array([3 * sigma])
    assert errors.tail(size)[0] == pytest.approx(stats.norm.sf(3), rel=1e-3)
    mixed = errors.contaminated(np.array([0.1]), 0.1)
    assert mixed.tail(size)[0] == pytest.approx(0.9 * stats.norm.sf(3) + 0.1 * 0.488, rel=0.02)
    # its variance of 0.01 is rounded up
    far = mixed.tail(np.array([0.1]))[0]
    assert 0.1 * stats.norm.sf(1) < far < 0.1 * stats.norm.sf(1 / math.sqrt(STEP))
    assert errors.widened(np.array([3e-6])).quantile(0.025)[0] == pytest.approx(
        1.96 * math.sqrt(sigma**2 + 3e-6), rel=2e-3
    )
