"""What the rounds and the processes of each row say of its change, and of the error of that.

The process is the unit of evidence: rounds of one process share the placement of its memory, the clocks and
the alignment of its code, and agree far better with one another than two processes do (Kalibera and Jones,
"Rigorous benchmarking in reasonable time", 2013). Times are logarithms of the medians of rounds.

A row of three rounds hardly knows its own variance, and rows differ: a machine that disturbs most kernels may
leave some alone. So the distribution of the variances is estimated, without assuming its shape, by maximum
likelihood on a grid (Kiefer and Wolfowitz, 1956; Koenker and Mizera, 2014), and each row gets the posterior
distribution of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from ckprof.compare.options import ChangePolicy

    Array: TypeAlias = NDArray[np.float64]


#: processes from which on they are summed up like rounds: fewer are needed to know their own variance
_MANY_PROCESSES: Final = 8


#: a round was disturbed if it is above the median by this many times what the lower half lies below it
_DISTURBED: Final = 5.0
#: fewer values do not show which of them are disturbed
_ENOUGH: Final = 4
#: variance of the location of few values of variance 1, and of more of them times their number
_WEIGHTS: Final = {1: 1.0, 2: 1.0, 3: 0.45}
_WEIGHT: Final = 1.1


def location(times: Sequence[float]) -> float:
    """Return where the times of some rounds are, whatever disturbed a few of them.

    What disturbs a round makes it slower. So of two the faster one counts, of three the middle one, and of
    more the mean of those that are not far above the others: with normally distributed times that is as sure
    as the mean but for a few percent, and disturbed rounds do not matter.
    """
    if len(times) < _ENOUGH:
        return sorted(times)[(len(times) - 1) // 2]
    return fmean(_undisturbed(times))


def _undisturbed(times: Sequence[float]) -> list[float]:
    ordered = sorted(times)
    middle = median(ordered)
    # the mean of equal times can be rounded above them
    below = max(0.0, middle - fmean(ordered[: len(ordered) // 2]))
    return [time for time in ordered if time <= middle + _DISTURBED * below]


def _variance(values: Sequence[float]) -> float:
    """Return the variance; that of the standard library is exact, and twenty times slower."""
    middle = fmean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def middle_of(locations: Sequence[float]) -> float:
    """Return where the locations of some processes are."""
    return location(locations) if len(locations) >= _MANY_PROCESSES else fmean(locations)


def variation_of_rounds(times: Sequence[float]) -> tuple[float, float, float]:
    """Return what the rounds of one process say of how much they vary.

    :returns: the variance of their location, relative to that of one of them; an unbiased estimate of the
        latter, 0 without degrees of freedom; and these.
    """
    kept = _undisturbed(times) if len(times) >= _ENOUGH else times
    # what lies far out is left out also where nothing disturbed it: a tenth of the degrees of freedom
    freedom = (len(kept) - 1) * (0.9 if len(times) >= _ENOUGH else 1.0) if len(times) > 2 else 0.0
    return _WEIGHTS.get(len(times), _WEIGHT / len(kept)), _variance(kept) if freedom else 0.0, freedom


def variation_of_processes(locations: Sequence[float]) -> tuple[float, float, float]:
    """Return what the locations of some processes say, as :func:`variation_of_rounds` does."""
    count = len(locations)
    if count >= _MANY_PROCESSES:
        return variation_of_rounds(locations)
    return 1 / count, _variance(locations) if count > 1 else 0.0, count - 1.0


# Not slotted: what the sides say is computed once and kept.
@dataclass(frozen=True, kw_only=True)
class RowTimes:
    """The rounds of one kernel on one problem, on both sides: process -> logarithms of its rounds' times."""

    old: Mapping[str, Sequence[float]]
    new: Mapping[str, Sequence[float]]
    #: rows of one problem share operands, and thereby what their placement does to times
    problem: Hashable = None
    #: processes of the same name ran beside each other: their difference is free of what moved both
    paired: bool = False

    @property
    def single(self) -> bool:
        """Whether each side has one process: what varies are its rounds."""
        return not self.paired and len(self.old) == len(self.new) == 1

    @cached_property
    def sides(self) -> tuple[Sequence[float], ...]:
        """What varies, of the old and the new side: the rounds of the one process, or the processes.

        Where processes ran beside each other, the differences of both sides alone.
        """
        if self.single:
            return tuple(rounds for side in (self.old, self.new) for rounds in side.values())
        if self.paired:
            shared = [process for process in self.old if process in self.new]
            return ([location(self.new[one]) - location(self.old[one]) for one in shared],)
        return tuple([*map(location, side.values())] for side in (self.old, self.new))

    @property
    def log_ratio(self) -> float:
        """By how much the new side differs from the old one."""
        where = [*map(location if self.single else middle_of, self.sides)]
        return where[-1] - (0.0 if self.paired else where[0])

    @property
    def variations(self) -> tuple[tuple[float, float, float], ...]:
        """How much each of :attr:`sides` varies."""
        return tuple(map(variation_of_rounds if self.single else variation_of_processes, self.sides))

    @property
    def processes(self) -> int:
        """Smallest number of processes of a side."""
        return min(len(self.old), len(self.new))

    @property
    def rounds(self) -> int:
        """Smallest number of rounds of a side."""
        return min(sum(map(len, side.values())) for side in (self.old, self.new))

    @property
    def disturbed(self) -> tuple[float, ...]:
        """Shares of errors of both sides that a disturbed round makes, unseen by the variance."""
        return tuple(map(_disturbed, self.sides)) if self.single else (0.0, 0.0)


