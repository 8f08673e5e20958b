"""The search itself: propose, ask for support, build, measure, learn; until it is enough or time is over.

Where kernels run on a device, the CPU is free meanwhile: what is to be built next is chosen, and its build
begun, before the kernels of the build before are measured. What is known then is what was measured so far,
and which measurements are to come; and while a build is under way, what is built already may be measured
further. So building costs little time of its own where measuring takes as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from ckprof.plugin.protocols.searches import replans
from ckprof_plugins.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.plugin.protocols import Search
    from ckprof_plugins.tuning.search.costs import SeenBuild
    from ckprof_plugins.tuning.search.knowledge import Knowledge


#: proposals in a row whose kernels turn out not to support their problems; the rest is measured then
_REPLANS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """What became of one cell."""

    cell: Cell
    #: ``None``: it failed, or may not be ranked
    time_us: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOutcome:
    """What became of a build."""

    #: kernel -> why it cannot be built
    failures: Mapping[int, str] = field(default_factory=dict)
    #: what it took
    seen: SeenBuild


class TuneBench(Protocol):
    """Where kernels are asked, built and measured."""

    @property
    def overlaps(self) -> bool:
        """Whether kernels can be measured while others are built, without disturbing each other."""

    def seconds(self) -> float:
        """Return the seconds that were spent so far."""

    def unsupported(self, cells: Sequence[Cell]) -> Iterable[Cell]:
        """Return cells that their kernels' own tests reject, at least those among the given ones.

        Nothing is built for the device.
        """

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Begin to build kernels beside those that are built; there is one build at a time."""

    def build_is_over(self) -> bool:
        """Say whether :meth:`end_build` need not wait."""

    def end_build(self) -> BuildOutcome:
        """Wait for the build; from now on its kernels can be measured, and those from before as well."""

    def abandon_build(self) -> None:
        """End a build that nobody waits for any more; do nothing if there is none."""

    def measure(self, cells: Sequence[Cell], most_s: float | None) -> Iterable[MeasuredCell]:
        """Measure cells of built kernels, problem by problem, in rounds.

        :param most_s: seconds after which no further measurement begins; those that are missing stay open.
        """


class TuneStop(Enum):
    """Why a search ended."""

    #: on no problem it is probable that something is better by more than the tie
    SETTLED = "settled"
    #: the strategy has no further proposal, although something better is probable
    ENDED = "ended"
    BUDGET = "budget"
    #: asked for from outside: Ctrl-C, SIGTERM, SIGHUP
    REQUESTED = "requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search is, after a batch."""

    seconds: float
    #: seconds of planning so far
    planning_s: float
    #: cells with a time
    measured: int
    #: kernels that are built, or were in an earlier session
    built: int
    #: problems with a time
    problems: int
    #: sum over problems of occurrences times the best time, in microseconds, of those that were measured
    total_us: float
    #: best time of each problem in microseconds; infinity without one
    best_us: tuple[float, ...]


@dataclass(slots=True, kw_only=True)
class TuneLimits:
    """When a search ends, whatever its strategy would still like to know."""

    #: seconds; ``None`` for as long as it takes
    budget_s: float | None = None
    #: asked before every batch; a bench asks by itself in between
    should_stop: Callable[[], bool] = lambda: False
    on_progress: Callable[[Progress], None] = lambda progress: None
    #: measurements at most, of all problems together; ``None`` for no limit
    most_cells: int | None = None


