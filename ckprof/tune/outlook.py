"""What is still to be gained on each problem, by the corrected predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.tune.prior import choice_features, prior_of, problem_features
from ckprof.tune.space import SearchSpace
from ckprof.tune.surrogate import Observations, Surrogate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.strategy import SearchRequest
    from ckprof.tune.surrogate import Array, Shortlist

#: choices of a problem that are looked at closely, and draws of their times
LENGTH: Final = 16
DRAWS: Final = 64
#: earlier measurements of each problem that are taken into account, the best ones
_LESSONS: Final = 8
_MOST_LESSONS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """How sure the best of one problem is."""

    #: probability that an unmeasured choice is better by more than the tie
    better: float
    #: expected improvement by the best unmeasured choice, relative
    gain: float


class Forecaster:
    """Corrected predictions for a search space.

    :param request: what is searched, and what is known of the device.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        space = request.space
        self._count = len(space.problems)
        self._lessons, problems = _lessons(request)
        extended = SearchSpace(
            problems=problems, counts=(1,) * len(problems), kernels=space.kernels, choices=space.choices
        )
        prior = prior_of(extended, request.gemm_sizes, request.element_bytes, request.model, request.units)
        self.surrogate = Surrogate(
            prior,
            problem_features(problems, request.gemm_sizes),
            choice_features(space),
            space.kernel_of,
        )

    def shortlist(self, knowledge: Knowledge, length: int = LENGTH) -> Shortlist:
        """Return the most promising choices of each problem, after learning from all measurements.

        They are open, or pending: what is to come decides on what is worth adding to it.
        """
        self._learn(knowledge)
        return self.surrogate.shortlist(knowledge.open | knowledge.pending, length, self._count)

    def _learn(self, knowledge: Knowledge) -> None:
        problem, choice = np.nonzero(knowledge.measured)
        old = self._lessons
        self.surrogate.learn(
            Observations(
                problem=np.concatenate([problem, old.problem]),
                choice=np.concatenate([choice, old.choice]),
                log_us=np.concatenate([knowledge.log_us[problem, choice], old.log_us]),
            )
        )

    def expected_log_us(self, knowledge: Knowledge) -> Array:
        """Return problems x choices -> expected logarithm of microseconds, after learning from everything."""
        self._learn(knowledge)
        return self.surrogate.means()[: self._count]

    def certainty(self, knowledge: Knowledge, tie: float) -> list[Certainty]:
        """Return how sure the best of each problem is; nothing is sure where nothing was measured."""
        draws = self.shortlist(knowledge, 2 * LENGTH).draws(4 * DRAWS, self._request.seed)
        return certainty_of(draws, knowledge.best_log_us, tie)

    def least_lead(self, knowledge: Knowledge) -> Array:
        """Return kernel -> how much slower than the best it is expected to be, at its best, as a logarithm.

        Infinity for a kernel that has no open choice on a problem that was measured.
        """
        means = self.expected_log_us(knowledge)
        lead = means - knowledge.best_log_us[:, None]
        lead = np.where(knowledge.open & np.isfinite(lead), lead, np.inf).min(axis=0, initial=np.inf)
        found = np.full(len(knowledge.space.kernels), np.inf)
        np.minimum.at(found, knowledge.space.kernel_of, lead)
        return found


def certainty_of(draws: Array, best: Array, tie: float) -> list[Certainty]:
    """Return how sure the best of each problem is, from draws of the times of open choices.

    :param draws: draws x problems x choices.
    :param best: logarithm of the best time of each problem, or draws of it; infinity without one.
    """
    least = draws.min(axis=2, initial=np.inf)
    with np.errstate(invalid="ignore"):
        saved = np.where(np.isfinite(best), best - least, np.inf)
    # where nothing is open, nothing can be better
    saved = np.where(np.isfinite(least), saved, -np.inf)
    better = (saved > np.log1p(tie)).mean(axis=0)
    gain = (1.0 - np.exp(-np.maximum(saved, 0.0))).mean(axis=0)
    return [Certainty(better=float(a), gain=float(b)) for a, b in zip(better, gain, strict=True)]


def _lessons(request: SearchRequest) -> tuple[Observations, tuple[Problem, ...]]:
    """Return earlier measurements of the kernels, and all problems: those of the space come first."""
    space, table = request.space, request.lessons
    problems = dict.fromkeys(space.problems)
    rows: list[tuple[int, int, float]] = []
    if table is not None:
        place = {(space.kernels[one.kernel].name, one.splits): i for i, one in enumerate(space.choices)}
        per_problem = min(_LESSONS, max(2, _MOST_LESSONS // max(1, len(table.problems))))
        numbers = {problem: number for number, problem in enumerate(space.problems)}
        for index, problem in enumerate(table.problems):
            times = {place[one]: us for one, us in table.of_problem(index).items() if one in place}
            if problem in numbers or not times:
                continue
            number = len(problems)
            problems[problem] = None
            for choice in sorted(times, key=times.__getitem__)[:per_problem]:
                rows.append((number, choice, float(np.log(times[choice]))))
    columns: tuple[NDArray[np.float64], ...] = tuple(np.array(rows, dtype=np.float64).reshape(-1, 3).T)
    observed = Observations(
        problem=columns[0].astype(np.int64), choice=columns[1].astype(np.int64), log_us=columns[2]
    )
    return observed, tuple(problems)
