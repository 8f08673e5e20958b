"""How far predicted times are off, learned from all measurements: a Gaussian process over problems x kernels.

The logarithm of a measured time is the prediction plus an error that consists of

* a part that all times share, and one that all kernels share on a problem: neither tells kernels apart;
* a part of each kernel on all problems, alike for kernels that are alike;
* a part of each kernel that is alike on problems that are alike;
* a part of a single kernel on a single problem, which nothing predicts, and noise.

So what is measured on one problem corrects the predictions on others, and a kernel that was never built is
known from its kin. The scale of the errors is the one that makes the measurements most likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.tune.prior import Prior

    Array = NDArray[np.float64]
    Places = NDArray[np.int64]

#: standard deviations of the parts, relative; found by maximum likelihood on tables of three sweeps
_KIN: Final = 0.06
_OWN: Final = 0.025
_KIN_ON_LIKE: Final = 0.11
_OWN_ON_LIKE: Final = 0.03
_CELL: Final = 0.02
_PROBLEM: Final = 0.2
_COMMON: Final = 0.7
#: of a measured time
_NOISE: Final = 0.01
#: distances of features over which problems, and kernels, are alike
_PROBLEM_LENGTH: Final = 1.6
_CHOICE_LENGTH: Final = 1.9
#: factors of the scale that are tried
_SCALES: Final = (0.63, 0.8, 1.0, 1.26, 1.6)
#: fewer measurements say nothing about the scale
_FEW: Final = 8
#: measurements beyond this number that are far from the best of their problem are not taken into account
MOST: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Measured times: problem, choice, logarithm of microseconds."""

    problem: Places
    choice: Places
    log_us: Array

    def __len__(self) -> int:
        return len(self.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Some choices of each problem with the joint distribution of their times."""

    #: problems x places -> choice
    choices: Places
    #: problems x places -> the place is used
    used: NDArray[np.bool_]
    #: problems x places -> expected logarithm of microseconds
    mean: Array
    #: problems x places x places
    covariance: Array

    def draws(self, count: int, seed: int) -> Array:
        """Return draws x problems x places from the distribution; infinity where a place is not used."""
        values, vectors = np.linalg.eigh(self.covariance)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        normal = np.random.default_rng(seed).standard_normal((count, *self.mean.shape))
        found = self.mean + np.einsum("pij,spj->spi", roots, normal)
        return np.where(self.used, found, np.inf)


class Surrogate:
    """Predictions, corrected by measurements.

    :param prior: predictions without them.
    :param problem_features: problems x features.
    :param choice_features: choices x features.
    :param kernel_of: choice -> its kernel.
    """

    def __init__(
        self, prior: Prior, problem_features: Array, choice_features: Array, kernel_of: Places
    ) -> None:
        self._prior = prior
        self._choice_features = choice_features
        self._kernel_of = kernel_of
        self._like = _likeness(problem_features, problem_features, _PROBLEM_LENGTH)
        self._scale = prior.amplitude
        self._learned = 0
        self._known: Observations | None = None
        self._inverse_root: Array = np.zeros((0, 0))
        self._weights: Array = np.zeros(0)

    @property
    def typical_error(self) -> Array:
        """Standard deviation of each prediction without measurements, problems x choices."""
        parts = _KIN**2 + _OWN**2 + _KIN_ON_LIKE**2 + _OWN_ON_LIKE**2 + _CELL**2
        error: Array = (
            self._scale * parts**0.5 * self._prior.choice_scale[None] * self._prior.problem_scale[:, None]
        )
        return error

    def learn(self, seen: Observations) -> None:
        """Take measurements into account, in place of those of earlier calls."""
        if len(seen) == 0:
            self._known = None
            return
        seen = _thinned(seen)
        residual = seen.log_us - self._prior.log_us[seen.problem, seen.choice]
        shared, own = self._covariances(seen)
        # the scale changes little between batches; looking for it costs as much as everything else
        search = len(seen) >= _FEW and len(seen) >= 1.2 * self._learned
        best: tuple[float, float, Array] | None = None
        for factor in _SCALES if search else (1.0,):
            scale = self._scale * factor
            matrix = shared + scale**2 * own
            matrix[np.diag_indices(len(seen))] += _NOISE**2
            root = np.linalg.cholesky(matrix)
            inverse = np.linalg.inv(root)
            cost = 0.5 * float(np.sum((inverse @ residual) ** 2)) + float(np.log(np.diag(root)).sum())
            # a scale far from what predictions promise needs evidence
            cost += 0.5 * (np.log(scale / self._prior.amplitude) / np.log(3.0)) ** 2
            if best is None or cost < best[0]:
                best = cost, scale, inverse
        assert best is not None  # noqa: S101 - there is a factor
        if search:
            self._learned = len(seen)
        _, self._scale, self._inverse_root = best
        self._weights = self._inverse_root.T @ (self._inverse_root @ residual)
        self._known = seen

    def means(self) -> Array:
        """Return problems x choices -> expected logarithm of microseconds."""
        found: Array = self._prior.log_us.copy()
        seen = self._known
        if seen is None:
            return found
        square = self._scale**2
        scales = self._prior.choice_scale[seen.choice] * self._prior.problem_scale[seen.problem]
        alpha = square * self._weights * scales
        kin, own = self._kin(seen.choice, np.arange(len(self._kernel_of)))
        everywhere = alpha @ (_KIN**2 * kin + _OWN**2 * own)
        on_like = (self._like[: len(found), seen.problem] * alpha) @ (
            _KIN_ON_LIKE**2 * kin + _OWN_ON_LIKE**2 * own
        )
        scale = self._prior.choice_scale[None] * self._prior.problem_scale[: len(found), None]
        offset = _COMMON**2 * self._weights.sum() + _PROBLEM**2 * np.bincount(
            seen.problem, self._weights, minlength=len(found)
        )
        found += scale * (everywhere[None] + on_like) + offset[:, None]
        return found

    def shortlist(self, wanted: NDArray[np.bool_], length: int, problems: int) -> Shortlist:
        """Return the most promising choices of the first problems.

        :param wanted: problems x choices that may be taken.
        :param length: how many of each problem at most.
        :param problems: how many problems.
        """
        means = self.means()[:problems]
        hopes = np.where(wanted, means - 0.7 * self.typical_error[:problems], np.inf)
        length = min(length, hopes.shape[1])
        choices = np.argsort(hopes, axis=1, kind="stable")[:, :length]
        used = np.isfinite(np.take_along_axis(hopes, choices, axis=1))
        mean = np.take_along_axis(means, choices, axis=1)
        return Shortlist(choices=choices, used=used, mean=mean, covariance=self._joint(choices))

    def _joint(self, choices: Places) -> Array:
        """Return the covariances among the listed choices of each problem."""
        count, length = choices.shape
        flat, kinds = np.unique(choices, return_inverse=True)
        kinds = kinds.reshape(choices.shape)
        kin, own = self._kin(flat, flat)
        both = (_KIN**2 + _KIN_ON_LIKE**2) * kin + (_OWN**2 + _OWN_ON_LIKE**2) * own
        scale = self._prior.choice_scale[choices] * self._prior.problem_scale[:count, None]
        prior = both[kinds[:, :, None], kinds[:, None, :]] + _CELL**2 * np.eye(length)
        prior = self._scale**2 * prior * scale[:, :, None] * scale[:, None, :] + _PROBLEM**2 + _COMMON**2
        seen = self._known
        if seen is None:
            return prior
        kin, own = self._kin(seen.choice, flat)
        everywhere = (_KIN**2 * kin + _OWN**2 * own)[:, kinds]
        on_like = (_KIN_ON_LIKE**2 * kin + _OWN_ON_LIKE**2 * own)[:, kinds]
        cross = everywhere + self._like[seen.problem, :count, None] * on_like
        seen_scale = self._prior.choice_scale[seen.choice] * self._prior.problem_scale[seen.problem]
        cross *= self._scale**2 * seen_scale[:, None, None] * scale[None]
        same = seen.problem[:, None] == np.arange(count)[None]
        cross += _COMMON**2 + _PROBLEM**2 * same[:, :, None]
        explained = (self._inverse_root @ cross.reshape(len(seen), -1)).reshape(len(seen), count, length)
        by_problem = explained.transpose(1, 2, 0)
        joint: Array = prior - by_problem @ by_problem.transpose(0, 2, 1)
        return joint

    def _covariances(self, seen: Observations) -> tuple[Array, Array]:
        """Return the covariances of measurements: what the scale of errors leaves, and what it changes."""
        kin, own = self._kin(seen.choice, seen.choice)
        like = self._like[np.ix_(seen.problem, seen.problem)]
        same = seen.problem[:, None] == seen.problem[None]
        cell = same & (seen.choice[:, None] == seen.choice[None])
        parts = (_KIN**2 + _KIN_ON_LIKE**2 * like) * kin + (_OWN**2 + _OWN_ON_LIKE**2 * like) * own
        scale = self._prior.choice_scale[seen.choice] * self._prior.problem_scale[seen.problem]
        return _COMMON**2 + _PROBLEM**2 * same, (parts + _CELL**2 * cell) * scale[:, None] * scale[None]

    def _kin(self, rows: Places, columns: Places) -> tuple[Array, Array]:
        """Return how alike two choices are, and whether they are the same kernel."""
        features = self._choice_features
        row_kinds, row_places = np.unique(rows, return_inverse=True)
        kin = _likeness(features[row_kinds], features[columns], _CHOICE_LENGTH)[row_places]
        own = self._kernel_of[rows][:, None] == self._kernel_of[columns][None]
        return kin, own.astype(np.float64)


def _likeness(rows: Array, columns: Array, length: float) -> Array:
    """Return exp(-distance^2 / 2) for each pair of feature vectors."""
    squares = (rows**2).sum(1)[:, None] + (columns**2).sum(1)[None] - 2.0 * rows @ columns.T
    likeness: Array = np.exp(np.maximum(squares, 0.0) / (-2.0 * length**2))
    return likeness


def _thinned(seen: Observations) -> Observations:
    """Drop measurements that are far from the best of their problem, if there are too many."""
    if len(seen) <= MOST:
        return seen
    best = np.full(int(seen.problem.max()) + 1, np.inf)
    np.minimum.at(best, seen.problem, seen.log_us)
    kept = np.sort(np.argsort(seen.log_us - best[seen.problem], kind="stable")[:MOST])
    return Observations(problem=seen.problem[kept], choice=seen.choice[kept], log_us=seen.log_us[kept])
