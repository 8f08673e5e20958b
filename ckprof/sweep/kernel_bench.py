"""Measuring planned visits with the kernels of a built library."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.model.outcome import MAX_TIME, TIMEOUT, Outcome, Status
from ckprof.run.device_lock import device_lock
from ckprof.run.events import OperandsReady, ProblemStarted, WorkerReady, ignore_event
from ckprof.run.executor import Executor
from ckprof.run.opened_device import OpenedDevice
from ckprof.run.prepare import InsufficientMemoryError, prepare_problem
from ckprof.scratch import scratch_folder
from ckprof.sweep.engine import VisitResult
from ckprof.sweep.observer import Reading, combine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from ckprof.flow.kernel_library import BuiltLibrary, Rejection
    from ckprof.model.outcome import Measurement
    from ckprof.plugin.manager import PluginManager
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions
    from ckprof.sweep.observer import Observer
    from ckprof.sweep.plan import KernelCell, PlannedContest
    from ckprof.sweep.visit import Visit


class KernelBench:
    """Measures kernels one at a time in worker processes, alone on the device.

    A context manager: entering starts a worker and takes the device's lock, leaving ends the worker.

    :param library: the built kernels; those that it rejected have their outcome already.
    :param options: how kernels are run, verified and timed.
    :param manager: whose hooks are called.
    :param observers: what reads evidence between rounds.
    :param on_event: told what happens.
    :param takes_lock: take the device's lock; of several benches of one process, one takes it for all.
    """

    def __init__(
        self,
        library: BuiltLibrary,
        options: RunOptions,
        manager: PluginManager,
        observers: Sequence[Observer] = (),
        on_event: Callable[[RunEvent], None] = ignore_event,
        *,
        takes_lock: bool = True,
    ) -> None:
        self._library = library
        self._takes_lock = takes_lock
        self._options = options
        self._manager = manager
        self._observers = observers
        self._on_event = on_event
        self._instances = {one.instance.key: one.instance for one in library.candidates}
        self._rejections = {one.candidate.instance.key: one for one in library.rejected}
        self._stack = ExitStack()
        self._executor: Executor | None = None
        self._folder = Path()
        self._operands: Path | None = None
        #: why no kernel can run on the current problem
        self._blocking: VisitResult | None = None
        #: what the target says of the device; empty until it is opened, or without a library
        self.device = OpenedDevice()

    def __enter__(self) -> KernelBench:
        if self._library.path is None:
            return self
        with ExitStack() as stack:
            self._folder = stack.enter_context(scratch_folder())
            self._executor = stack.enter_context(
                Executor(
                    self._library.path,
                    arch=self._library.recipe.arch,
                    options=self._options,
                    work_dir=self._folder,
                    on_event=self._pass_on,
                )
            )
            target = self._executor.open().target
            if self._takes_lock:
                stack.enter_context(device_lock(target, self._options.device, self._on_event))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, value, trace)

    def open_problem(self, planned: PlannedContest) -> None:
        """Compute operands and reference, and have workers load them."""
        self._manager.call(
            "ckprof_before_problem",
            direction=self._library.direction.id,
            problem=planned.problem,
            problem_index=planned.problem_index,
        )
        self._on_event(ProblemStarted(problem_index=planned.problem_index, problem=planned.problem))
        self._blocking = None
        runnable = [key for key in planned.kernels if key not in self._rejections]
        if self._executor is None or not runnable:
            return
        if self._operands is not None:
            shutil.rmtree(self._operands, ignore_errors=True)
        self._operands = Path(tempfile.mkdtemp(prefix="problem-", dir=self._folder))
        instance = self._instances[runnable[0]]
        try:
            prepared = prepare_problem(
                self._library.direction,
                planned.problem,
                instance.layout,
                instance.dtype,
                self._options,
                self._operands,
            )
        except InsufficientMemoryError as exc:
            self._blocking = VisitResult(status=Status.UNSUPPORTED, reason=str(exc), requirements=("memory",))
            return
        self._on_event(
            OperandsReady(
                problem_index=planned.problem_index,
                layout=instance.layout,
                dtype=instance.dtype,
                instances=len(runnable),
                seconds=prepared.seconds,
            )
        )
        self._executor.set_problem(prepared)

    def measure(self, planned: PlannedContest, visit: Visit[KernelCell]) -> VisitResult:
        """Measure one kernel once.

        :raises ToolchainError: workers do not start any more.
        """
        cell = visit.cell
        rejection = self._rejections.get(cell.instance)
        if rejection is not None:
            return self._announce(planned, visit, _rejected(rejection), None)
        if self._blocking is not None:
            return self._announce(planned, visit, self._blocking, None)
        if self._executor is None:
            raise ValueError("the bench is not open")
        outcome = self._executor.measure(
            cell.instance,
            planned.problem_index,
            cell.split_k,
            self._instances[cell.instance].split_sum,
        )
        return self._announce(planned, visit, _result(outcome, self._options.min_samples), outcome)

    def observe(self) -> Reading:
        """Return what all observers see."""
        target, device = self._library.recipe.target, self._options.device
        found = (observer.read(target, device) for observer in self._observers)
        return combine([reading for reading in found if reading is not None])

    def _announce(
        self,
        planned: PlannedContest,
        visit: Visit[KernelCell],
        result: VisitResult,
        outcome: Outcome | None,
    ) -> VisitResult:
        """Tell plugins each outcome as soon as it is known."""
        if outcome is None:
            outcome = Outcome(
                key=visit.cell.instance,
                problem_index=planned.problem_index,
                status=result.status,
                reason=result.reason,
                split_k=visit.cell.split_k,
                split_k_deduced=visit.cell.split_k < 1,
            )
        instance = self._instances[visit.cell.instance]
        self._manager.call(
            "ckprof_after_outcome", instance=instance, problem=planned.problem, outcome=outcome
        )
        return result

    def _pass_on(self, event: RunEvent) -> None:
        if isinstance(event, WorkerReady):
            self.device = OpenedDevice.of(event)
        self._on_event(event)


def _rejected(rejection: Rejection) -> VisitResult:
    return VisitResult(
        status=rejection.status,
        reason=rejection.reason,
        requirements=tuple(dict.fromkeys(one.rule for one in rejection.unmet_requirements)),
    )


def _result(outcome: Outcome, fewest: int) -> VisitResult:
    measured = outcome.measurement
    return VisitResult(
        status=outcome.status,
        reason=outcome.reason,
        requirements=tuple(dict.fromkeys(one.rule for one in outcome.unmet_requirements)),
        split_chosen=outcome.split_k if outcome.split_k >= 1 else None,
        measurement=measured,
        verification=outcome.verification,
        cut_off=measured is not None and _is_cut_off(measured, fewest),
    )


def _is_cut_off(measured: Measurement, fewest: int) -> bool:
    """Say whether there was too little time: that a round's time ends the sampling is usual."""
    few = measured.stopped_by == MAX_TIME and measured.samples < fewest
    return few or measured.stopped_by == TIMEOUT
