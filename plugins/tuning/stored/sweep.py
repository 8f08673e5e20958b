"""Sweeps that predict: kernels x problems into a store, each one on the disk before the next begins."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.formatting import counted, duration
from ckprof.measure.options import RunOptions
from ckprof.model.outcome import Status
from ckprof.model.problem import brief
from ckprof.store.errors import require_one_origin
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.identity import new_session
from ckprof.sweep.recording import open_sink
from ckprof_plugins.tuning.gate.baseline import figures_of, figures_of_rejected
from ckprof_plugins.tuning.prediction import predict, predicted_device
from ckprof_plugins.tuning.stored.attempts import evidence_of, predictor_for, shared_of, stored_attempt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session as ProfilerSession
    from ckprof.sweep.recording import Sink
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.tuning.gate.baseline import KernelFigures, LoopInstruction
    from ckprof_plugins.tuning.options import PredictOptions
    from ckprof_plugins.tuning.prediction import Asked, KernelPrediction

    #: problem, content key, splits
    Cell: TypeAlias = tuple[Problem, str, int]


class Ending(Enum):
    """Why a sweep of predictions ended."""

    DONE = "done"
    BUDGET = "the time is over; rerun the same command to resume"
    REQUESTED = "stopped; rerun the same command to resume"


@dataclass(kw_only=True)
class PredictionSweep:
    """What a sweep of predictions did."""

    path: Path
    ending: Ending = Ending.DONE
    #: outcomes that the store had, and those of this session by status
    known: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)
    wall_s: float = 0.0
    #: a kernel failed, now or before
    failed: bool = False
    #: problems of which the store has no predicted time at the end; of a sweep that was stopped, nobody knows
    unserved: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What it did, for people."""
        found = ", ".join(f"{count} {status.value}" for status, count in self.statuses.most_common())
        new = self.statuses.total()
        failed = [
            *(["kernels failed, see 'ckprof results show'"] if self.failed else []),
            *([f"no kernel has a predicted time on {', '.join(self.unserved)}"] if self.unserved else []),
        ]
        return [
            f"{self.ending.value}: {counted(new, 'prediction')} in {duration(self.wall_s)}"
            + (f": {found}" if found else "")
            + (f"; {self.path} had {self.known}" if self.known else ""),
            f"stored in {self.path}: predicted from machine code, nothing was measured",
            *([f"exit code 1: {'; '.join(failed)}"] if failed else []),
        ]


class _EndedError(Exception):
    """The sweep is to end before the next prediction."""


def sweep_predictions(
    session: ProfilerSession, options: PredictOptions, sweep: SweepOptions
) -> PredictionSweep:
    """Build what is missing, predict what the store lacks, and store each prediction before the next begins.

    Of the options of the sweep, those of rounds have no meaning: a prediction is the same every time.

    :raises StoreError: the store cannot be written, or has measured times, or those of another model.
    :raises CkprofError: as :func:`~ckprof_plugins.tuning.prediction.predict` says.
    """
    _, device = predicted_device(session, options)
    with ExitStack() as stack:
        # the store first: who cannot write it need not build for minutes
        sink = open_sink(session, sweep.store, wait=sweep.wait)
        stack.callback(sink.close)
        if isinstance(sink, StoreWriter):
            own = predictor_for(device.arch, device.name).origin
            require_one_origin(sink.reader.origins() | {own}, sink.path)
        recorder = _Recorder(session, options, sweep, sink)
        try:
            predict(session, replace(options, profile=True), recorder.store, recorder.left)
            recorder.result.unserved = tuple(recorder.unserved())
        except _EndedError:
            pass
        found = recorder.result
        found.wall_s = time.monotonic() - recorder.started
        return found


def dry_run(session: ProfilerSession, options: PredictOptions, sweep: SweepOptions) -> str:
    """Return what a sweep would predict, without building anything.

    :raises StoreError: the store cannot be read.
    """
    cells = {
        (case.problem, one.instance.key, split)
        for case in options.problems
        for one in options.selection.candidates
        if case.takes(one.selected())
        for split in case.splits or (1,)
    }
    held: set[Cell] = set()
    path = Path(sweep.store)
    if path.is_file():
        with Store(path) as store:
            held = {(key.problem, key.kernel.instance, key.split_k) for key in (one.key for one in store)}
    kernels, problems = len(options.selection.candidates), len(options.problems)
    of = f"{counted(kernels, 'kernel')} x {counted(problems, 'problem')}"
    return f"{of}: {counted(len(cells), 'prediction')}, {len(cells & held)} of them in the store"