@dataclass(slots=True)
class TuneLoop:
    """Runs a search on a bench.

    :param knowledge: what is known already; it grows.
    :param bench: where kernels are measured.
    :param limits: when it ends.
    """

    knowledge: Knowledge
    bench: TuneBench
    limits: TuneLimits
    #: after each batch
    progress: list[Progress] = field(default_factory=list)
    #: kernel -> why it cannot be built
    failures: dict[int, str] = field(default_factory=dict)
    planning_s: float = 0.0
    #: cells of built kernels that are measured next
    _ready: list[Cell] = field(default_factory=list)
    #: cells whose kernels are being built
    _waiting: list[Cell] = field(default_factory=list)
    #: kernels that are being built
    _building: list[int] = field(default_factory=list)

    def run(self, search: Search) -> TuneStop:
        """Search until there is no proposal, or a limit is reached.

        Without a proposal, the search counts as settled.

        :raises CkprofError: kernels cannot be built or measured any more; what is stored stays.
        """
        self.knowledge.overlaps = self.bench.overlaps
        self.knowledge.most_cells = self.limits.most_cells
        try:
            while True:
                stop = self._step(search)
                if stop is not None:
                    return stop
        finally:
            self._forget_plans()

    def _step(self, search: Search) -> TuneStop | None:
        """Choose, measure, or wait for a build; return why the search is over."""
        stop = self._reason_to_stop()
        if stop is not None:
            return stop
        looks_ahead = self.bench.overlaps and not self._building
        if looks_ahead or not self._ready:
            self._accept(self._legal(search), wishes=replans(search))
            if not self._ready:
                if not self._building:
                    return TuneStop.SETTLED
                self._end_build(wishes=replans(search))
                return None
        stop = self._measure_ready()
        if stop is None and self._building and self.bench.build_is_over():
            self._end_build(wishes=replans(search))
        return stop

    def _accept(self, batch: Sequence[Cell], *, wishes: bool) -> None:
        """Take a batch over: what is built is measured next, the build of everything else begins.

        :param wishes: what is to be measured of kernels that are not built is chosen again then.
        """
        knowledge = self.knowledge
        kernel_of = knowledge.space.kernel_of
        for cell in batch:
            is_built = knowledge.built[kernel_of[cell.choice]]
            (self._ready if is_built else self._waiting).append(cell)
            knowledge.pending[cell] = is_built or not wishes
        missing = sorted({int(kernel_of[cell.choice]) for cell in self._waiting})
        if missing and not self._building:
            self._building = missing
            knowledge.building = True
            self.bench.begin_build(missing)

    def _end_build(self, *, wishes: bool) -> None:
        """Wait for the build; what was to be measured then is measured next, or chosen again."""
        knowledge = self.knowledge
        outcome = self.bench.end_build()
        knowledge.costs.builds.saw(outcome.seen)
        self.failures.update(outcome.failures)
        for kernel in self._building:
            if kernel in outcome.failures:
                knowledge.note_broken(kernel)
            else:
                knowledge.built[kernel] = True
        self._building, knowledge.building = [], False
        if not wishes:
            self._ready += [cell for cell in self._waiting if knowledge.possible[cell]]
        self._waiting = []

    def _measure_ready(self) -> TuneStop | None:
        knowledge, bench = self.knowledge, self.bench
        cells, self._ready = self._ready, []
        for cell in cells:
            knowledge.pending[cell] = False
        cells = [cell for cell in cells if knowledge.possible[cell] and not knowledge.measured[cell]]
        before = bench.seconds()
        seen = 0
        for measured in bench.measure(cells, self._left_s()):
            seen += 1
            if measured.time_us is None:
                knowledge.note_failure(measured.cell)
            else:
                knowledge.note_time(measured.cell, measured.time_us)
        knowledge.costs.saw_visits(seen, bench.seconds() - before)
        self._report()
        return self._reason_to_stop()

    def _forget_plans(self) -> None:
        """Leave nothing pending: what is not measured now stays open."""
        self.bench.abandon_build()
        self._ready, self._waiting, self._building = [], [], []
        self.knowledge.pending[:] = False
        self.knowledge.building = False

    def _legal(self, search: Search) -> Sequence[Cell]:
        """Return the next batch, of cells that are supported."""
        knowledge = self.knowledge
        batch: Sequence[Cell] = ()
        knowledge.left_s = self._left_s()
        for _ in range(_REPLANS):
            started = time.perf_counter()
            batch = [Cell._make(cell) for cell in search.propose(knowledge)]
            self.planning_s += time.perf_counter() - started
            if not batch:
                return ()
            rejected = [cell for cell in self.bench.unsupported(batch) if knowledge.possible[cell]]
            for cell in rejected:
                knowledge.note_failure(cell)
            if not set(batch) & set(rejected):
                return self._cut(batch)
        return self._cut([cell for cell in batch if knowledge.possible[cell]])

    def _cut(self, batch: Sequence[Cell]) -> Sequence[Cell]:
        """Return the part of a batch for which there is time: the first kernel that it builds at least."""
        most, knowledge = self.limits.most_cells, self.knowledge
        left_s = self._left_s()
        if left_s is not None:
            numbers = (int(knowledge.space.kernel_of[cell.choice]) for cell in batch)
            new = list(dict.fromkeys(number for number in numbers if not knowledge.built[number]))
            while len(new) > 1 and knowledge.costs.builds.seconds(len(new)) > left_s:
                new.pop()
            batch = [
                cell
                for cell in batch
                if knowledge.built[number := int(knowledge.space.kernel_of[cell.choice])] or number in new
            ]
        if most is None:
            return batch
        return batch[: max(0, most - int((knowledge.measured | knowledge.pending).sum()))]

    def _reason_to_stop(self) -> TuneStop | None:
        if self.limits.should_stop():
            return TuneStop.REQUESTED
        left = self._left_s()
        if left is not None and left <= 0:
            return TuneStop.BUDGET
        most = self.limits.most_cells
        return TuneStop.BUDGET if most is not None and self.knowledge.measured.sum() >= most else None

    def _left_s(self) -> float | None:
        budget = self.limits.budget_s
        return None if budget is None else budget - self.bench.seconds()

    def _report(self) -> None:
        knowledge = self.knowledge
        best: NDArray[np.float64] = np.exp(knowledge.best_log_us)
        timed = np.isfinite(best)
        counts = np.array(knowledge.space.counts)
        progress = Progress(
            seconds=self.bench.seconds(),
            planning_s=self.planning_s,
            measured=int(knowledge.measured.sum()),
            built=int(knowledge.tried.sum()),
            problems=int(timed.sum()),
            total_us=float((counts * np.where(timed, best, 0.0)).sum()),
            best_us=tuple(best.tolist()),
        )
        self.progress.append(progress)
        self.limits.on_progress(progress)