#: standard deviations that a value may have, as logarithms of ratios of times
SIGMAS: Final = np.geomspace(0.0005, 0.6, 24)

#: rows from which on they say something of all
ENOUGH_ROWS: Final = 10
#: median of the absolute value of a standard normal variable
MEDIAN_ABSOLUTE: Final = 0.6745
#: rows that the expected standard deviation counts as, and the standard deviation of its logarithm
_PRIOR_ROWS: Final = 4.0
_PRIOR_SPREAD: Final = 0.7

_ITERATIONS: Final = 100


def posteriors(squares: Array, freedom: Array, counts: Array, assumed: float) -> Array:
    """Return the probabilities of :data:`SIGMAS` for each of some rows: (rows, sigmas).

    :param squares: unbiased estimates of the rows' variances.
    :param freedom: their degrees of freedom; 0 for rows that say nothing.
    :param counts: how much each row counts: rows that share what disturbs them are no independent ones.
    :param assumed: standard deviation where no row says anything.
    """
    # of the chi-square distribution, without what does not depend on sigma; few agree better than the grid
    least = np.maximum(squares, SIGMAS[0] ** 2)[:, None]
    logs = -freedom[:, None] * (np.log(SIGMAS) + least / (2 * SIGMAS**2))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    telling = freedom > 0
    if telling.sum() >= ENOUGH_ROWS:
        assumed = float(np.sqrt(np.median(np.maximum(squares[telling], SIGMAS[0] ** 2))))
    prior = np.exp(-(np.log(SIGMAS / assumed) ** 2) / (2 * _PRIOR_SPREAD**2))
    prior *= _PRIOR_ROWS / prior.sum()
    weights = prior / prior.sum()
    for _ in range(_ITERATIONS):
        shares = likelihood[telling] * weights
        weights = counts[telling] @ (shares / shares.sum(axis=1, keepdims=True)) + prior
        weights /= weights.sum()
    result: Array = likelihood * weights
    result /= result.sum(axis=1, keepdims=True)
    return result


#: logarithms of normal tail probabilities
_Z: Final = np.linspace(-9.0, 37.0, 4601)
_Z_STEPS: Final = (len(_Z) - 1) / (_Z[-1] - _Z[0])
_LOG_TAIL: Final = np.log([0.5 * math.erfc(z / math.sqrt(2)) for z in _Z.tolist()])
_RISE: Final = np.append(np.diff(_LOG_TAIL), 0.0)


def _normal_tail(values: Array) -> Array:
    """Return the probabilities that a standard normal variable exceeds some values.

    Interpolated between points that are equally far apart, so that none of them has to be looked for.
    """
    steps = np.clip((values - _Z[0]) * _Z_STEPS, 0.0, len(_Z) - 1)
    below = steps.astype(np.intp)
    result: Array = np.exp(_LOG_TAIL[below] + (steps - below) * _RISE[below])
    return result


#: rows that are looked at at once, which bounds the memory
_BLOCK: Final = 4096

#: variances of a change, to which sums of two sides' variances are rounded
_VARIANCES: Final = np.geomspace(1e-8, 4.0, 60)
_STEP: Final = math.log(_VARIANCES[1] / _VARIANCES[0])


def _places(variances: Array) -> NDArray[np.int64]:
    """Return the places in :data:`_VARIANCES` of the next larger ones."""
    steps = np.log(np.maximum(variances, _VARIANCES[0]) / _VARIANCES[0]) / _STEP
    result: NDArray[np.int64] = np.minimum(np.ceil(steps - 1e-9), len(_VARIANCES) - 1).astype(np.int64)
    return result


