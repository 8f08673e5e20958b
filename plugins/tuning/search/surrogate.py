"""How far predicted times are off, learned from all measurements: a Gaussian process over problems x kernels.

The logarithm of a measured time is the prediction plus an error that consists of

* a part that all times share, and one that all kernels share on a problem: neither distinguishes kernels;
* a share of the predicted differences between kernels: where the model knows nothing of the device, a fast
  kernel may be no faster than others;
* a part of each kernel on all problems, similar for similar kernels;
* a part of each kernel that is similar on similar problems;
* a part of a single kernel on a single problem, which nothing predicts, and noise.

So what is measured on one problem corrects the predictions on others, and a kernel that was never built is
known from similar kernels. The scale of the errors is the one that makes the measurements most likely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Places = NDArray[np.int64]
    #: an array of :data:`LOG_TIMES`
    LogTimes = NDArray[np.void]

#: standard deviations of the parts, relative; found by maximum likelihood on tables of three sweeps
_SIMILAR: Final = 0.06
_OWN: Final = 0.025
_SIMILAR_ON_LIKE: Final = 0.11
_OWN_ON_LIKE: Final = 0.03
_PAIR: Final = 0.02
_PROBLEM: Final = 0.2
_COMMON: Final = 0.7
#: how far the share of predicted differences that is true may be from 1, by the scale of all errors; that of
#: a trained model is 1
_TRUST: Final = 0.15
#: of a measured time
_NOISE: Final = 0.01
#: length scales of the features of problems, and of kernels
_PROBLEM_LENGTH: Final = 1.6
_CHOICE_LENGTH: Final = 1.9
#: multiples of the scale that a model promises which are tried, and of the errors that each kernel has alone
_SCALES: Final = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
_ROUGH: Final = (1.0, 2.5, 5.0)
#: of scales that make the measurements nearly as likely, the largest counts: by so much may log likelihoods
#: differ
_CAUTION: Final = 1.0
#: share of residuals that intervals are to hold, and the interval of a normal distribution that does
_INSIDE: Final = 0.9
_INSIDE_SIGMA: Final = 1.645
#: how much wider they are as long as there are too few residuals of a model that was not trained
_UNTESTED: Final = 3.0
#: fewer measurements say nothing about the scale
FEW: Final = 8
#: measurements that are taken into account
MOST: Final = 600


#: measured times: problem, choice, logarithm of microseconds
LOG_TIMES: Final = np.dtype([("problem", np.int64), ("choice", np.int64), ("log_us", np.float64)])


def log_times(problem: Places, choice: Places, log_us: Array) -> LogTimes:
    """Return measured times as rows of :data:`LOG_TIMES`."""
    rows = np.empty(len(problem), LOG_TIMES)
    rows["problem"], rows["choice"], rows["log_us"] = problem, choice, log_us
    return rows


def draws(mean: Array, covariance: Array, used: NDArray[np.bool_], count: int, seed: int) -> Array:
    """Return draws x problems x places from distributions; infinity where a place is not used."""
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    half = np.random.default_rng(seed).standard_normal((-(-count // 2), *mean.shape))
    # each with its opposite, so that the mean of the draws is that of the distribution
    normal = np.concatenate([half, -half])[:count]
    drawn = mean + np.einsum("pij,spj->spi", roots, normal)
    return np.where(used, drawn, np.inf)


class Surrogate:
    """Predictions, corrected by measurements.

    :param log_us: problems x choices -> predicted logarithm of microseconds.
    :param scales: problems x choices -> scale of its errors, 1 for what the model was trained on.
    :param amplitude: scale of all errors.
    :param problem_features: problems x features.
    :param choice_features: choices x features.
    :param kernel_of: choice -> its kernel.
    """

    def __init__(
        self,
        log_us: Array,
        scales: Array,
        amplitude: float,
        problem_features: Array,
        choice_features: Array,
        kernel_of: Places,
    ) -> None:
        #: problems x choices -> logarithm of microseconds, without measurements
        self.predicted_log_us = log_us
        self._scales, self._amplitude = scales, amplitude
        self._choice_features = choice_features
        self._kernel_of = kernel_of
        self._like = _likeness(problem_features, problem_features, _PROBLEM_LENGTH)
        #: problems x choices -> predicted difference to the usual choice
        self._lead = log_us - log_us.mean(axis=1, keepdims=True)
        self._scale = amplitude
        self._roughness = 1.0
        self._learned = 0
        self._doubt = 1.0
        #: how unlikely all measurements are, with the scale that makes them most likely; 0 for too few
        self.surprise = 0.0
        self._seen: LogTimes | None = None
        self._inverse_root: Array = np.zeros((0, 0))
        self._weights: Array = np.zeros(0)

    @property
    def typical_error(self) -> Array:
        """Standard deviation of each prediction without measurements, problems x choices."""
        own = self._roughness**2 * (_OWN**2 + _OWN_ON_LIKE**2 + _PAIR**2)
        parts = _SIMILAR**2 + _SIMILAR_ON_LIKE**2 + own
        error: Array = self._scale * np.sqrt(parts * self._scales**2 + (_TRUST * self._lead) ** 2)
        return error

    def learn(self, seen: LogTimes, *, thoroughly: bool = False) -> None:
        """Take measurements into account, in place of those of earlier calls.

        :param thoroughly: look for the scale of the errors, even if few measurements came since it was found.
        """
        if len(seen) == 0:
            self._seen = None
            return
        seen = thinned(seen, MOST)
        residual = seen["log_us"] - self.predicted_log_us[seen["problem"], seen["choice"]]
        shared, smooth, rough = self._covariances(seen)
        # the scale changes little between batches; looking for it costs as much as everything else
        if len(seen) >= FEW and (thoroughly or len(seen) >= 1.2 * self._learned):
            surprises = {
                (scale, roughness): self._surprise(
                    residual, shared + scale**2 * (smooth + roughness**2 * rough), scale
                )
                for scale in (self._amplitude * factor for factor in _SCALES)
                for roughness in _ROUGH
            }
            self.surprise = least = min(surprises.values())
            self._scale, self._roughness = max(
                pair for pair, surprise in surprises.items() if surprise <= least + _CAUTION
            )
            self._learned = len(seen)
        own = self._scale**2 * (smooth + self._roughness**2 * rough)
        inverse = np.linalg.inv(np.linalg.cholesky(_with_noise(shared + own)))
        self._weights, self._inverse_root = inverse.T @ (inverse @ residual), inverse
        self._seen = seen
        self._doubt = self._residual_doubt(seen)

    def _surprise(self, residual: Array, covariance: Array, scale: float) -> float:
        """Return how unlikely measurements are with a scale of errors."""
        root = np.linalg.cholesky(_with_noise(covariance))
        cost = 0.5 * float(np.sum(np.linalg.solve(root, residual) ** 2)) + float(np.log(np.diag(root)).sum())
        # a scale far from what predictions promise needs evidence
        return cost + 0.5 * float(np.log(scale / self._amplitude) / np.log(3.0)) ** 2

    def _residual_doubt(self, seen: LogTimes) -> float:
        """Return by how much intervals are too narrow, as measurements show that are left out one by one.

        Each is predicted from all others (Rasmussen and Williams, "Gaussian processes for machine learning",
        section 5.4.2). Of these residuals, as large a share lies inside of the widened intervals as if they
        were normal; it is counted as in conformal prediction, with one more residual outside.
        """
        several = np.bincount(seen["problem"])[seen["problem"]] > 1
        precision = (self._inverse_root**2).sum(axis=0)
        residuals = np.sort(np.abs(self._weights / np.sqrt(precision))[several])
        place = int(np.ceil(_INSIDE * (len(residuals) + 1))) - 1
        if place >= len(residuals):
            # a trained model has shown its errors before
            return _UNTESTED if self._amplitude > 1.0 else 1.0
        return max(1.0, float(residuals[place]) / _INSIDE_SIGMA)

    def means(self) -> Array:
        """Return problems x choices -> expected logarithm of microseconds."""
        means: Array = self.predicted_log_us.copy()
        seen = self._seen
        if seen is None:
            return means
        square = self._scale**2
        alpha = square * self._weights * self._scales[seen["problem"], seen["choice"]]
        everywhere, on_like = self._similarity(seen["choice"], np.arange(len(self._kernel_of)))
        everywhere = alpha @ everywhere
        on_like = (self._like[: len(means), seen["problem"]] * alpha) @ on_like
        offset = _COMMON**2 * self._weights.sum() + _PROBLEM**2 * np.bincount(
            seen["problem"], self._weights, minlength=len(means)
        )
        trust = square * _TRUST**2 * float(self._weights @ self._lead[seen["problem"], seen["choice"]])
        means += self._scales * (everywhere[None] + on_like) + offset[:, None] + trust * self._lead
        return means

    def shortlist(
        self, wanted: NDArray[np.bool_], length: int, problems: int
    ) -> tuple[Places, NDArray[np.bool_], Array]:
        """Return the most promising choices of the first problems.

        :param wanted: problems x choices that may be taken.
        :param length: how many of each problem at most.
        :param problems: how many problems.
        :returns: problems x places -> choice, whether the place is used, expected logarithm of microseconds.
        """
        means = self.means()[:problems]
        possible_gains = np.where(wanted, means - 0.7 * self.typical_error[:problems], np.inf)
        length = min(length, possible_gains.shape[1])
        choices = np.argsort(possible_gains, axis=1, kind="stable")[:, :length]
        used = np.isfinite(np.take_along_axis(possible_gains, choices, axis=1))
        return choices, used, np.take_along_axis(means, choices, axis=1)

    def errors(self, choices: Places, problems: int) -> Array:
        """Return problems x choices -> standard deviation of each prediction, by all measurements.

        :param choices: some positions, the same for every problem.
        :param problems: how many problems, the first ones.
        """
        rows = []
        for problem in range(problems):
            places = np.array([problem]), choices[None]
            variances: Array = self._unlearned(*places)[0].diagonal()
            if self._seen is not None:
                variances = variances - (self._explained(*places)[:, 0] ** 2).sum(axis=0)
            rows.append(variances)
        errors: Array = self._doubt * np.sqrt(np.maximum(np.array(rows).reshape(problems, -1), 0.0))
        return errors

    def covariance(self, choices: Places) -> Array:
        """Return problems x places x places -> covariance of some choices of the first problems."""
        problems = np.arange(len(choices))
        joint = self._unlearned(problems, choices)
        if self._seen is not None:
            by_problem = self._explained(problems, choices).transpose(1, 2, 0)
            joint = joint - by_problem @ by_problem.transpose(0, 2, 1)
        return self._doubt**2 * joint

    def _unlearned(self, problems: Places, choices: Places) -> Array:
        """Return problems x places x places -> covariance without measurements."""
        flat, kinds = np.unique(choices, return_inverse=True)
        kinds = kinds.reshape(choices.shape)
        everywhere, on_like = self._similarity(flat, flat)
        both = everywhere + on_like
        scale = self._scales[problems[:, None], choices]
        lead = _TRUST * self._lead[problems[:, None], choices]
        parts = both[kinds[:, :, None], kinds[:, None, :]] + (self._roughness * _PAIR) ** 2 * np.eye(
            choices.shape[1]
        )
        parts = parts * scale[:, :, None] * scale[:, None, :] + lead[:, :, None] * lead[:, None, :]
        unlearned: Array = self._scale**2 * parts + _PROBLEM**2 + _COMMON**2
        return unlearned

    def _explained(self, problems: Places, choices: Places) -> Array:
        """Return measurements x problems x places -> what is known of each choice, in standard deviations."""
        seen = self._seen
        assert seen is not None  # noqa: S101 - the callers look
        flat, kinds = np.unique(choices, return_inverse=True)
        kinds = kinds.reshape(choices.shape)
        scale = self._scales[problems[:, None], choices]
        everywhere, on_like = self._similarity(seen["choice"], flat)
        cross = everywhere[:, kinds] + self._like[seen["problem"]][:, problems, None] * on_like[:, kinds]
        cross *= self._scales[seen["problem"], seen["choice"]][:, None, None] * scale[None]
        lead = _TRUST**2 * self._lead[seen["problem"], seen["choice"]]
        cross += lead[:, None, None] * self._lead[problems[:, None], choices][None]
        same = seen["problem"][:, None] == problems[None]
        cross = self._scale**2 * cross + _COMMON**2 + _PROBLEM**2 * same[:, :, None]
        explained: Array = (self._inverse_root @ cross.reshape(len(seen), -1)).reshape(cross.shape)
        return explained

    def _covariances(self, seen: LogTimes) -> tuple[Array, Array, Array]:
        """Return the covariances of measurements: what the scale of errors leaves, and what it changes.

        The latter are what similar kernels share, and what belongs to each kernel alone.
        """
        similar, own = self._alike(seen["choice"], seen["choice"])
        like = self._like[np.ix_(seen["problem"], seen["problem"])]
        same = seen["problem"][:, None] == seen["problem"][None]
        pair = same & (seen["choice"][:, None] == seen["choice"][None])
        scale = self._scales[seen["problem"], seen["choice"]]
        scales = scale[:, None] * scale[None]
        lead = _TRUST * self._lead[seen["problem"], seen["choice"]]
        smooth = (_SIMILAR**2 + _SIMILAR_ON_LIKE**2 * like) * similar * scales + lead[:, None] * lead[None]
        rough = ((_OWN**2 + _OWN_ON_LIKE**2 * like) * own + _PAIR**2 * pair) * scales
        return _COMMON**2 + _PROBLEM**2 * same, smooth, rough

    def _similarity(self, rows: Places, columns: Places) -> tuple[Array, Array]:
        """Return what two choices share on all problems, and what they share on similar ones."""
        similar, own = self._alike(rows, columns)
        own *= self._roughness**2
        return _SIMILAR**2 * similar + _OWN**2 * own, _SIMILAR_ON_LIKE**2 * similar + _OWN_ON_LIKE**2 * own

    def _alike(self, rows: Places, columns: Places) -> tuple[Array, Array]:
        """Return how similar two choices are, and whether they are the same kernel."""
        features = self._choice_features
        row_kinds, row_places = np.unique(rows, return_inverse=True)
        similar = _likeness(features[row_kinds], features[columns], _CHOICE_LENGTH)[row_places]
        own = self._kernel_of[rows][:, None] == self._kernel_of[columns][None]
        return similar, own.astype(np.float64)


def _with_noise(covariance: Array) -> Array:
    return covariance + _NOISE**2 * np.eye(len(covariance))


def _likeness(rows: Array, columns: Array, length: float) -> Array:
    """Return exp(-distance^2 / 2) for each pair of feature vectors."""
    squares = (rows**2).sum(1)[:, None] + (columns**2).sum(1)[None] - 2.0 * rows @ columns.T
    likeness: Array = np.exp(np.maximum(squares, 0.0) / (-2.0 * length**2))
    return likeness


def thinned(seen: LogTimes, most: int) -> LogTimes:
    """Drop measurements, if there are more than that.

    Half of those that stay are the nearest to the best of their problem; the others are an even selection,
    since what is slow must be remembered, too.
    """
    if len(seen) <= most:
        return seen
    best = np.full(int(seen["problem"].max()) + 1, np.inf)
    np.minimum.at(best, seen["problem"], seen["log_us"])
    order = np.argsort(seen["log_us"] - best[seen["problem"]], kind="stable")
    near = most - most // 2
    rest = np.sort(order[near:])
    even = rest[np.linspace(0, len(rest) - 1, most // 2).astype(np.int64)]
    kept = np.sort(np.concatenate([order[:near], even]))
    kept_times: LogTimes = seen[kept]
    return kept_times
