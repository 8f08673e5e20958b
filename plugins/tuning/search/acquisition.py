"""What is still to be gained on each problem, by the corrected predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof_plugins.tuning.search.prior import choice_features, prior_of, problem_features
from ckprof_plugins.tuning.search.surrogate import FEW, LOG_TIMES, MOST, Surrogate, draws, log_times, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.search.observations import Observations
    from ckprof_plugins.tuning.search.strategy import SearchRequest
    from ckprof_plugins.tuning.search.surrogate import Array, LogTimes

#: choices of a problem that are looked at closely, and draws of their times
_LENGTH: Final = 32
_DRAWS: Final = 128
#: a problem is settled if an unmeasured choice is better by more than the tie with at most this probability
RISK: Final = 0.05
#: a choice is negligible if its predicted time, less this many standard deviations, is longer than the best
#: one: a chance of 1 in 100; of kernels that are kept, 1 in 1,000
_NEGLIGIBLE: Final = 2.33
_NEGLIGIBLE_KEPT: Final = 3.09
#: earlier measurements of each problem that are taken into account, the best ones
_TRANSFERRED: Final = 8
#: a trained model is judged again when the measurements have grown by this factor
_JUDGED: Final = 1.2
_MOST_TRANSFERRED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is still to be gained.

    One set of draws decides what is measured, whether a search is settled, and what is reported.
    """

    #: problems x places -> choice; the most promising ones that are open or going to be measured
    choices: NDArray[np.int64]
    #: problems x places -> expected logarithm of microseconds
    mean: Array
    #: draws x problems x places -> the same, drawn from the joint distribution; infinity if a place is unused
    draws: Array
    #: problems x places -> it is going to be measured anyway
    pending: NDArray[np.bool_]
    #: of each problem, once all that is pending is measured: probability, by the predictions, that an
    #: unmeasured choice is better by more than the tie
    promising: Array
    #: the same, by the surprises of blind measurements as well
    better: Array
    #: expected improvement by the best unmeasured choice, relative
    gain: Array

    @property
    def unsettled(self) -> NDArray[np.bool_]:
        """Problems on which predictions make something better too probable."""
        return self.promising > RISK

    @property
    def settled(self) -> bool:
        """Whether the promise holds, by predictions and blind measurements: 95 % of all problems have it."""
        return not self.unsettled.any() and float(self.better.mean()) <= RISK


