"""What a search measures before it may end: built kernels wherever they may be the best.

A kernel that was built for one problem costs little to measure on the others. So whatever the strategy is, a
search ends only if every kernel that was tried, those of the library that is kept among them, was measured on
each problem that it supports, unless its prediction there is hopeless: slower than the best at the fast end
of its interval, which the residuals of the search itself make as wide as it has to be, and which is wider for
kernels of the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.plugin.protocols.searches import replans
from ckprof.report.best_libraries import best_libraries
from ckprof_plugins.tuning.search.observations import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.plugin.protocols import Search
    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.search.acquisition import Forecaster
    from ckprof_plugins.tuning.search.observations import Observations


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


def plan_libraries(observations: Observations, forecaster: Forecaster, most: int | None) -> LibraryPlan:
    """Return the best libraries of kernels that were tried.

    Where such a kernel supports a problem but was not measured on it, its expected time counts.
    """
    space, tried = observations.space, observations.tried
    logs = np.where(observations.measured, observations.log_us, np.inf)
    rows: NDArray[np.bool_] = np.any(np.isfinite(logs), axis=1)
    if rows.any():
        counts = observations.open & tried[space.kernel_of][None] & rows[:, None]
        logs = np.where(counts, forecaster.expected_log_us(observations), logs)
    choices, least = _of_kernels(observations, logs)
    if not rows.any():
        return LibraryPlan(libraries=(), choices=choices, times_us=least)
    weights = np.ones(len(space.problems))
    if space.weighted:
        weights = np.array(space.counts) * np.where(rows, np.exp(observations.best_log_us), 0.0)
    # only measured times decide what is the best of all
    best = np.exp(observations.best_log_us)
    floored = np.maximum(least, best[:, None])
    libraries = best_libraries(floored[rows], weights[rows], most or USUAL_LIBRARY)
    return LibraryPlan(libraries=libraries, choices=choices, times_us=least)


def _of_kernels(
    observations: Observations, logs: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best choice of each kernel on each problem, and its time."""
    space = observations.space
    shape = len(space.problems), len(space.kernels)
    choices, least = np.zeros(shape, dtype=np.int64), np.full(shape, np.inf)
    for choice, kernel in enumerate(space.kernel_of.tolist()):
        better = logs[:, choice] < least[:, kernel]
        choices[better, kernel] = choice
        least[better, kernel] = logs[better, choice]
    return choices, np.exp(least)


def kept_cells(
    observations: Observations, forecaster: Forecaster, most: int | None, tie: float
) -> tuple[list[int], list[Cell]]:
    """Return the kernels of the library that is kept, and what it rests on that was not measured yet."""
    plan = plan_libraries(observations, forecaster, most)
    kept = list(plan.kept(most, tie))
    cells = []
    for problem, times in enumerate(plan.times_us[:, kept]) if kept else ():
        kernel = kept[int(times.argmin())]
        cell = Cell(problem, int(plan.choices[problem, kernel]))
        if np.isfinite(times.min()) and observations.open[cell]:
            cells.append(cell)
    return kept, cells


#: measurements of one problem at a time: what they say may make the others hopeless
_OF_PROBLEM: Final = 4


@dataclass(slots=True)
class GuaranteedSearch:
    """A search that also proposes what it takes to trust its end.

    :param search: what it proposes comes first, while there is time for what must be measured at last.
    :param forecaster: says what is hopeless.
    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    :param tie: of the library that is kept.
    """

    search: Search
    forecaster: Forecaster
    most: int | None
    tie: float

    @property
    def replans(self) -> bool:
        """Whether what the search proposes of kernels that are not built is only a wish."""
        return replans(self.search)

    def propose(self, observations: Observations) -> Sequence[tuple[int, int]]:
        """Return what the search proposes; when it has nothing left or time is short, what is missing."""
        proposed = self.search.propose(observations)
        if proposed and not self._leaves_too_little(proposed, observations):
            return proposed
        # a search that waits for a build has not ended
        missing = [] if observations.building and not proposed else self._missing(observations)
        return missing or proposed

    def _leaves_too_little(self, proposed: Sequence[tuple[int, int]], observations: Observations) -> bool:
        """Say whether what is missing could not be measured any more within the budget."""
        if observations.left_s is None:
            return False
        kernel_of, costs = observations.space.kernel_of, observations.costs
        new = {int(kernel_of[choice]) for _, choice in proposed if not observations.built[kernel_of[choice]]}
        left_s = observations.left_s - costs.build_s(len(new)) - costs.visit_s * len(proposed)
        if int(observations.open[:, observations.tried[kernel_of]].sum()) * costs.visit_s < left_s:
            return False
        return int((self.forecaster.hopes(observations) > 0.0).sum()) * costs.visit_s >= left_s

    def _missing(self, observations: Observations) -> list[Cell]:
        """Return the most promising cells of each problem that must be measured."""
        kept, resting = kept_cells(observations, self.forecaster, self.most, self.tie)
        hopes = self.forecaster.hopes(observations, kept)
        for cell in resting:
            hopes[cell] = np.inf
        order = np.argsort(-hopes, axis=1, kind="stable")[:, :_OF_PROBLEM]
        return [
            Cell(problem, choice)
            for problem, row in enumerate(order.tolist())
            for choice in row
            if hopes[problem, choice] > 0.0
        ]
