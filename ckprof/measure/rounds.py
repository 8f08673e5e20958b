"""The visits of one problem: what runs, in which order, what is pruned, and when the ranking is settled.

Pure logic over times: nothing here runs a kernel. In each pass the caller takes one :class:`PlannedSample`
after the other from :meth:`Ranking.visit`, measures it, and calls :meth:`Ranking.record` before the next.

Within one pass nothing is decided: what a machine does for a while, it does to a whole visit. Kernels are
pruned and rankings end between passes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Generic, NamedTuple

from ckprof.errors import UsageError
from ckprof.measure.round_times import Cell, RoundTimes, Timing
from ckprof.model.ranking import RankedSet, Resolution
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
    min_rounds: int = settable(3, "least rounds of the leaders in all passes", metavar="N", parse=positive)
    #: those of repeated visits not counted
    max_rounds: int = settable(10, "most rounds of the leaders in all passes", metavar="N", parse=positive)
    #: of the intervals that decide
    confidence: float = 0.95
    seed: int = settable(0, "seed of the order within rounds", flag="--order-seed", metavar="N")
    exhaustive: bool = settable(False, "every kernel runs in all --max-rounds rounds")
    passes: int = settable(
        3,
        "passes over all problems at least, each by a fresh worker process",
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
        if self.passes < 1:
            raise UsageError(f"passes is {self.passes}, expected at least 1")

    @property
    def least_passes(self) -> int:
        """Passes that the leaders get at least: each has a round."""
        return min(self.passes, self.max_rounds)

    @property
    def least_rounds(self) -> int:
        """Rounds that the leaders get at least, whatever the reason."""
        return self.max_rounds if self.exhaustive else max(self.min_rounds, self.least_passes)

    def visit_rounds(self, passes: int, rounds: int) -> int:
        """Return how many rounds the next visit has: those that are left are dealt evenly to the passes left.

        :param passes: so far.
        :param rounds: so far.
        """
        share = math.ceil(self.least_rounds / self.least_passes)
        if passes < self.least_passes:
            share = math.ceil((self.least_rounds - rounds) / (self.least_passes - passes))
        return max(1, min(share, self.max_rounds - rounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSample(Generic[Cell]):
    """One kernel is to be measured once."""

    cell: Cell
    #: from 1
    round: int
    #: position within the round
    order: int


class Ending(Enum):
    """Why the rounds on a problem ended."""

    #: no kernel is faster than the best by more than a tie
    SETTLED = "winner resolved"
    MAX_ROUNDS = "--max-rounds"
    #: one kernel, or none, can be ranked
    NO_RANKING = "fewer than two kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitReport(Generic[Cell]):
    """What a visit changed."""

    #: their numbers
    rounds: Sequence[int]
    #: the machine was not as in other visits: times count only where a kernel has no others
    disturbed: bool
    #: that is why the visit is repeated in the same pass
    repeats: bool = False
    #: kernels that are pruned after it, with their time relative to the best
    dropped: Mapping[Cell, float] = field(default_factory=dict)
    best: Cell | None
    #: set when no pass follows
    ending: Ending | None = None


#: passes before a kernel is pruned: noise that lasts for a while shows only between them
_PRUNING_PASSES: Final = 2


class Ranking(Generic[Cell]):
    """What is known of the order of some kernels on one problem, and what is measured next.

    :param cells: what competes: kernels, with their numbers of splits.
    :param options: when kernels leave and when it is enough.
    :param rounds_before: numbers of rounds that are taken by measurements that shall not count any more.
    """

    def __init__(self, cells: Sequence[Cell], options: RoundOptions, *, rounds_before: int = 0) -> None:
        #: everything that competes, those that left included
        self.cells = tuple(dict.fromkeys(cells))
        self._options = options
        #: asked after each visit whether the machine was not as in others
        self.is_disturbed: Callable[[], bool] = lambda: False
        #: notified after each visit
        self.on_visit: Callable[[VisitReport[Cell]], None] = lambda report: None
        self._times: RoundTimes[Cell] = RoundTimes(self.cells)
        self._failed: set[Cell] = set()
        self._dropped: dict[Cell, float] = {}
        self._round = rounds_before
        #: complete visits, those that were repeated not counted
        self._passes = 0
        #: the next visit repeats the latest one, in the same pass
        self.repeats = False
        #: of the latest visit
        self._visit_rounds = 0
        self._counted: tuple[tuple[int, ...], list[int]] = ((), [])
        #: set at the end of a visit, or by :meth:`resume`
        self.ending: Ending | None = None
        #: what was known of the first place after the latest visit; ``None`` without times
        self.resolution: Resolution | None = None

    # --- what was seen ------------------------------------------------------------------------------------

    @property
    def disturbed(self) -> frozenset[int]:
        """Rounds of visits in which the machine was not as in others."""
        return self._times.disturbed

    @property
    def dropped(self) -> frozenset[Cell]:
        """The cells that were pruned as slower."""
        return frozenset(self._dropped)

    def record(self, planned: PlannedSample[Cell], timing: Timing | None) -> None:
        """Note what a sample gave.

        :param timing: ``None`` if the kernel failed or may not be ranked: it leaves the rounds.
        """
        self._note(planned.cell, planned.round, timing)

    def _note(self, cell: Cell, number: int, timing: Timing | None) -> None:
        self._times.note(cell, number, timing)
        if timing is None:
            self._failed.add(cell)
        self._round = max(self._round, number)

    def resume(
        self,
        history: Mapping[Cell, Sequence[tuple[int, Timing | None]]],
        disturbed: Collection[int] = (),
        dropped: Mapping[Cell, int] | None = None,
    ) -> None:
        """Take over what earlier sweeps measured, and decide what that leaves to do.

        What a process measured of a kernel is its visit, however few rounds there are.

        :param history: cell -> (round, timing) of each sample in order; timing ``None`` for a failure.
        :param disturbed: rounds that were marked.
        :param dropped: cells that left the rounds -> after which round; those that today's margin would have
            kept then come back.
        """
        last = max((number for samples in history.values() for number, _ in samples), default=0)
        competing = set(self.cells)
        for cell, samples in history.items():
            if cell in competing:
                for number, timing in samples:
                    self._note(cell, number, timing)
        self._times.disturbed = frozenset(number for number in disturbed if number <= last)
        left = {cell: number for cell, number in (dropped or {}).items() if cell in competing}
        bests = {number: self._times.best_after(number) for number in set(left.values())}
        self._dropped = {
            cell: math.inf
            for cell, number in left.items()
            if not self._would_stay(cell, number, bests[number])
        }
        self._times.prune(self._dropped)
        self._passes = min(map(self._times.processes, self.active), default=0)
        if last and not self._missing(last):
            self._decide((last,), disturbed=last in self.disturbed)

    def _would_stay(self, cell: Cell, number: int, best: Cell | None) -> bool:
        """Say whether today's margin would have kept a cell that left after a round.

        Judged by what was known then, so that the same margin gives the same answer whatever came later.

        :param best: the best cell after that round.
        """
        first = self._times.time(cell, number)
        second = self._times.time(best, number) if best is not None else None
        if first is None or second is None:
            return True
        return first.time_ms <= second.time_ms * (1 + self._options.keep_within)

    @property
    def rounds(self) -> int:
        """Rounds that count: complete, and not of a visit that was repeated."""
        return len(self._counted_rounds())

    @property
    def active(self) -> list[Cell]:
        """The cells that run in the next round."""
        gone = self._failed | self._dropped.keys()
        return [cell for cell in self.cells if cell not in gone] if gone else list(self.cells)

    @property
    def remaining_samples(self) -> int:
        """Samples that are still taken at most."""
        if self.ending is not None:
            return 0
        options = self._options
        left = max(options.max_rounds - self.rounds, options.least_passes - self._passes)
        return len(self.active) * max(0, left)

    # --- what is to be done -------------------------------------------------------------------------------

    def visit(self) -> Iterator[PlannedSample[Cell]]:
        """Yield what one process measures before it goes to the next problem.

        A round that was not ended is ended first. At the end kernels are pruned, and :attr:`ending` may be
        set, unless the visit was disturbed and is to be repeated. Nothing is yielded after the ending.
        """
        if self.ending is None and not self.active:
            self.ending = Ending.NO_RANKING
        if self.ending is not None:
            return
        first = self._round
        begun = any(first in self._times.of(cell) for cell in self.cells)
        if not begun or not self._missing(first):
            first += 1
        if not self.repeats:
            self._visit_rounds = self._options.visit_rounds(self._passes, self.rounds)
        numbers = range(first, first + self._visit_rounds)
        for number in numbers:
            missing = self._missing(number)
            random.Random(f"{self._options.seed}/{number}").shuffle(missing)  # noqa: S311
            for order, cell in enumerate(missing):
                yield PlannedSample(cell=cell, round=number, order=order)
            self._round = number
        disturbed = self.is_disturbed()
        if disturbed:
            self._times.disturbed = self.disturbed.union(numbers)
        self.repeats = disturbed and not self.repeats and bool(self.active)
        if self.repeats:
            report = VisitReport(rounds=numbers, disturbed=True, repeats=True, best=self.best())
        else:
            self._passes += 1
            report = self._decide(numbers, disturbed=disturbed)
        self.on_visit(report)

    def _missing(self, number: int) -> list[Cell]:
        return [cell for cell in self.active if number not in self._times.of(cell)]

    # --- decisions ----------------------------------------------------------------------------------------

    def best(self) -> Cell | None:
        """Return the fastest active cell, see :mod:`ckprof.model.ranking`."""
        return self._times.best_of(self.active)

    def _ranked(self) -> list[Cell]:
        """Return the cells that have not failed, those that left included."""
        return [cell for cell in self.cells if cell not in self._failed]

    def _decide(self, rounds: Sequence[int], *, disturbed: bool) -> VisitReport[Cell]:
        """Prune slow cells after a visit, and see whether it was the last one."""
        dropped: dict[Cell, float] = {}
        options = self._options
        ranked, ordered = self._times.ranked_set(self._ranked())
        best = self.best()
        may_prune = self._passes >= _PRUNING_PASSES and not options.exhaustive
        if not disturbed and best is not None and may_prune:
            dropped = self._slow_cells(ranked, ordered)
            self._dropped.update(dropped)
            self._times.prune(dropped)
            ranked, ordered = self._times.ranked_set(self._ranked())
        self.resolution = ordered.resolution(options.tie, options.confidence) if ranked else None
        self.ending = self._find_ending(best, ordered)
        return VisitReport(
            rounds=rounds,
            disturbed=disturbed,
            dropped=dropped,
            best=best,
            ending=self.ending,
        )

    def _find_ending(self, best: Cell | None, ordered: RankedSet) -> Ending | None:
        options, resolution = self._options, self.resolution
        if best is None:
            return Ending.NO_RANKING
        if self._passes < options.least_passes or self.rounds < options.least_rounds:
            return None
        if self.rounds >= options.max_rounds:
            return Ending.MAX_ROUNDS
        if options.passes == 1:
            # what the only process does to kernels no round of it would show
            resolution = ordered.resolution(options.tie, options.confidence, process_sigma=0.0)
        return Ending.SETTLED if resolution is not None and resolution.resolved else None

    def _slow_cells(self, ranked: Sequence[Cell], ordered: RankedSet) -> dict[Cell, float]:
        """Return the cells that are slower than the best by the margin, with their ratios."""
        best = ordered.kernels[0]
        staying = {ranked[0], *self._dropped}
        slower = zip(ranked, ordered.kernels, ordered.slower(self._options.keep_within), strict=True)
        return {
            cell: time.time_ms / best.time_ms for cell, time, out in slower if out and cell not in staying
        }

    def _counted_rounds(self) -> list[int]:
        # what it depends on; times only ever grow
        version = (self._times.noted, len(self._failed), len(self._dropped), len(self.disturbed))
        if self._counted[0] != version:
            self._counted = version, sorted(self._times.counted_rounds(self.active))
        return self._counted[1]


class RoundRobin(Ranking[Cell]):
    """Each cell once, in the order given: nothing competes."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__(cells, RoundOptions(min_rounds=1, max_rounds=1))
        self._in_order = tuple(cells)
        self._taken = 0

    @property
    def remaining_samples(self) -> int:
        """Samples that are left."""
        return len(self._in_order) - self._taken

    def visit(self) -> Iterator[PlannedSample[Cell]]:
        """Yield one sample per cell."""
        for order, cell in enumerate(self._in_order):
            self._taken = order + 1
            yield PlannedSample(cell=cell, round=1, order=order)
        self.ending = Ending.MAX_ROUNDS
