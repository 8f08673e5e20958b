"""The times that the visits of one problem gave, and how much they vary.

Rounds within one visit agree with one another far better than two visits do: placement of memory and
alignment of code are drawn anew with each process (T. Kalibera and R. Jones, "Rigorous benchmarking in
reasonable time", ISMM 2013), and what slows a machine down for a while slows down a whole visit. No number of
rounds in one visit shows either.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from ckprof.model.outcome import RoundTime
from ckprof.model.ranking import KernelTime, RankedSet, kernel_time

Cell = TypeVar("Cell", bound=Hashable)


class Timing(NamedTuple):
    """What a sample gave: the time of a verified kernel in milliseconds."""

    time_ms: float
    #: half the distance between the quartiles, divided by the median
    spread: float = 0.0
    #: identifies the worker process, and so the visit, among those of the problem
    process: str = ""


class RoundTimes(Generic[Cell]):
    """Times of cells per round; those of disturbed visits count for cells without others."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        #: cell -> round -> times of its samples
        self._cells = cells
        self._times: dict[Cell, dict[int, list[Timing]]] = {}
        self._cached: dict[Cell, KernelTime | None] = {}
        self._disturbed: frozenset[int] = frozenset()
        #: round -> its process
        self._processes: dict[int, str] = {}
        self._pruned: set[Cell] = set()
        #: samples so far
        self.noted = 0

    @property
    def disturbed(self) -> frozenset[int]:
        """Rounds in which the machine was not as in others."""
        return self._disturbed

    @disturbed.setter
    def disturbed(self, rounds: Iterable[int]) -> None:
        self._disturbed = frozenset(rounds)
        self._cached.clear()

    def note(self, cell: Cell, number: int, timing: Timing | None) -> None:
        """Take note of a sample in a round; without a timing the kernel has failed."""
        self.noted += 1
        if timing is not None:
            self.of(cell).setdefault(number, []).append(timing)
            self._processes[number] = timing.process
        self._cached.pop(cell, None)

    def prune(self, cells: Iterable[Cell]) -> None:
        """Take note of cells that are pruned."""
        for cell in cells:
            self._pruned.add(cell)
            self._cached.pop(cell, None)

    def of(self, cell: Cell) -> dict[int, list[Timing]]:
        """Return the times of a cell's samples per round, those of marked rounds included."""
        return self._times.setdefault(cell, {})

    def processes(self, cell: Cell) -> int:
        """Return how many processes measured a cell."""
        return len({sample.process for samples in self.of(cell).values() for sample in samples})

    def time(self, cell: Cell, until: float = math.inf) -> KernelTime | None:
        """Return the time of a cell by its rounds up to one; ``None`` without any."""
        if math.isinf(until) and cell in self._cached:
            return self._cached[cell]
        time = kernel_time(
            RoundTime(
                time_ms=sample.time_ms,
                spread_ms=sample.spread * sample.time_ms,
                place=("", number),
                doubtful=number in self._disturbed,
                process=sample.process,
                pruned=cell in self._pruned,
            )
            for number, samples in self.of(cell).items()
            for sample in samples
            if number <= until
        )
        if math.isinf(until):
            self._cached[cell] = time
        return time

    def ranked_set(self, cells: Iterable[Cell]) -> tuple[list[Cell], RankedSet]:
        """Return the cells that have a time, the fastest first, and their times beside each other."""
        timed = [(time, cell) for cell in cells if (time := self.time(cell)) is not None]
        timed.sort(key=lambda pair: (pair[0].pruned, pair[0].time_ms))
        return [cell for _, cell in timed], RankedSet([time for time, _ in timed])

    def counted_rounds(self, cells: Sequence[Cell]) -> set[int]:
        """Return the rounds that all of some cells have, without those of a visit that was repeated."""
        if not cells or not self.noted:
            return set()
        shared = set.intersection(*(set(self.of(cell)) for cell in cells))
        sound = shared - self._disturbed
        repeated = {self._processes[number] for number in sound}
        return {number for number in shared if number in sound or self._processes[number] not in repeated}

    def best_of(self, cells: Iterable[Cell], until: float = math.inf) -> Cell | None:
        """Return the fastest of some cells by their rounds up to one."""
        timed = [(time.time_ms, cell) for cell in cells if (time := self.time(cell, until)) is not None]
        return min(timed, key=lambda pair: pair[0])[1] if timed else None

    def best_after(self, last: int) -> Cell | None:
        """Return the cell that was the best after a round, by what was known then."""
        return self.best_of([cell for cell in self._cells if last in self.of(cell)], last)