class _Recorder:
    """Adds predictions to a store as they come.

    :param sink: open.
    """

    def __init__(
        self, session: ProfilerSession, options: PredictOptions, sweep: SweepOptions, sink: Sink
    ) -> None:
        self._session, self._options, self._sweep, self._sink = session, options, sweep, sink
        self.result = PredictionSweep(path=sink.path)
        self.started = self._last = time.monotonic()
        self._sequence = 0
        #: content key -> kernel, with the digest of its object
        self._kernels: Mapping[str, SelectedKernel] = {}
        #: problem and splits that a kernel has a time on, of this session or an earlier one
        self._served: set[tuple[Problem, int]] = set()
        #: digest -> instructions, of this session; and digests of loops that the store has
        self._loops: dict[str, tuple[LoopInstruction, ...]] = {}
        self._stored_loops: set[str] = set()

    def left(self, library: BuiltLibrary, asked: Sequence[Asked]) -> Sequence[Asked]:
        """Return what the store lacks; what cannot be built is stored.

        :raises StoreError: the store has other times than those of this model.
        """
        self._predictor = predictor_for(library.recipe.arch, self._options.gpu)
        self._shared = shared_of(library, self._predictor)
        self._record = new_session(
            self._session.manager, RunOptions(), 0, self._sweep.tags, further=self._predictor.environment
        )
        self._kernels = {kernel.key: kernel for kernel in library.kernels}
        had = self._had()
        for rejection in library.rejected:
            kernel = self._kernels[rejection.candidate.instance.key]
            for case in self._options.problems:
                for split in case.splits or (1,) if case.takes(kernel) else ():
                    if (case.problem, kernel.key, split) not in had:
                        self._add(case, figures_of_rejected(rejection, split), rejection.status)
        left = [
            (case, [one for one in kernels if (case.problem, one[0].instance.key, one[1]) not in had])
            for case, kernels in asked
        ]
        self._last = time.monotonic()
        self._stop_if_asked()
        return [(case, kernels) for case, kernels in left if kernels]

    def _had(self) -> set[Cell]:
        """Return what the store has of these kernels as they are built now, and what need not be repeated."""
        found: dict[Cell, Status] = {}
        if not isinstance(self._sink, StoreWriter):
            return set()
        shared = self._shared
        own = (shared.operation, shared.device, shared.toolchain, shared.method)
        for attempt in self._sink.reader.attempts(samples=False):
            key = attempt.key
            if key.origin == self._predictor.origin:
                figures, loop = evidence_of(attempt, self._sink.path)
                self._stored_loops |= {figures.loop} if loop else set()
            kernel = self._kernels.get(key.kernel.instance)
            if kernel is None or key.kernel.object_digest != kernel.object_digest:
                continue
            if (key.operation, key.device, key.toolchain, key.method) == own:
                found[key.problem, kernel.key, key.split_k] = attempt.status
        if self._sweep.fresh:
            return set()
        kept = {
            cell: status
            for cell, status in found.items()
            if not (self._sweep.retry_failed and status.is_failure)
        }
        self._served = {cell[::2] for cell, status in kept.items() if status is Status.OK}
        self.result.known = len(kept)
        self.result.failed = any(status.is_failure for status in kept.values())
        return {*kept}

    def store(self, case: ProblemCase, found: KernelPrediction) -> KernelPrediction:
        """Store a prediction; return what is kept of it in memory."""
        figures = figures_of(found, self._loops)
        self._add(case, figures)
        self._stop_if_asked()
        return replace(found, time=found.time and replace(found.time, profile=None))

    def _add(self, case: ProblemCase, figures: KernelFigures, status: Status | None = None) -> None:
        now = time.monotonic()
        known = figures.loop in self._stored_loops
        attempt = stored_attempt(
            self._shared,
            self._record,
            self._sequence,
            case.problem,
            self._kernels[figures.key],
            figures,
            status=status,
            loop=() if known else self._loops.get(figures.loop, ()),
            wall_s=now - self._last,
        )
        self._sink.append(attempt)
        self._stored_loops.add(figures.loop)
        self._sequence += 1
        self._last = now
        self.result.statuses[attempt.status] += 1
        self.result.failed |= attempt.status.is_failure
        if attempt.status is Status.OK:
            self._served.add((case.problem, figures.split_k))

    def unserved(self) -> Iterator[str]:
        """Yield the problems that no kernel has a time on, as people call them."""
        for case in self._options.problems:
            if not any((case.problem, split) in self._served for split in case.splits or (1,)):
                yield case.name or brief(case.problem)

    def _stop_if_asked(self) -> None:
        limit = self._sweep.max_time_s
        if self._sweep.should_stop():
            self.result.ending = Ending.REQUESTED
        elif limit is not None and time.monotonic() - self.started >= limit:
            self.result.ending = Ending.BUDGET
        if self.result.ending is not Ending.DONE:
            raise _EndedError
