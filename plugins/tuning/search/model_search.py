"""The default strategy: what is measured next is what is expected to gain most per second.

Predictions of the time model, corrected by all measurements, say what each kernel may gain on each problem.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ckprof_plugins.tuning.search.budget import SLICE_S, everything_built, kernels_to_build
from ckprof_plugins.tuning.search.observations import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof_plugins.tuning.search.acquisition import Posterior
    from ckprof_plugins.tuning.search.observations import Observations
    from ckprof_plugins.tuning.search.strategy import SearchRequest
    from ckprof_plugins.tuning.search.surrogate import Array


#: a batch ends where the next kernel gains less than this share of the first one per second
_WORTH: Final = 0.35
#: a problem on which nothing was measured gains this much by its first measurement, as a logarithm
_FIRST: Final = 0.5
#: a further round of kernels joins a build if building one later would take this many times as long
_AHEAD: Final = 3.0
#: measurements of one problem in a batch, where kernels are compiled in parallel
_MOST_OF_PROBLEM: Final = 3


#: pairs that are chosen together, of one kernel to be built or of built kernels: problems, places, expected
#: improvement of all of them, weighted, and the same per second
_Group: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], float, float]"


def best_batch(
    posterior: Posterior,
    weights: Array,
    observations: Observations,
    *,
    worth: float,
    least: float,
    least_s: float = 0.0,
) -> list[Pair]:
    """Return the pairs of the next batch.

    Kernels are added one by one: always the one whose building, with the measurements on all problems on
    which that is worth it, gains most per second. Draws are joint over kernels, so that of two kernels that
    are similar the second gains little once the first is in the batch. A problem gets one measurement: the
    next one is chosen better after it; more only with kernels that are compiled in parallel anyway.

    Then further kernels are built ahead, of which some improvement is expected: in a build that begins,
    as long as a further round of kernels takes little of the time that a later build of them would; and where
    kernels are measured while others are built, by compilers that would be idle meanwhile.

    :param weights: problem -> what its relative improvement is worth.
    :param worth: expected improvement by a kernel for which it is built ahead.
    :param least: an improvement below this does not count, as a logarithm.
    :param least_s: extend the batch to this many seconds, even with smaller gains.
    """
    batch = _Batch(posterior, weights, observations, least)
    first = 0.0
    while (group := batch.best()) is not None:
        problems, places, _, rate = group
        if rate < _WORTH * first and batch.seconds >= least_s:
            break
        first = first or rate
        batch.add(problems, places)
    if batch.count or (observations.overlaps and batch.pairs):
        batch.open_all()
        while batch.adds_cheaply() and (group := batch.best()) is not None and group[2] >= worth:
            batch.add(*group[:2])
    return batch.pairs


class _Batch:
    """A batch that grows."""

    def __init__(
        self, posterior: Posterior, weights: Array, observations: Observations, least: float
    ) -> None:
        self._choices, self._draws, self._pending = posterior.choices, posterior.draws, posterior.pending
        self._weights, self._least, self._costs = weights, least, observations.costs
        draws = np.where(np.isfinite(posterior.draws), posterior.draws, -np.inf)
        slowest = draws.max(axis=(0, 2), initial=-np.inf) + _FIRST
        best = observations.best_log_us
        coming = np.where(posterior.pending[None], posterior.draws, np.inf).min(axis=2, initial=np.inf)
        #: draws x problems -> logarithm of the time when all that is pending is measured; where nothing was
        #: measured, it is worse than all choices
        self._now: Array = np.minimum(np.where(np.isfinite(best), best, slowest)[None], coming)
        self._built = observations.built.copy()
        self._kernel_of = observations.space.kernel_of[self._choices]
        self._gains = self._expected_gains()
        self._most = min(self._costs.build_round, _MOST_OF_PROBLEM)
        self._taken = np.zeros(len(self._choices), dtype=np.int64)
        self.pairs: list[Pair] = []
        self.seconds = 0.0
        #: kernels to be built
        self.count = 0

    def best(self) -> _Group | None:
        """Return what gains most per second; nothing if nothing gains anything."""
        gains = np.where((self._taken >= self._most)[:, None], 0.0, self._gains)
        kernel_s = self._costs.further_s(self.count)
        return _best_group(gains, self._kernel_of, self._built, kernel_s, self._costs.visit_s)

    def add(self, problems: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Take pairs into the batch."""
        kernels = np.unique(self._kernel_of[problems, places])
        added = int((~self._built[kernels]).sum())
        self.seconds += self._costs.further_s(self.count) * added
        self.seconds += self._costs.visit_s * len(problems)
        self.count += added
        self._built[kernels] = True
        self._taken[problems] += 1
        if self._most > 1:
            drawn = self._draws[:, problems, places]
            self._now[:, problems] = np.minimum(self._now[:, problems], drawn)
            self._gains = self._expected_gains()
        for problem, position in zip(problems.tolist(), places.tolist(), strict=True):
            self.pairs.append(Pair(problem, int(self._choices[problem, position])))

    def open_all(self) -> None:
        """From now on only kernels are added that are to be built, for problems with any number of pairs."""
        self._most = self._choices.shape[1] + 1
        self._pending = self._pending | self._built[self._kernel_of]
        self._gains = self._expected_gains()

    def adds_cheaply(self) -> bool:
        """Say whether a further round of kernels takes little more than building them later would."""
        costs = self._costs
        return self.count == 0 or _AHEAD * costs.further_s(self.count) <= costs.build_s(1)

    def _expected_gains(self) -> Array:
        """Return problems x places -> expected improvement, weighted."""
        saved = self._now[:, :, None] - self._draws
        counts = np.isfinite(saved) & (saved > self._least)
        gains: Array = np.where(counts, saved, 0.0).mean(axis=0) * self._weights[:, None]
        gains[self._pending] = 0.0
        return gains


