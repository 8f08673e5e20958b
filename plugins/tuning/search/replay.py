"""Searching recorded measurements: nothing is built or run, time is counted instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckprof.model.outcome import RoundTime
from ckprof.model.ranking import kernel_time
from ckprof_plugins.tuning.search.loop import BuildOutcome, MeasuredCell
from ckprof_plugins.tuning.search.observations import Choice, Observations, SearchKernel, SearchSpace
from ckprof_plugins.tuning.time_model.selector import precedence
from ckprof_plugins.tuning.validation import candidates_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.options import ReplayCosts
    from ckprof_plugins.tuning.search.observations import Cell
    from ckprof_plugins.tuning.time_model.measurements import Measurements


def replay_space(table: Measurements, counts: Mapping[Problem, int] | None = None) -> SearchSpace:
    """Return what can be searched in a table.

    Of kernels with equal predictions, those come first that the selector prefers.

    :param counts: occurrences of the problems; 1 for those that are missing.
    """
    weights = counts or {}
    candidates = precedence(candidates_of(table))
    return SearchSpace(
        problems=table.problems,
        counts=tuple(weights.get(problem, 1) for problem in table.problems),
        kernels=tuple(
            SearchKernel(key=candidate.name, name=candidate.name, traits=candidate.traits)
            for candidate in candidates
        ),
        choices=tuple(
            Choice(kernel, splits) for kernel, offered in enumerate(candidates) for splits in offered.splits
        ),
    )


class ReplayBench:
    """Looks times up.

    :param table: what was measured; a choice without a time on a problem counts as not supported there.
    :param space: that of :func:`replay_space`.
    :param costs: what is counted for builds and measurements.
    """

    def __init__(self, table: Measurements, space: SearchSpace, costs: ReplayCosts) -> None:
        self._costs = costs
        self._fixed = costs.counted()
        self._seconds = 0.0
        #: kernels of the build under way, when it began, and when it is over
        self._building: tuple[int, float, float] | None = None
        self._times = np.full(space.shape, np.nan)
        places = {
            (space.kernels[choice.kernel].name, choice.splits): i for i, choice in enumerate(space.choices)
        }
        for (problem, name, splits), time_us in table.times.items():
            self._times[problem, places[name, splits]] = time_us
        self.possible = np.isfinite(self._times)
        #: least time of each problem in microseconds
        self.best_us = np.where(self.possible, self._times, np.inf).min(axis=1)
        #: seconds of building everything at once, and measuring it once afterwards
        self.exhaustive_s = self._fixed.build_s(len(space.kernels))
        self.exhaustive_s += costs.visit_s * int(self.possible.sum())

    def observations(self, space: SearchSpace) -> Observations:
        """Return what a search knows at its beginning: what is supported, and what things cost."""
        observations = Observations(space, self._costs.counted())
        observations.possible[:] = self.possible
        # what takes no time is done
        observations.built[:] = self._fixed.build_s(1) == 0.0
        return observations

    def seconds(self) -> float:
        """Return the seconds that were counted."""
        return self._seconds

    def unsupported(self, cells: Sequence[Cell]) -> Iterable[Cell]:
        """Return nothing: support is known from the beginning."""
        del cells
        return ()

    @property
    def overlaps(self) -> bool:
        """Whether kernels are measured while others are built."""
        return self._costs.overlap

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Note when the build will be over."""
        seconds = self._fixed.build_s(len(kernels))
        self._building = len(kernels), self._seconds, self._seconds + seconds

    def build_is_over(self) -> bool:
        """Say whether as many seconds have passed."""
        return self._building is not None and self._seconds >= self._building[2]

    def end_build(self) -> BuildOutcome:
        """Let the seconds pass that are left.

        :raises ValueError: nothing is being built.
        """
        if self._building is None:
            raise ValueError("nothing is being built")
        kernels, began, over = self._building
        self._building = None
        # without overlap, the build waits until it is waited for
        self._seconds = max(self._seconds, over) if self.overlaps else self._seconds + over - began
        return BuildOutcome(kernels=kernels, seconds=over - began)

    def abandon_build(self) -> None:
        """Forget the build."""
        self._building = None

    def measure(self, cells: Sequence[Cell], most_s: float | None) -> Iterable[MeasuredCell]:
        """Look the times up, as many as there is time for."""
        begun = self._seconds
        for cell in cells:
            if most_s is not None and self._seconds - begun >= most_s:
                return
            self._seconds += self._costs.visit_s
            yield cell, kernel_time([RoundTime(median_ms=float(self._times[cell]) / 1000, spread_ms=0.0)])
