"""The library of a search: the best kernels of each size by what is known so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.report.best_libraries import best_libraries
from ckprof_plugins.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.search.knowledge import Knowledge
    from ckprof_plugins.tuning.search.outlook import Forecaster

#: kernels of the largest library of the curve, unless a size is asked for
USUAL_LIBRARY: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPlan:
    """The best libraries of each size."""

    libraries: Sequence[BestLibrary]
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
