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

from ckprof.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    from ckprof.tuning.search.knowledge import Knowledge
    from ckprof.tuning.search.outlook import Forecaster


#: combinations that are tried at most
_COMBINATIONS: Final = 60_000
_AT_ONCE: Final = 2_000
#: a problem that no kernel of a library supports counts as this many times its slowest kernel
_UNSERVED: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLibrary:
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


def best_libraries(times: Array, weights: Array, most: int) -> list[KernelLibrary]:
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
    libraries: list[KernelLibrary] = []
    greedy: list[int] = []
    for size in range(1, min(most, len(useful)) + 1):
        greedy = [*greedy, _next(costs, greedy)]
        total, bound = _total(costs, greedy), _bound(costs, greedy)
        chosen = greedy
        if comb(len(useful), size) <= _COMBINATIONS:
            chosen = _exact(costs, size)
            total = bound = _total(costs, chosen)
        libraries.append(
            KernelLibrary(
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


def _next(costs: Array, chosen: Sequence[int]) -> int:
    totals = _with_each(costs, chosen)
    totals[list(chosen)] = np.inf
    return int(totals.argmin())


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


#: kernels of the largest library of the curve, unless a size is asked for
USUAL_LIBRARY: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPlan:
    """The best libraries of each size."""

    libraries: Sequence[KernelLibrary]
    #: problems x kernels -> choice with the least time
    choices: NDArray[np.int64]
    #: problems x kernels -> that time in microseconds; infinity where there is none
    times_us: NDArray[np.float64]

    def kept(self, most: int | None, tie: float) -> tuple[int, ...]:
        """Return the kernels of the library to keep.

        :param most: its size at most; ``None`` for the smallest one within the tie.
        """
        if not self.libraries:
            return ()
        if most is not None:
            return self.libraries[-1].kernels
        least = min(library.unserved for library in self.libraries)
        serving = [library for library in self.libraries if library.unserved == least]
        best = min(library.slowdown for library in serving)
        return next(library.kernels for library in serving if library.slowdown <= max(1.0 + tie, best))


def plan_libraries(knowledge: Knowledge, forecaster: Forecaster, most: int | None) -> LibraryPlan:
    """Return the best libraries of kernels that were tried.

    Where such a kernel supports a problem but was not measured on it, its expected time counts.
    """
    space, tried = knowledge.space, knowledge.tried
    logs = np.where(knowledge.measured, knowledge.log_us, np.inf)
    rows: NDArray[np.bool_] = np.any(np.isfinite(logs), axis=1)
    if rows.any():
        counts = knowledge.open & tried[space.kernel_of][None] & rows[:, None]
        logs = np.where(counts, forecaster.expected_log_us(knowledge), logs)
    choices, least = _of_kernels(knowledge, logs)
    if not rows.any():
        return LibraryPlan(libraries=(), choices=choices, times_us=least)
    weights = np.ones(len(space.problems))
    if space.weighted:
        weights = np.array(space.counts) * np.where(rows, np.exp(knowledge.best_log_us), 0.0)
    # only measured times decide what is the best of all
    best = np.exp(knowledge.best_log_us)
    floored = np.maximum(least, best[:, None])
    libraries = best_libraries(floored[rows], weights[rows], most or USUAL_LIBRARY)
    return LibraryPlan(libraries=libraries, choices=choices, times_us=least)


def _of_kernels(
    knowledge: Knowledge, logs: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best choice of each kernel on each problem, and its time."""
    space = knowledge.space
    shape = len(space.problems), len(space.kernels)
    choices, least = np.zeros(shape, dtype=np.int64), np.full(shape, np.inf)
    for choice, kernel in enumerate(space.kernel_of.tolist()):
        better = logs[:, choice] < least[:, kernel]
        choices[better, kernel] = choice
        least[better, kernel] = logs[better, choice]
    return choices, np.exp(least)


def kept_cells(
    knowledge: Knowledge, forecaster: Forecaster, most: int | None, tie: float
) -> tuple[list[int], list[Cell]]:
    """Return the kernels of the library that is kept, and what it rests on that was not measured yet."""
    plan = plan_libraries(knowledge, forecaster, most)
    kept = list(plan.kept(most, tie))
    cells = []
    for problem, times in enumerate(plan.times_us[:, kept]) if kept else ():
        kernel = kept[int(times.argmin())]
        cell = Cell(problem, int(plan.choices[problem, kernel]))
        if np.isfinite(times.min()) and knowledge.open[cell]:
            cells.append(cell)
    return kept, cells