def _best_group(
    gains: Array, kernel_of: NDArray[np.int64], built: NDArray[np.bool_], kernel_s: float, visit_s: float
) -> _Group | None:
    """Return the pairs that gain most per second: those of one kernel, or the best ones of built kernels."""
    problems, places = np.nonzero(gains > 0.0)
    if not len(problems):
        return None
    gain = gains[problems, places]
    kernels = kernel_of[problems, places]
    # built kernels cost no build: all of them are one group
    group = np.where(built[kernels], -1, kernels)
    # of a group, each problem takes its best place only
    # and of equal ones the kernel that comes first, as when one is selected without measuring
    order = np.lexsort((kernels, -np.round(gain, 9), problems, group))
    leading = np.ones(len(order), dtype=bool)
    leading[1:] = (group[order][1:] != group[order][:-1]) | (problems[order][1:] != problems[order][:-1])
    kept = order[leading]
    kept = kept[np.lexsort((-gain[kept], group[kept]))]
    starts = np.flatnonzero(np.r_[True, group[kept][1:] != group[kept][:-1]])
    sizes = np.diff(np.r_[starts, len(kept)])
    total = np.cumsum(gain[kept])
    total -= np.repeat(total[starts] - gain[kept][starts], sizes)
    number = np.arange(len(kept)) - np.repeat(starts, sizes) + 1
    rates = total / (np.where(group[kept] < 0, 0.0, kernel_s) + visit_s * number)
    end = int(rates.argmax())
    begin = int(starts[np.searchsorted(starts, end, side="right") - 1])
    chosen = kept[begin : end + 1]
    return problems[chosen], places[chosen], float(total[end]), float(rates[end])


#: where no more measurements of each problem are allowed, a trained model's order is followed, all problems
#: in turn: what so few teach is worth less than its next choice
_FEW: Final = 4
#: a kernel is built ahead if it is expected to improve some problem by this share of the tie
_AHEAD_SHARE: Final = 0.5


