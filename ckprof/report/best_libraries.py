"""The best libraries of a few kernels: how much time each size costs over having all kernels.

Choosing kernels so that the problems take least time together is the p-median problem. Small sizes are solved
exactly, by trying all combinations; larger ones greedily, one kernel after the other. What is saved is a
submodular function of the chosen kernels, so the best choice saves at most what the greedy one does plus the
largest savings that single further kernels would add: that bound is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: combinations that are tried at most
_COMBINATIONS: Final = 60_000
_AT_ONCE: Final = 2_000
#: a problem that no kernel of a library supports counts as this many times its slowest kernel
_UNSERVED: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLibrary:
    """The best library of a size that was found."""

    #: columns of the table
    kernels: tuple[int, ...]
    #: time of all problems with it, as a multiple of the time with all kernels
    slowdown: float
    #: no library of this size is better than this multiple; the same as ``slowdown`` if the choice is exact
    bound: float
    #: problems that no kernel of it supports
    unserved: int

    @property
    def exact(self) -> bool:
        """True if no library of this size is better."""
        return self.slowdown <= self.bound * (1 + 1e-12)


def best_libraries(times: Array, weights: Array, most: int) -> list[BestLibrary]:
    """Return the best libraries of 1, 2, ... kernels, until one is as good as all kernels together.

    :param times: problems x kernels; infinity where a kernel does not support a problem or was not measured.
        Each problem has a finite time.
    :param weights: what the relative time of each problem counts.
    :param most: kernels of the largest library.
    """
    best = times.min(axis=1)
    ratios = times / best[:, None]
    slowest = np.where(np.isfinite(ratios), ratios, 1.0).max()
    served = np.isfinite(ratios)
    # a kernel that is on every problem at most as good as another one is never needed
    costs = np.where(served, ratios, _UNSERVED * slowest) * (weights / weights.sum())[:, None]
    useful = _useful(costs)
    costs, served = costs[:, useful], served[:, useful]
    libraries: list[BestLibrary] = []
    greedy: list[int] = []
    for size in range(1, min(most, len(useful)) + 1):
        further = _with_each(costs, greedy)
        further[greedy] = np.inf
        greedy = [*greedy, int(further.argmin())]
        total, bound = _total(costs, greedy), _bound(costs, greedy)
        chosen = greedy
        if comb(len(useful), size) <= _COMBINATIONS:
            chosen = _exact(costs, size)
            total = bound = _total(costs, chosen)
        libraries.append(
            BestLibrary(
                kernels=tuple(useful[kernel] for kernel in chosen),
                slowdown=total,
                bound=max(1.0, min(bound, total)),
                unserved=int((~served[:, chosen].any(axis=1)).sum()),
            )
        )
        if total <= 1.0 + 1e-9:
            break
    return libraries


def _useful(costs: Array) -> list[int]:
    """Return the kernels that no other one dominates."""
    kept: list[int] = []
    for index in range(costs.shape[1]):
        column = costs[:, [index]]
        better: NDArray[np.bool_] = np.all(costs <= column, axis=0)
        equal: NDArray[np.bool_] = np.all(costs == column, axis=0)
        # of equal kernels the first stays
        if not (better & ~equal).any() and not equal[:index].any():
            kept.append(index)
    return kept


def _total(costs: Array, chosen: Sequence[int]) -> float:
    return float(costs[:, list(chosen)].min(axis=1).sum())


def _with_each(costs: Array, chosen: Sequence[int]) -> Array:
    """Return the totals with each further kernel."""
    now = costs[:, list(chosen)].min(axis=1) if chosen else np.full(len(costs), np.inf)
    totals: Array = np.minimum(now[:, None], costs).sum(axis=0)
    return totals


def _bound(costs: Array, chosen: Sequence[int]) -> float:
    """Return a total that no library of the same size is below."""
    now = _total(costs, chosen)
    savings = np.sort(now - _with_each(costs, chosen))[::-1][: len(chosen)]
    # nor is one below what all kernels together take
    return max(now - float(savings.sum()), float(costs.min(axis=1).sum()))


def _exact(costs: Array, size: int) -> list[int]:
    best: tuple[float, tuple[int, ...]] = (np.inf, ())
    every = combinations(range(costs.shape[1]), size)
    while tried := list(islice(every, _AT_ONCE)):
        totals = costs[:, np.array(tried)].min(axis=2).sum(axis=0)
        least = int(totals.argmin())
        best = min(best, (float(totals[least]), tried[least]))
    return list(best[1])
