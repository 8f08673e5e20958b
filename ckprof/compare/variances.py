"""The variances of rows with little data, from those of all rows: empirical Bayes.

A row of three rounds hardly knows its own variance, and rows differ: a machine that disturbs most kernels may
leave some alone. So the distribution of the variances is estimated, without assuming its shape, by maximum
likelihood on a grid (Kiefer and Wolfowitz, 1956; Koenker and Mizera, 2014), and each row gets the posterior
distribution of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Errors:
    """Distributions of the errors of rows: mixtures of normal ones around 0."""

    #: of each of :data:`_VARIANCES`: (rows, variances)
    weights: Array
    #: a variance that each row has besides: (rows,)
    extra: Array

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
        return replace(self, extra=self.extra + variances)

    def contaminated(self, shares: Array, sigma: float) -> Errors:
        """Return the errors where that share of each row's is larger by a normally distributed one."""
        larger = np.zeros_like(self.weights)
        for place, target in enumerate(_places(_VARIANCES + sigma**2).tolist()):
            larger[:, target] += self.weights[:, place]
        return replace(self, weights=self.weights * (1 - shares[:, None]) + larger * shares[:, None])

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