class ModelSearch:
    """Searches by expected gain per second.

    :param request: what is searched.
    """

    #: what is measured is chosen again when kernels are built: among all that are, by all that is known
    replans = True

    def __init__(self, request: SearchRequest) -> None:
        self._request = request

    def propose(self, observations: Observations) -> Sequence[Pair]:
        """Return the batch that gains most per second; nothing if every problem is settled."""
        started = time.perf_counter()
        forecaster = self._request.forecaster
        posterior = forecaster.posterior(observations)
        if not posterior.unsettled.any():
            # what ends a search is judged by all that is known
            posterior = forecaster.posterior(observations, thoroughly=True)
        worth = posterior.unsettled
        if not worth.any():
            return []
        most = observations.most_pairs
        # so few measurements are allowed that none is left for what is not promised
        few = most is not None and most <= _FEW * len(observations.space.problems)
        if self._request.model is not None and few:
            measured = (observations.measured | observations.pending).sum(axis=1)
            least = int(measured[worth].min())
            worth &= measured == least
            if least < _FEW:
                return _followed(observations, forecaster.predicted_log_us, worth)
        new: list[Pair] = []
        kernel_of, share, tie = observations.space.kernel_of, self._request.planning_share, self._request.tie
        least_s = (time.perf_counter() - started) / share if share > 0 else 0.0
        wanted = worth[None, :, None] | posterior.pending[None]
        if observations.left_s is not None and not few:
            means = forecaster.expected_log_us(observations)
            for kernel in kernels_to_build(observations, means):
                pairs = np.where(observations.open & (kernel_of == kernel)[None], means, np.inf)
                new.append(Pair(*map(int, np.unravel_index(pairs.argmin(), pairs.shape))))
            measured = everything_built(observations, means, builds=bool(new) or observations.building)
            if measured is not None:
                return [*measured, *new]
            least_s = SLICE_S
            wanted = wanted & observations.built[kernel_of[posterior.choices]][None]
        draws = np.where(wanted, posterior.draws, np.inf)
        weights = np.where(worth, _weights(observations, posterior.mean), 0.0)
        batch = best_batch(
            replace(posterior, draws=draws),
            weights,
            observations,
            worth=_AHEAD_SHARE * tie,
            least=float(np.log1p(tie)),
            least_s=least_s,
        )
        return [*batch, *new]


def _followed(observations: Observations, predicted: Array, problems: NDArray[np.bool_]) -> list[Pair]:
    """Return the choice of some problems that the time model prefers, as if there were no search.

    Of choices that do the same work, one is measured before others are. While kernels are built, problems
    wait whose choice is not built.
    """
    space, taken = observations.space, observations.measured | observations.pending
    works = [(space.kernels[kernel].traits, splits) for kernel, splits in space.choices]
    batch = []
    for problem in np.flatnonzero(problems).tolist():
        done = {works[choice] for choice in np.flatnonzero(taken[problem]).tolist()}
        left = np.flatnonzero(observations.possible[problem] & ~taken[problem])
        # equal predictions in the order of the kernels
        order = left[np.argsort(np.round(predicted[problem, left], 9), kind="stable")].tolist()
        choice = next((choice for choice in order if works[choice] not in done), order[0] if order else None)
        if choice is not None and observations.open[problem, choice]:
            batch.append(Pair(problem, choice))
    return batch


def _weights(observations: Observations, means: Array) -> Array:
    """Return what a relative improvement of each problem is worth: its time in the user's model.

    Problems that all occur once are equally important: no model is known.
    """
    space = observations.space
    if not space.weighted:
        return np.ones(len(space.problems))
    best = observations.best_log_us
    times = np.exp(np.where(np.isfinite(best), best, means.min(axis=1)))
    weights: Array = np.array(space.counts) * times
    weights /= weights.mean()
    return weights