class Forecaster:
    """Corrected predictions for a search space.

    :param request: what is searched, and what is known of the device.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        space = request.space
        self._count = len(space.problems)
        self._transfer_data, problems = _transfer_data(request)
        extended = replace(space, problems=problems, counts=(1,) * len(problems))
        sizes, element_bytes = request.gemm_sizes, request.element_bytes
        features = problem_features(problems, sizes), choice_features(space), space.kernel_of
        prior = prior_of(extended, sizes, element_bytes, request.model, request.compute_units)
        self.surrogate = self._informed = Surrogate(*prior, *features)
        #: what is believed instead when measurements say that the trained model is wrong; it knows no
        #: transfer data, which may be of the same mistake. ``None`` where no model was trained
        self._uninformed: Surrogate | None = None
        self._judged = 0
        self._surprise_of_transfer = 0.0
        if request.model is not None:
            prior = prior_of(extended, sizes, element_bytes, None, request.compute_units)
            self._uninformed = Surrogate(*prior, *features)
            self._informed.learn(self._transfer_data, thoroughly=True)
            self._surprise_of_transfer = self._informed.surprise

    def posterior(self, observations: Observations, *, thoroughly: bool = False) -> Posterior:
        """Return what is still to be gained, after learning from all measurements.

        :param thoroughly: look for the scale of errors again, even if little was measured since it was found.
        """
        self._learn(observations, thoroughly=thoroughly)
        wanted = observations.open | observations.pending
        choices, used, mean = self.surrogate.shortlist(wanted, _LENGTH, self._count)
        drawn = draws(mean, self.surrogate.covariance(choices), used, _DRAWS, self._request.seed)
        pending = np.take_along_axis(observations.pending, choices, axis=1) & used
        coming = np.where(pending[None], drawn, np.inf).min(axis=2, initial=np.inf)
        best = np.minimum(observations.best_log_us[None], coming)
        promising, gain = improvement(np.where(pending[None], np.inf, drawn), best, self._request.tie)
        better = 1.0 - (1.0 - promising) * (1.0 - observations.unforeseen(self._request.tie))
        return Posterior(
            choices=choices,
            mean=mean,
            draws=drawn,
            pending=pending,
            promising=promising,
            better=better,
            gain=gain,
        )

    @property
    def predicted_log_us(self) -> Array:
        """Problems x choices -> what the time model alone predicts, as logarithms of microseconds."""
        return self._informed.predicted_log_us[: self._count]

    def possible_gains(self, observations: Observations, kept: Sequence[int] = ()) -> Array:
        """Return how much faster than the best open choices of kernels that were tried may be.

        Problems x choices -> the logarithm of the ratio, at the fast end of the interval of the prediction.
        Choices that are negligible, not open, or of kernels that were never tried have minus infinity; where
        nothing was measured on a problem, the others have infinity.

        :param kept: kernels whose intervals are taken so wide that they cannot be overlooked.
        """
        tried = np.flatnonzero(observations.tried[observations.space.kernel_of])
        possible_gains = np.full(observations.space.shape, -np.inf)
        means = self.expected_log_us(observations)[:, tried]
        is_kept = np.isin(observations.space.kernel_of[tried], kept)
        reach = np.where(is_kept, _NEGLIGIBLE_KEPT, _NEGLIGIBLE)
        fast = means - reach * self.surrogate.errors(tried, self._count)
        ahead = observations.best_log_us[:, None] - fast
        possible_gains[:, tried] = np.where(observations.open[:, tried] & (ahead > 0.0), ahead, -np.inf)
        return possible_gains

    def _learn(self, observations: Observations, *, thoroughly: bool = False) -> None:
        """Learn from all measurements; the predictions that they speak for are believed."""
        problem, choice = np.nonzero(observations.measured)
        seen = log_times(problem, choice, observations.log_us[problem, choice])
        # as many of them for both, or they could not be compared
        seen = thinned(seen, MOST - len(self._transfer_data))
        other = self._uninformed
        if other is not None and len(seen) >= FEW and (thoroughly or len(seen) >= _JUDGED * self._judged):
            self._judged = len(seen)
            other.learn(seen, thoroughly=True)
            self._informed.learn(np.concatenate([seen, self._transfer_data]), thoroughly=True)
            # how unlikely the measurements are, given the transfer data: a Bayes factor
            right = self._informed.surprise - self._surprise_of_transfer <= other.surprise
            self.surrogate = self._informed if right else other
            return
        # what is not believed learns nothing until it is judged again
        if self.surrogate is self._informed:
            seen = np.concatenate([seen, self._transfer_data])
        self.surrogate.learn(seen, thoroughly=thoroughly)

    def expected_log_us(self, observations: Observations) -> Array:
        """Return problems x choices -> expected logarithm of microseconds, after learning from everything."""
        self._learn(observations)
        return self.surrogate.means()[: self._count]

    def least_lead(self, observations: Observations) -> Array:
        """Return kernel -> how much slower than the best it is expected to be, at its best, as a logarithm.

        Infinity for a kernel that has no open choice on a problem that was measured.
        """
        means = self.expected_log_us(observations)
        lead = means - observations.best_log_us[:, None]
        lead = np.where(observations.open & np.isfinite(lead), lead, np.inf).min(axis=0, initial=np.inf)
        least = np.full(len(observations.space.kernels), np.inf)
        np.minimum.at(least, observations.space.kernel_of, lead)
        return least


def improvement(draws: Array, best: Array, tie: float) -> tuple[Array, Array]:
    """Return the probability that each problem improves by more than a tie, and the expected improvement.

    :param draws: draws x problems x choices.
    :param best: logarithm of the best time of each problem, or draws of it; infinity without one.
    """
    least = draws.min(axis=2, initial=np.inf)
    with np.errstate(invalid="ignore"):
        saved = np.where(np.isfinite(best), best - least, np.inf)
    # where nothing is open, nothing can be better
    saved = np.where(np.isfinite(least), saved, -np.inf)
    return (saved > np.log1p(tie)).mean(axis=0), (1.0 - np.exp(-np.maximum(saved, 0.0))).mean(axis=0)


def _transfer_data(request: SearchRequest) -> tuple[LogTimes, tuple[Problem, ...]]:
    """Return earlier measurements of the kernels, and all problems: those of the space come first."""
    space, table = request.space, request.transfer_data
    problems = dict.fromkeys(space.problems)
    rows: list[tuple[int, int, float]] = []
    if table is not None:
        numbers_of = {
            (space.kernels[kernel].name, splits): i for i, (kernel, splits) in enumerate(space.choices)
        }
        per_problem = min(_TRANSFERRED, max(2, _MOST_TRANSFERRED // max(1, len(table.problems))))
        for problem, row in zip(table.problems, table.rows, strict=True):
            times = {numbers_of[entry]: us for entry, us in row.items() if entry in numbers_of}
            if problem in problems or not times:
                continue
            best = sorted(times, key=times.__getitem__)[:per_problem]
            rows += [(len(problems), choice, float(np.log(times[choice]))) for choice in best]
            problems[problem] = None
    return np.array(rows, LOG_TIMES), tuple(problems)
