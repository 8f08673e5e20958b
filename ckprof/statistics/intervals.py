"""Confidence intervals of ratios of times, from logarithms per round.

Samples of one round share the state of the machine, so that rounds, not samples, are what is drawn again in
the bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 8). With few rounds the
percentile bootstrap is too narrow (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015): the
interval returned here is the hull of it and of Student's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.statistics.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: degrees of freedom beyond which quantiles hardly change
_MOST_FREEDOM: Final = 200

#: times that rounds are drawn again
RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A logarithm of a ratio and the range that holds it; the ends are infinite where nothing is known."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the range."""
        return (self.high - self.low) / 2

    @property
    def ratio(self) -> float:
        """The ratio itself."""
        return math.exp(self.estimate)

    def lies_within(self, limit: float) -> bool:
        """Say whether the whole range lies in -limit to limit."""
        return -limit <= self.low and self.high <= limit

    def lies_outside(self, limit: float) -> bool:
        """Say whether the range has no point in -limit to limit."""
        return self.low > limit or self.high < -limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How much the logarithm of a kernel's time varies between rounds, beside what all kernels share."""

    #: standard deviation
    sigma: float
    #: degrees of freedom that it was estimated from
    freedom: int


def paired_interval(
    logs: Sequence[float] | NDArray[np.float64],
    *,
    confidence: float = 0.95,
    noise: Noise | None = None,
    seed: int | None = 0,
) -> Interval:
    """Return the interval of the mean of log-ratios that were taken round by round.

    :param logs: one per round: log(time of one) - log(time of the other).
    :param noise: what is known of single times from other kernels; it widens the interval where the few
        values agree by chance.
    :param seed: of the bootstrap; ``None`` leaves Student's interval alone, which takes far less time.
    """
    values = np.asarray(logs, dtype=np.float64)
    if values.size == 0:
        return Interval(estimate=0.0, low=-math.inf, high=math.inf)
    means = _bootstrap_means(values, seed) if values.size > 1 and seed is not None else None
    own = _Spread.of(values)
    # the ratio of two noisy times
    known = None if noise is None else _Spread(noise.sigma * math.sqrt(2), noise.freedom)
    return _hull(float(values.mean()), means, _standard_error([(values.size, own, known)]), confidence)


def unpaired_interval(
    numerator: Sequence[float] | NDArray[np.float64],
    denominator: Sequence[float] | NDArray[np.float64],
    *,
    confidence: float = 0.95,
    noise: Noise | None = None,
    seed: int = 0,
) -> Interval:
    """Return the interval of the difference of mean logs of two sets of rounds, as of two stores.

    :param numerator: logarithms of times, one per round.
    :param denominator: those of the other side.
    :param noise: as for :func:`paired_interval`.
    """
    over, under = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    if over.size == 0 or under.size == 0:
        return Interval(estimate=0.0, low=-math.inf, high=math.inf)
    means = _bootstrap_means(over, seed) - _bootstrap_means(under, seed + 1)
    known = None if noise is None else _Spread(noise.sigma, noise.freedom)
    error = _standard_error([(side.size, _Spread.of(side), known) for side in (over, under)])
    return _hull(float(over.mean() - under.mean()), means, error, confidence)


@dataclass(frozen=True, slots=True)
class _Spread:
    sigma: float
    freedom: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> _Spread:
        freedom = values.size - 1
        return cls(float(values.std(ddof=1)) if freedom else math.inf, freedom)


def _standard_error(sides: Sequence[tuple[int, _Spread, _Spread | None]]) -> _Spread:
    """Return standard error and degrees of freedom of a sum over sides (Welch and Satterthwaite).

    Of a side's own spread and the known one, the larger counts; a single round has no spread of its own.
    """
    total = weight = 0.0
    for rounds, own, known in sides:
        spread = own
        if known is not None and known.freedom > 0 and (own.freedom < 1 or known.sigma >= own.sigma):
            spread = known
        if spread.freedom < 1:
            return _Spread(math.inf, 1)
        share = spread.sigma**2 / rounds
        total += share
        weight += share**2 / spread.freedom
    freedom = total**2 / weight if weight > 0 else sum(max(1, rounds - 1) for rounds, _, _ in sides)
    return _Spread(math.sqrt(total), max(1, int(freedom)))


def _hull(estimate: float, means: NDArray[np.float64] | None, error: _Spread, confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    if math.isinf(error.sigma):
        return Interval(estimate=estimate, low=-math.inf, high=math.inf)
    # few different numbers, so that the quantiles are known already
    reach = t_quantile(1 - tail, min(error.freedom, _MOST_FREEDOM)) * error.sigma
    low, high = estimate - reach, estimate + reach
    if means is not None:
        lower, upper = np.quantile(means, (tail, 1 - tail))
        low, high = min(low, float(lower)), max(high, float(upper))
    return Interval(estimate=estimate, low=low, high=high)


def _bootstrap_means(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    chance = np.random.default_rng(seed)
    drawn = chance.integers(0, values.size, size=(RESAMPLES, values.size))
    means: NDArray[np.float64] = values[drawn].mean(axis=1)
    return means


def pooled_noise(logs: NDArray[np.float64]) -> Noise | None:
    """Return how much times vary beside what differs between kernels and between rounds.

    From one round to a neighbouring one, each kernel's logarithm changes by what the round changes, which is
    the median over the kernels, and by noise. The median absolute value of the latter gives the standard
    deviation, so that a few disturbed times do not count.

    :param logs: one row per kernel, one column per round; NaN where a kernel did not run.
    :returns: ``None`` if there are not at least two kernels with two rounds in common.
    """
    changes: list[NDArray[np.float64]] = []
    rounds = logs.shape[1]
    for first, second in ((one, one + step) for step in (1, 2) for one in range(rounds - step)):
        change = logs[:, second] - logs[:, first]
        change = change[np.isfinite(change)]
        if change.size >= 2:
            # removing the median takes one degree of freedom away
            changes.append((change - np.median(change)) * math.sqrt(change.size / (change.size - 1)))
    if not changes:
        return None
    seen = np.isfinite(logs)
    rows = np.count_nonzero(seen, axis=1) >= 2
    freedom = int(seen[rows].sum()) - int(rows.sum()) - int(seen[rows].any(axis=0).sum()) + 1
    middle = float(np.median(np.abs(np.concatenate(changes))))
    return Noise(sigma=1.4826 * middle / math.sqrt(2), freedom=max(1, freedom))
