"""The search itself: propose, ask for support, build, measure, learn; until it is enough or time is over.

Where kernels run on a device, the CPU is free meanwhile: what is to be built next is chosen, and its build
begun, before the kernels of the build before are measured. What is known then is what was measured so far,
and which measurements are to come; and while a build is under way, what is built already may be measured
further. So building costs little time of its own where measuring takes as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from ckprof.events import StatusLine
from ckprof.formatting import counted
from ckprof_plugins.tuning.search.observations import Pair
from ckprof_plugins.tuning.strategies import replans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.model.ranking import KernelTime
    from ckprof_plugins.tuning.options import SearchOptions
    from ckprof_plugins.tuning.search.observations import Costs, Observations
    from ckprof_plugins.tuning.strategies import Search


#: a pair and its time by all visits; ``None`` where the latest one failed
MeasuredPair: TypeAlias = "tuple[Pair, KernelTime | None]"

#: kernels of each problem that are measured again at the end, about and at most; and the share of the budget
#: that is kept for it at most
_FINALISTS: Final = 4
_MOST_FINALISTS: Final = 16
_RESERVED: Final = 0.1
#: proposals in a row whose kernels turn out not to support their problems; the rest is measured then
_REPLANS: Final = 4


class TuneBench(Protocol):
    """Where kernels are asked, built and measured."""

    @property
    def overlaps(self) -> bool:
        """Whether kernels can be measured while others are built, without disturbing each other."""

    def seconds(self) -> float:
        """Return the seconds that were spent so far."""

    def unsupported(self, pairs: Sequence[Pair]) -> Iterable[Pair]:
        """Return pairs that their kernels' own tests reject, at least those among the given ones.

        Nothing is built for the device.
        """

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Begin to build kernels in addition to those that are built; there is one build at a time."""

    def build_is_over(self) -> bool:
        """Say whether :meth:`end_build` need not wait."""

    def end_build(self, costs: Costs) -> Mapping[int, str]:
        """Wait for the build; from now on its kernels can be measured, and those from before as well.

        :param costs: learn from the build.
        :returns: kernel -> why it cannot be built.
        """

    def abandon_build(self) -> None:
        """Abandon a running build, if there is one."""

    def measure(self, pairs: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Measure pairs of built kernels, problem by problem, in rounds.

        :param most_s: seconds after which no further measurement begins; those that are missing stay open.
        """

    @property
    def visits(self) -> int:
        """How often what may be the best is measured at least; everything else is visited once."""

    def confirm(self, pairs: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Measure pairs that were visited once, of built kernels, as often as what may be the best.

        :param most_s: seconds after which no further measurement begins.
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
class SearchProgress(StatusLine):
    """A batch is measured: how far the search is."""

    seconds: float
    #: pairs with a time
    measured: int
    #: kernels that are built, or were in an earlier session
    built: int
    #: problems with a time
    problems: int
    #: sum over problems of occurrences times the best time, in microseconds, of those that were measured
    total_us: float
    #: best time of each problem in microseconds; infinity without one
    best_us: tuple[float, ...]
    #: kernels of the search space
    kernels: int

    @property
    def text(self) -> str:
        """Time, what is built and measured, and the best times in milliseconds, as sweeps show them."""
        return (
            f"tune: {self.seconds:.4g} s, {self.built} of {counted(self.kernels, 'kernel')} built, "
            f"{counted(self.measured, 'measurement')}, sum of best times {self.total_us / 1000:.4g} ms "
            f"over {self.problems} of {counted(len(self.best_us), 'problem')}"
        )


class TuneLoop:
    """Runs a search on a bench.

    :param observations: what is known already; it grows.
    :param bench: where kernels are measured.
    :param options: limits, and whether to stop: asked before every batch; a bench asks by itself in between.
    :param on_progress: called after each batch.
    """

    def __init__(
        self,
        observations: Observations,
        bench: TuneBench,
        options: SearchOptions,
        on_progress: Callable[[SearchProgress], None] = lambda progress: None,
    ) -> None:
        self.observations, self.bench, self.options = observations, bench, options
        observations.most_pairs = options.most_measurements
        self._on_progress = on_progress
        #: after each batch
        self.progress: list[SearchProgress] = []
        #: kernel -> why it cannot be built
        self.failures: dict[int, str] = {}
        self.planning_s = 0.0
        #: pairs of built kernels that are measured next
        self._ready: list[Pair] = []
        #: pairs whose kernels are being built
        self._waiting: list[Pair] = []
        #: kernels that are being built
        self._building: list[int] = []
        #: what is to be measured of kernels that are not built is chosen again when they are
        self._wishes = False

    def run(self, search: Search) -> TuneStop:
        """Search until there is no proposal, or a limit is reached.

        Without a proposal, the search counts as settled.

        :raises CkprofError: kernels cannot be built or measured any more; what is stored stays.
        """
        self.observations.overlaps = self.bench.overlaps
        self._wishes = replans(search)
        try:
            while (stop := self._step(search)) is None:
                pass
            if stop is not TuneStop.REQUESTED:
                self._confirm()
            return stop
        finally:
            self._forget_plans()

    def _step(self, search: Search) -> TuneStop | None:
        """Choose, measure, or wait for a build; return why the search is over."""
        if (stop := self._reason_to_stop()) is not None:
            return stop
        looks_ahead = self.bench.overlaps and not self._building
        if looks_ahead or not self._ready:
            self._accept(self._legal(search))
            if not self._ready:
                if not self._building:
                    return TuneStop.SETTLED
                self._end_build()
                return None
        stop = self._measure_ready()
        if stop is None and self._building and self.bench.build_is_over():
            self._end_build()
        return stop

    def _accept(self, batch: Sequence[Pair]) -> None:
        """Take a batch over: what is built is measured next, the build of everything else begins."""
        observations = self.observations
        kernel_of = observations.space.kernel_of
        for pair in batch:
            is_built = observations.built[kernel_of[pair.choice]]
            (self._ready if is_built else self._waiting).append(pair)
            observations.pending[pair] = is_built or not self._wishes
        missing = sorted({int(kernel_of[pair.choice]) for pair in self._waiting})
        if missing and not self._building:
            self._building = missing
            observations.building = True
            self.bench.begin_build(missing)

    def _end_build(self) -> None:
        """Wait for the build; what was to be measured then is measured next, or chosen again."""
        observations = self.observations
        failures = self.bench.end_build(observations.costs)
        self.failures.update(failures)
        for kernel in self._building:
            if kernel in failures:
                observations.note_broken(kernel)
            else:
                observations.built[kernel] = True
        self._building, observations.building = [], False
        if not self._wishes:
            self._ready += [pair for pair in self._waiting if observations.possible[pair]]
        self._waiting = []

    def _measure_ready(self) -> TuneStop | None:
        observations, bench = self.observations, self.bench
        pairs, self._ready = self._ready, []
        for pair in pairs:
            observations.pending[pair] = False
        pairs = [pair for pair in pairs if observations.possible[pair] and not observations.measured[pair]]
        before = bench.seconds()
        seen = 0
        for pair, kernel_time in bench.measure(pairs, self._left_s()):
            seen += 1
            observations.note(pair, kernel_time)
        observations.costs.saw_visits(seen, bench.seconds() - before)
        self._report()
        return self._reason_to_stop()

    def _confirm(self) -> None:
        """Measure again what may be the fastest of each problem, as far as there is time."""
        visit_s = self._further_s() / _FINALISTS
        left_s = self._left_s(reserved_s=0.0)
        most = _MOST_FINALISTS
        if left_s is not None and visit_s > 0:
            most = min(most, max(2, int(left_s / visit_s)))
        observations, kernel_of = self.observations, self.observations.space.kernel_of
        pairs = observations.finalists(most, self.bench.visits)
        # of an earlier session that was stopped before this
        built = {*np.flatnonzero(observations.built).tolist()}
        missing = sorted({int(kernel_of[pair.choice]) for pair in pairs} - built)
        build_s = observations.costs.build_s(len(missing))
        if missing and not self._building and (left_s is None or build_s < left_s):
            self._building = missing
            self.bench.begin_build(missing)
            self._end_build()
            left_s = self._left_s(reserved_s=0.0)
        pairs = [pair for pair in pairs if observations.built[kernel_of[pair.choice]]]
        if pairs and (left_s is None or left_s > 0):
            for pair, kernel_time in self.bench.confirm(pairs, left_s):
                self.observations.note(pair, kernel_time)
            self._report()

    def _further_s(self) -> float:
        """Return what measuring the usual number of finalists again takes."""
        observations = self.observations
        problems = int(observations.possible.any(axis=1).sum())
        return _FINALISTS * problems * (self.bench.visits - 1) * observations.costs.visit_s

    def _forget_plans(self) -> None:
        """Leave nothing pending: what is not measured now stays open."""
        self.bench.abandon_build()
        self._ready, self._waiting, self._building = [], [], []
        self.observations.pending[:] = False
        self.observations.building = False

    def _legal(self, search: Search) -> Sequence[Pair]:
        """Return the next batch, of pairs that are supported."""
        observations = self.observations
        batch: Sequence[Pair] = ()
        observations.left_s = self._left_s()
        for _ in range(_REPLANS):
            started = time.perf_counter()
            batch = [Pair._make(pair) for pair in search.propose(observations)]
            self.planning_s += time.perf_counter() - started
            if not batch:
                return ()
            rejected = [pair for pair in self.bench.unsupported(batch) if observations.possible[pair]]
            for pair in rejected:
                observations.note(pair, None)
            if not set(batch) & set(rejected):
                return self._cut(batch)
        return self._cut([pair for pair in batch if observations.possible[pair]])

    def _cut(self, batch: Sequence[Pair]) -> Sequence[Pair]:
        """Return the part of a batch for which there is time: the first kernel that it builds at least."""
        observations, left_s = self.observations, self._left_s()
        if left_s is not None:
            numbers = [int(observations.space.kernel_of[pair.choice]) for pair in batch]
            new = list(dict.fromkeys(number for number in numbers if not observations.built[number]))
            while len(new) > 1 and observations.costs.build_s(len(new)) > left_s:
                new.pop()
            kept = {*new, *observations.built.nonzero()[0].tolist()}
            batch = [pair for pair, number in zip(batch, numbers, strict=True) if number in kept]
        if (most := self.options.most_measurements) is not None:
            return batch[: max(0, most - int((observations.measured | observations.pending).sum()))]
        return batch

    def _reason_to_stop(self) -> TuneStop | None:
        if self.options.should_stop():
            return TuneStop.REQUESTED
        left, most = self._left_s(), self.options.most_measurements
        spent = (left is not None and left <= 0) or (
            most is not None and self.observations.measured.sum() >= most
        )
        return TuneStop.BUDGET if spent else None

    def _left_s(self, reserved_s: float | None = None) -> float | None:
        """Return the seconds that are left; ``None`` without a budget.

        :param reserved_s: for what comes last; ``None`` for measuring finalists again.
        """
        budget = self.options.budget_s
        if budget is None:
            return None
        if reserved_s is None:
            reserved_s = min(self._further_s(), _RESERVED * budget)
        return budget - reserved_s - self.bench.seconds()

    def _report(self) -> None:
        observations = self.observations
        best: NDArray[np.float64] = np.exp(observations.best_log_us)
        timed = np.isfinite(best)
        counts = np.array(observations.space.counts)
        progress = SearchProgress(
            seconds=self.bench.seconds(),
            measured=int(observations.measured.sum()),
            built=int(observations.tried.sum()),
            problems=int(timed.sum()),
            total_us=float((counts * np.where(timed, best, 0.0)).sum()),
            best_us=tuple(best.tolist()),
            kernels=len(observations.space.kernels),
        )
        self.progress.append(progress)
        self._on_progress(progress)