class Errors:
    """Distributions of the errors of rows: mixtures of normal ones around 0.

    :param weights: of each of :data:`_VARIANCES`: (rows, variances).
    :param extra: a variance that each row has besides: (rows,).
    """

    def __init__(self, weights: Array, extra: Array) -> None:
        self.weights, self.extra = weights, extra

    @classmethod
    def mixture(cls, weights: Array, variances: Array) -> Errors:
        """Return mixtures.

        :param weights: (rows, components).
        :param variances: of each component of each row.
        """
        rows, count = len(weights), len(_VARIANCES)
        places = _places(variances) + count * np.arange(rows)[:, None]
        summed: Array = np.bincount(places.ravel(), weights.ravel(), rows * count).astype(np.float64)
        return cls(summed.reshape(rows, count), np.zeros(rows))

    def widened(self, variances: Array) -> Errors:
        """Return the errors with a further, normally distributed, one added to each row."""
        return Errors(self.weights, self.extra + variances)

    def contaminated(self, shares: Array, sigma: float) -> Errors:
        """Return the errors where that share of each row's is larger by a normally distributed one."""
        larger = np.zeros_like(self.weights)
        for place, target in enumerate(_places(_VARIANCES + sigma**2).tolist()):
            larger[:, target] += self.weights[:, place]
        return Errors(self.weights * (1 - shares[:, None]) + larger * shares[:, None], self.extra)

    @property
    def variance(self) -> Array:
        """Variance of each row's error."""
        result: Array = self.weights @ _VARIANCES + self.extra
        return result

    def tail(self, size: Array) -> Array:
        """Return the probability that a row's error exceeds a size."""
        result = np.empty(len(size))
        for start in range(0, len(size), _BLOCK):
            some = slice(start, start + _BLOCK)
            deviations = np.sqrt(_VARIANCES + self.extra[some, None])
            result[some] = (self.weights[some] * _normal_tail(size[some, None] / deviations)).sum(axis=1)
        return result

    def quantile(self, share: float) -> Array:
        """Return what a row's error exceeds with that probability, below one half."""
        # by Cantelli's inequality, no distribution with this variance reaches further
        low, high = np.zeros(len(self.weights)), np.sqrt(self.variance * (1 / share - 1))
        for _ in range(16):
            middle = (low + high) / 2
            beyond = self.tail(middle) > share
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return high


#: how often a round is disturbed: what a single round cannot show
_DISTURBED_SHARE: Final = 0.05
#: a side is this much noisier than the other at most, as a factor of standard deviations
_MOST_NOISIER: Final = 20.0
#: rows that must say so
_FEWEST_ROWS: Final = 3


def _disturbed(rounds: Sequence[float]) -> float:
    """Return how likely disturbed rounds are all that a process has: more than two would differ."""
    return float(_DISTURBED_SHARE ** len(rounds)) if len(rounds) < 3 else 0.0


def row_errors(rows: Sequence[RowTimes], policy: ChangePolicy) -> Errors:
    """Return what the rounds, or the processes, of each row say of its error.

    A row has one variance on both sides, but for a factor that all rows share: days are busy or quiet.
    """
    weights = np.zeros((len(rows), len(SIGMAS)))
    variances = np.zeros((len(rows), len(SIGMAS)))
    single = np.array([row.single for row in rows])
    paired = np.array([row.paired for row in rows])
    for group, assumed in (
        (single, policy.round_noise),
        (~single & ~paired, policy.process_noise),
        (paired, policy.process_noise),
    ):
        places = np.flatnonzero(group)
        if not len(places):
            continue
        found = np.array([rows[place].variations for place in places.tolist()])
        weight, squares, freedom = np.moveaxis(found, -1, 0)
        factors = _factors(squares, freedom)
        total = freedom.sum(axis=1)
        pooled = (freedom * squares / factors).sum(axis=1) / np.maximum(total, 1e-9)
        problems = [rows[place].problem for place in places.tolist()]
        weights[places] = posteriors(pooled, total, _independent(problems, pooled, total), assumed)
        variances[places] = (weight * factors).sum(axis=1)[:, None] * SIGMAS**2
    return Errors.mixture(weights, variances)


def _independent(problems: Sequence[Hashable], squares: Array, freedom: Array) -> Array:
    """Return how much each row counts: rows of a problem may share what disturbs them, and their variances.

    It is one over the design effect (Kish, 1965) of the correlation of the variances within problems.
    """
    numbers = {problem: number for number, problem in enumerate(dict.fromkeys(problems))}
    group = np.array([numbers[problem] for problem in problems])
    sizes = np.bincount(group).astype(float)
    telling = (freedom > 0) & (squares > 0)
    logs, of_logs = np.log(squares[telling]), group[telling]
    counts = np.bincount(of_logs, minlength=len(sizes))
    groups, count = int((counts > 0).sum()), len(logs)
    if groups < 2 or count <= groups:
        return np.ones(len(group)) if groups < 2 else 1 / sizes[group]
    means = np.bincount(of_logs, logs, len(sizes)) / np.maximum(counts, 1)
    within = float(((logs - means[of_logs]) ** 2).sum()) / (count - groups)
    between = float((counts * (means - logs.mean()) ** 2).sum()) / (groups - 1)
    mean_size = count / groups
    correlation = max(0.0, (between - within) / (between + (mean_size - 1) * within))
    result: Array = 1 / (1 + (sizes[group] - 1) * correlation)
    return result


def _factors(squares: Array, freedom: Array) -> Array:
    """Return what the variances of each side are, relative to those of the first: (sides,)."""
    if squares.shape[1] == 1:
        return np.ones(1)
    telling = squares[(freedom > 0).all(axis=1) & (squares > 0).all(axis=1)]
    if len(telling) < _FEWEST_ROWS:
        return np.ones(2)
    ratio = float(np.exp(np.median(np.log(telling[:, 1] / telling[:, 0]))))
    return np.array([1.0, min(max(ratio, _MOST_NOISIER**-2), _MOST_NOISIER**2)])
