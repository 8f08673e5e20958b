"""The rounds on one problem: who runs, in which order, who leaves, and when the ranking is settled.

Pure logic over times: nothing here runs a kernel. The caller takes one :class:`Visit` after the other from
:meth:`Ranking.visits`, measures it, and calls :meth:`Ranking.record` before the next.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, NamedTuple

from ckprof.errors import UsageError
from ckprof.measure.round_times import Cell, RoundTimes, Timing
from ckprof.measure.stopping import USUAL_PROCESSES
from ckprof.model.ranking import Field, Standing
from ckprof.option import percent, positive, settable, share


class KernelConfiguration(NamedTuple):
    """What competes on a problem: a kernel with a number of splits."""

    #: content key of the instance
    instance: str
    #: as asked for; less than 1 leaves the number to the kernel
    split_k: int
    #: which of several builds, or of two problems that are visited in the same rounds; empty for the only one
    side: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOptions:
    """Options of the rounds on one problem.

    :raises UsageError: a value is out of range.
    """

    keep_within: float = settable(
        0.25,
        "kernels that are significantly slower than the best by more are pruned",
        metavar="SHARE",
        parse=share,
        show=percent,
    )
    tie: float = settable(
        0.02,
        "kernels within this share of the best are tied with it",
        metavar="SHARE",
        parse=share,
        show=percent,
    )
    min_rounds: int = settable(3, "rounds that the leaders get at least", metavar="N")
    #: repeated ones not counted
    max_rounds: int = settable(10, "rounds that they get at most", metavar="N")
    #: rounds that are repeated at most on one problem because the machine drifted
    max_repeats: int = 3
    #: of the intervals that decide
    confidence: float = 0.95
    seed: int = settable(0, "seed of the order within rounds", flag="--order-seed", metavar="N")
    exhaustive: bool = settable(False, "every kernel runs in all --max-rounds rounds")
    sessions: int | None = settable(
        None,
        "worker processes that measure the rounds of each problem in a round-robin "
        f"(default: {USUAL_PROCESSES}, --max-rounds if that is less; leaders get as many rounds "
        "at least)",
        metavar="N",
        parse=positive,
    )

    def __post_init__(self) -> None:
        for name in ("keep_within", "tie"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{name} is {value}, expected at least 0")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence is {self.confidence}, expected 0.5 to less than 1")
        if not 1 <= self.min_rounds <= self.max_rounds:
            raise UsageError(
                f"min_rounds is {self.min_rounds} and max_rounds {self.max_rounds}, expected 1 <= min <= max"
            )
        if self.max_repeats < 0:
            raise UsageError(f"max_repeats is {self.max_repeats}, expected at least 0")
        if not 1 <= self.processes <= self.max_rounds:
            raise UsageError(
                f"sessions is {self.sessions}, expected 1 to the {self.max_rounds} of max_rounds: a worker "
                "process measures at least one round"
            )

    @property
    def processes(self) -> int:
        """Worker processes that take turns."""
        return min(USUAL_PROCESSES, self.max_rounds) if self.sessions is None else self.sessions

    @property
    def least_rounds(self) -> int:
        """Rounds that the leaders get at least, whatever the reason."""
        return self.max_rounds if self.exhaustive else max(self.min_rounds, self.processes)

    @property
    def shares(self) -> tuple[int, int] | None:
        """How many processes take how many rounds; ``None`` for one process."""
        return None if self.processes == 1 else (self.processes, self.least_rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Generic[Cell]):
    """One kernel is to be measured once."""

    cell: Cell
    #: from 1
    round: int
    #: position within the round
    order: int
    #: the visit tells whether the machine drifts
    reference: bool


class Ending(Enum):
    """Why the rounds on a problem ended."""

    #: no kernel is faster than the best by more than a tie
    SETTLED = "settled"
    MAX_ROUNDS = "max-rounds"
    #: one kernel, or none, can be ranked
    NO_RANKING = "no-contest"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport(Generic[Cell]):
    """What a round changed."""

    round: int
    #: the reference kernel moved: the round does not count and is repeated
    drifted: bool
    #: relative change of the reference kernel during the round; ``None`` without two visits
    drift: float | None
    #: kernels that left after this round, with their time relative to the best
    dropped: Mapping[Cell, float]
    best: Cell | None
    #: set when there is no next round
    ending: Ending | None


#: after a single round, whose noise is not known, only kernels leave that are this many times beyond the
#: margin: other work makes a visit up to three times as slow
_GROSS_FACTOR: Final = 4.0


class Ranking(Generic[Cell]):
    """Rounds of some kernels on one problem.

    :param cells: what competes: kernels, with their numbers of splits.
    :param options: when kernels leave and when it is enough.
    :param rounds_before: numbers of rounds that are taken by measurements that shall not count any more.
    """

    def __init__(self, cells: Sequence[Cell], options: RoundOptions, *, rounds_before: int = 0) -> None:
        #: everything that competes, those that left included
        self.cells = tuple(dict.fromkeys(cells))
        self._options = options
        #: notified after each round
        self.on_round: Callable[[RoundReport[Cell]], None] = lambda report: None
        self._times: RoundTimes[Cell] = RoundTimes(self.cells)
        self._failed: set[Cell] = set()
        self._dropped: dict[Cell, float] = {}
        self._reference: Cell | None = None
        self._round = rounds_before
        self._counted: tuple[tuple[int, ...], list[int]] = ((), [])
        #: set by :meth:`visits` at the end, or by :meth:`resume`
        self.ending: Ending | None = None
        #: what was known of the first place after the latest round; ``None`` without times
        self.standing: Standing | None = None

    # --- what was seen ------------------------------------------------------------------------------------

    @property
    def drifted(self) -> frozenset[int]:
        """Rounds that do not count because the machine drifted."""
        return self._times.drifted

    @property
    def dropped(self) -> frozenset[Cell]:
        """The cells that left because they are surely slower."""
        return frozenset(self._dropped)

    def record(self, visit: Visit[Cell], timing: Timing | None) -> None:
        """Note what a visit gave.

        :param timing: ``None`` if the kernel failed or may not be ranked: it leaves the rounds.
        """
        self._note(visit.cell, visit.round, timing)

    def _note(self, cell: Cell, number: int, timing: Timing | None) -> None:
        self._times.note(cell, number, timing)
        if timing is None:
            self._failed.add(cell)
            if self._reference == cell:
                self._reference = None
        self._round = max(self._round, number)

    def resume(
        self,
        history: Mapping[Cell, Sequence[tuple[int, Timing | None]]],
        drifted: Collection[int] = (),
        dropped: Mapping[Cell, int] | None = None,
    ) -> None:
        """Take over what earlier sweeps measured, and decide what that leaves to do.

        :param history: cell -> (round, timing) of each visit in order; timing ``None`` for a failure.
        :param drifted: rounds that were marked.
        :param dropped: cells that left the rounds -> after which round; those that today's margin would have
            kept then come back.
        """
        last = max((number for visits in history.values() for number, _ in visits), default=0)
        competing = set(self.cells)
        for cell, visits in history.items():
            if cell in competing:
                for number, timing in visits:
                    self._note(cell, number, timing)
        self._times.drifted = frozenset(number for number in drifted if number <= last)
        left = {cell: number for cell, number in (dropped or {}).items() if cell in competing}
        bests = {number: self._times.best_after(number) for number in set(left.values())}
        self._dropped = {
            cell: math.inf
            for cell, number in left.items()
            if not self._would_stay(cell, number, bests[number])
        }
        self._times.prune(self._dropped)
        self._reference = self.best()
        if last and not self._missing(last):
            self._decide(last, drifted=last in self.drifted)

    def _would_stay(self, cell: Cell, number: int, best: Cell | None) -> bool:
        """Say whether today's margin would have kept a cell that left after a round.

        Judged by what was known then, so that the same margin gives the same answer whatever came later.

        :param best: the best cell after that round.
        """
        if best is None:
            return True
        first, second = self._times.time(cell, number), self._times.time(best, number)
        if first is None or second is None:
            return True
        return first.time_ms <= second.time_ms * (1 + self._options.keep_within)

    @property
    def rounds(self) -> int:
        """Rounds that count: complete and not marked."""
        return len(self._counted_rounds())

    @property
    def active(self) -> list[Cell]:
        """The cells that run in the next round."""
        gone = self._failed | self._dropped.keys()
        return [cell for cell in self.cells if cell not in gone] if gone else list(self.cells)

    @property
    def remaining_visits(self) -> int:
        """Visits that the rounds still take at most."""
        if self.ending is not None:
            return 0
        return len(self.active) * max(0, self._options.max_rounds - self.rounds)

    # --- what is to be done -------------------------------------------------------------------------------

    def visits(self) -> Iterator[Visit[Cell]]:
        """Yield the visits of all rounds that are needed."""
        if self.ending is None and not self.active:
            self.ending = Ending.NO_RANKING
        number = self._round
        begun = any(number in self._times.of(cell) for cell in self.cells)
        if not begun or not self._missing(number):
            number += 1
        while self.ending is None:
            for order, (cell, reference) in enumerate(self._round_visits(number)):
                yield Visit(cell=cell, round=number, order=order, reference=reference)
            drift = self._times.drift(self._reference, number)
            drifted = drift is not None and abs(drift) > self._times.drift_limit(
                self._reference, number, self._times.noise(self._ranked(), without=number)
            )
            drifted = drifted and len(self.drifted) < self._options.max_repeats
            if drifted:
                self._times.drifted = self.drifted | {number}
            self._round = number
            self.on_round(self._decide(number, drifted=drifted, drift=drift))
            number += 1

    def _round_visits(self, number: int) -> Iterator[tuple[Cell, bool]]:
        """Yield the cells of one round: the reference first and last, the others shuffled."""
        chance = random.Random(f"{self._options.seed}/{number}")  # noqa: S311
        missing = self._missing(number)
        chance.shuffle(missing)
        reference = self._reference
        if reference is not None:
            missing = [cell for cell in missing if cell != reference]
            yield reference, True
        for cell in missing:
            if cell not in self._failed:
                yield cell, False
        if self._reference is None:
            self._reference = self.best()
        last = self._reference
        if last is not None and len(self.active) > 1:
            yield last, True

    def _missing(self, number: int) -> list[Cell]:
        return [cell for cell in self.active if number not in self._times.of(cell)]

    # --- decisions ----------------------------------------------------------------------------------------

    def best(self) -> Cell | None:
        """Return the fastest active cell, see :mod:`ckprof.model.ranking`."""
        return self._times.best_of(self.active)

    def _ranked(self) -> list[Cell]:
        """Return the cells that have not failed, those that left included."""
        return [cell for cell in self.cells if cell not in self._failed]

    def _decide(self, number: int, *, drifted: bool, drift: float | None = None) -> RoundReport[Cell]:
        """Let slow cells leave after a round, and see whether it was the last one."""
        dropped: dict[Cell, float] = {}
        ranked, field = self._times.field(self._ranked())
        best = self.best()
        if not drifted and best is not None and not self._options.exhaustive:
            dropped = self._slow_cells(ranked, field)
            self._dropped.update(dropped)
            self._times.prune(dropped)
            ranked, field = self._times.field(self._ranked())
        options = self._options
        self.standing = field.standing(options.tie, options.confidence) if ranked else None
        self.ending = self._find_ending(best, field)
        return RoundReport(
            round=number,
            drifted=drifted,
            drift=drift,
            dropped=dropped,
            best=best,
            ending=self.ending,
        )

    def _find_ending(self, best: Cell | None, field: Field) -> Ending | None:
        if best is None:
            return Ending.NO_RANKING
        if self.rounds >= self._options.max_rounds:
            return Ending.MAX_ROUNDS
        if self.rounds < self._options.least_rounds:
            return None
        options, standing = self._options, self.standing
        if options.processes == 1:
            # what the only process does to kernels no round of it would show
            standing = field.standing(options.tie, options.confidence, process_sigma=0.0)
        return Ending.SETTLED if standing is not None and standing.decided else None

    def _slow_cells(self, ranked: Sequence[Cell], field: Field) -> dict[Cell, float]:
        """Return the cells that are surely slower than the best by the margin, with their ratios."""
        margin = self._options.keep_within
        best = field.kernels[0]
        staying = {self._reference, ranked[0], *self._dropped}
        slow: dict[Cell, float] = {}
        for cell, time, slower in zip(ranked, field.kernels, field.slower(margin), strict=True):
            if cell in staying:
                continue
            ratio = time.time_ms / best.time_ms
            if len(time.rounds) < 2:
                gross = ratio > _GROSS_FACTOR * (1 + margin)
                slower = gross and self._times.never_near(cell, ranked[0], margin)
            if slower:
                slow[cell] = ratio
        return slow

    def _counted_rounds(self) -> list[int]:
        # what it depends on; times only ever grow
        version = (self._times.noted, len(self._failed), len(self._dropped), len(self.drifted))
        if self._counted[0] != version:
            self._counted = version, sorted(self._times.shared_rounds(self.active))
        return self._counted[1]


class InTurn(Ranking[Cell]):
    """Each cell once, in the order given: nothing competes."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__(cells, RoundOptions(min_rounds=1, max_rounds=1))
        self._in_order = tuple(cells)
        self._visited = 0

    @property
    def remaining_visits(self) -> int:
        """Visits that are left."""
        return len(self._in_order) - self._visited

    def visits(self) -> Iterator[Visit[Cell]]:
        """Yield one visit per cell."""
        for order, cell in enumerate(self._in_order):
            self._visited = order + 1
            yield Visit(cell=cell, round=1, order=order, reference=False)
        self.ending = Ending.MAX_ROUNDS
