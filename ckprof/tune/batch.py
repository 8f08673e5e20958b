"""The batch of kernels whose building and measuring is expected to gain most per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.tune.space import Cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.surrogate import Array

#: a batch ends where the next kernel gains less than this share of the first one per second
_WORTH: Final = 0.35
#: a problem on which nothing was measured gains this much by its first measurement, as a logarithm
_FIRST: Final = 0.5
#: a further round of kernels joins a build if one later would take so many times as long
_AHEAD: Final = 3.0
#: measurements of one problem in a batch, where kernels are compiled beside others
_MOST_OF_PROBLEM: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What may go into a batch."""

    #: problems x places -> choice
    choices: NDArray[np.int64]
    #: draws x problems x places -> logarithm of microseconds
    draws: Array
    #: problem -> what its relative improvement is worth
    weights: Array
    #: expected improvement by a kernel for which it is built ahead
    worth: float
    #: problems x places -> it is going to be measured anyway
    pending: NDArray[np.bool_]


@dataclass(slots=True)
class _Group:
    """Cells that are chosen together: one kernel to be built, or kernels that are."""

    problems: NDArray[np.int64]
    places: NDArray[np.int64]
    #: expected improvement of all of them, weighted
    gain: float
    #: the same per second
    rate: float


def best_batch(offer: Offer, knowledge: Knowledge, *, least_s: float = 0.0) -> list[Cell]:
    """Return the cells of the next batch.

    Kernels are added one by one: always the one whose building, with the measurements on all problems on
    which that is worth it, gains most per second. Draws are joint over kernels, so that of two kernels that
    are alike the second gains little once the first is in the batch. A problem gets one measurement, because
    the next one is chosen better after that; more only with kernels that are compiled beside others anyhow.

    :param least_s: go on to this many seconds, even with less worth it.
    """
    now = _present(offer, knowledge)
    built = knowledge.built.copy()
    kernel_of = knowledge.space.kernel_of[offer.choices]
    costs, builds = knowledge.costs, knowledge.costs.builds
    gains = _gains(offer, now)
    most = min(builds.round, _MOST_OF_PROBLEM)
    taken = np.zeros(len(offer.choices), dtype=np.int64)
    batch: list[Cell] = []
    first, seconds, count = 0.0, 0.0, 0
    later_s = builds.seconds(1)
    while True:
        gains[taken >= most] = 0.0
        kernel_s = builds.further_s(count)
        group = _best_group(gains, kernel_of, built, kernel_s, costs.visit_s)
        if group is None:
            return batch
        ahead = 0 < count and _AHEAD * kernel_s <= later_s and group.gain >= offer.worth
        if group.rate < _WORTH * first and seconds >= least_s and not ahead:
            return batch
        first = first or group.rate
        kernels = np.unique(kernel_of[group.problems, group.places])
        added = int((~built[kernels]).sum())
        count += added
        seconds += kernel_s * added + costs.visit_s * len(group.problems)
        built[kernels] = True
        taken[group.problems] += 1
        if most > 1:
            drawn = offer.draws[:, group.problems, group.places]
            now[:, group.problems] = np.minimum(now[:, group.problems], drawn)
            gains = _gains(offer, now)
        for problem, place in zip(group.problems.tolist(), group.places.tolist(), strict=True):
            batch.append(Cell(problem, int(offer.choices[problem, place])))


def _present(offer: Offer, knowledge: Knowledge) -> Array:
    """Return draws x problems -> logarithm of the time when all that is pending is measured.

    It is worse than all choices where nothing was measured.
    """
    draws = np.where(np.isfinite(offer.draws), offer.draws, -np.inf)
    slowest = draws.max(axis=(0, 2), initial=-np.inf) + _FIRST
    best = knowledge.best_log_us
    now = np.where(np.isfinite(best), best, slowest)
    coming = np.where(offer.pending[None], offer.draws, np.inf).min(axis=2, initial=np.inf)
    found: Array = np.minimum(now[None], coming)
    return found


def _gains(offer: Offer, now: Array) -> Array:
    """Return problems x places -> expected improvement, weighted."""
    saved = np.clip(now[:, :, None] - offer.draws, 0.0, None)
    gains: Array = np.where(np.isfinite(saved), saved, 0.0).mean(axis=0) * offer.weights[:, None]
    gains[offer.pending] = 0.0
    return gains


def _best_group(
    gains: Array,
    kernel_of: NDArray[np.int64],
    built: NDArray[np.bool_],
    kernel_s: float,
    visit_s: float,
) -> _Group | None:
    """Return the cells that gain most per second: those of one kernel, or the best ones of built kernels."""
    problems, places = np.nonzero(gains > 0.0)
    if not len(problems):
        return None
    gain = gains[problems, places]
    kernels = kernel_of[problems, places]
    # built kernels cost no build: all of them are one group
    group = np.where(built[kernels], -1, kernels)
    # of a group, each problem takes its best place only
    order = np.lexsort((-gain, problems, group))
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
    return _Group(problems=problems[chosen], places=places[chosen], gain=float(total[end]), rate=float(rates[end]))
