"""Measuring planned visits with the kernels of a built library."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ckprof.model.outcome import MAX_TIME, TIMEOUT, Outcome, Status
from ckprof.run.device_lock import device_lock
from ckprof.run.events import OperandsReady, ProblemStarted, WorkerReady, ignore_event
from ckprof.run.executor import Executor
from ckprof.run.opened_device import OpenedDevice
from ckprof.run.prepare import InsufficientMemoryError, prepare_problem
from ckprof.scratch import scratch_folder
from ckprof.sweep.engine import VisitResult
from ckprof.sweep.observer import Reading, combine
from ckprof.sweep.roofs import measured_roofs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from ckprof.flow.kernel_library import BuiltLibrary, Rejection
    from ckprof.model.accumulation import SplitSum
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.model.outcome import Measurement
    from ckprof.model.problem import Problem
    from ckprof.model.roof import Roof
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import Operation
    from ckprof.rounds.visit import Visit
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions
    from ckprof.sweep.observer import Observer
    from ckprof.sweep.plan import KernelCell, PlannedContest

#: seconds that the bandwidth of a device, and its multiply-adds of one type, are measured for
ROOF_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchKernel:
    """What measuring a kernel needs to know of it."""

    layout: Layout
    dtype: DataType
    split_sum: SplitSum


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLibrary:
    """A kernel library with what measuring its kernels needs to know, wherever it was built."""

    #: ``None`` when not a single kernel compiled
    path: Path | None
    direction: Operation
    #: id of the target
    target: str
    arch: str
    #: content key of an instance -> its kernel, the rejected ones included
    kernels: Mapping[str, BenchKernel]
    #: content key of an instance without a kernel -> the outcome that it has already
    rejections: Mapping[str, VisitResult]


def bench_library(library: BuiltLibrary) -> BenchLibrary:
    """Return what measuring the kernels of a library that was built here needs to know."""
    return BenchLibrary(
        path=library.path,
        direction=library.direction,
        target=library.recipe.target,
        arch=library.recipe.arch,
        kernels={
            one.instance.key: BenchKernel(
                layout=one.instance.layout, dtype=one.instance.dtype, split_sum=one.instance.split_sum
            )
            for one in library.candidates
        },
        rejections={one.candidate.instance.key: rejected_result(one) for one in library.rejected},
    )


class BenchHooks(Protocol):
    """Who is notified of problems and outcomes."""

    def before_problem(self, planned: PlannedContest) -> None:
        """Be notified that kernels are about to be run on a problem."""

    def after_outcome(self, planned: PlannedContest, outcome: Outcome) -> None:
        """Be notified of an outcome as soon as it is known."""


class NoHooks:
    """Notifies nobody: in workers, whose outcomes are announced where they are collected."""

    def before_problem(self, planned: PlannedContest) -> None:
        """Do nothing."""

    def after_outcome(self, planned: PlannedContest, outcome: Outcome) -> None:
        """Do nothing."""


class PluginHooks:
    """Notifies plugins.

    :param library: the built kernels.
    :param manager: whose hooks are called.
    """

    def __init__(self, library: BuiltLibrary, manager: PluginManager) -> None:
        self._direction = library.direction.id
        self._instances = {one.instance.key: one.instance for one in library.candidates}
        self._manager = manager

    def before_problem(self, planned: PlannedContest) -> None:
        """Call ``ckprof_before_problem``."""
        self._manager.call(
            "ckprof_before_problem",
            direction=self._direction,
            problem=planned.problem,
            problem_index=planned.problem_index,
        )

    def after_outcome(self, planned: PlannedContest, outcome: Outcome) -> None:
        """Call ``ckprof_after_outcome``."""
        self.announce(planned.problem, outcome)

    def announce(self, problem: Problem, outcome: Outcome) -> None:
        """Call ``ckprof_after_outcome``, for an outcome that came from elsewhere as well."""
        instance = self._instances[outcome.key]
        self._manager.call("ckprof_after_outcome", instance=instance, problem=problem, outcome=outcome)


class KernelBench:
    """Measures kernels one at a time in worker processes, alone on the device.

    A context manager: entering starts a worker and takes the device's lock, leaving ends the worker.

    :param library: the built kernels; those that it rejected have their outcome already.
    :param options: how kernels are run, verified and timed.
    :param hooks: notified of problems and outcomes.
    :param observers: what reads evidence between rounds.
    :param on_event: told what happens.
    :param takes_lock: take the device's lock; of several benches of one process, one takes it for all.
    :param device_label: what the device is called on its host, where that is not its index.
    """

    def __init__(
        self,
        library: BenchLibrary,
        options: RunOptions,
        hooks: BenchHooks,
        observers: Sequence[Observer] = (),
        on_event: Callable[[RunEvent], None] = ignore_event,
        *,
        takes_lock: bool = True,
        device_label: str = "",
    ) -> None:
        self._library = library
        self._takes_lock = takes_lock
        self._label = device_label or str(options.device)
        self._options = options
        self._hooks = hooks
        self._observers = observers
        self._on_event = on_event
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
                    arch=self._library.arch,
                    options=self._options,
                    work_dir=self._folder,
                    on_event=self._pass_on,
                )
            )
            target = self._executor.open().target
            if self._takes_lock:
                stack.enter_context(device_lock(target, self._label, self._on_event))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, value, trace)

    def open_problem(self, planned: PlannedContest) -> None:
        """Compute operands and reference, and have workers load them."""
        self._hooks.before_problem(planned)
        self._on_event(ProblemStarted(problem_index=planned.problem_index, problem=planned.problem))
        self._blocking = None
        runnable = [key for key in planned.kernels if key not in self._library.rejections]
        if self._executor is None or not runnable:
            return
        if self._operands is not None:
            shutil.rmtree(self._operands, ignore_errors=True)
        self._operands = Path(tempfile.mkdtemp(prefix="problem-", dir=self._folder))
        first = self._library.kernels[runnable[0]]
        try:
            prepared = prepare_problem(
                self._library.direction,
                planned.problem,
                first.layout,
                first.dtype,
                self._options,
                self._operands,
                can_check=self._executor.can_check,
            )
        except InsufficientMemoryError as exc:
            self._blocking = VisitResult(status=Status.UNSUPPORTED, reason=str(exc), requirements=("memory",))
            return
        self._on_event(
            OperandsReady(
                problem_index=planned.problem_index,
                layout=first.layout,
                dtype=first.dtype,
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
        rejection = self._library.rejections.get(cell.instance)
        if rejection is not None:
            return self._announce(planned, visit, rejection, None)
        if self._blocking is not None:
            return self._announce(planned, visit, self._blocking, None)
        if self._executor is None:
            raise ValueError("the bench is not open")
        outcome = self._executor.measure(
            cell.instance,
            planned.problem_index,
            cell.split_k,
            self._library.kernels[cell.instance].split_sum,
        )
        return self._announce(planned, visit, _result(outcome, self._options.min_samples), outcome)

    def measure_roofs(self) -> tuple[Roof, ...]:
        """Measure what the device reaches at most, for the types of the library's kernels.

        :raises ToolchainError: workers do not start any more.
        """
        executor = self._executor
        if executor is None:
            return ()
        dtypes = dict.fromkeys(one.dtype for one in self._library.kernels.values())
        return measured_roofs(lambda dtype: executor.measure_roof(dtype, ROOF_S), list(dtypes))

    def observe(self) -> Reading:
        """Return what all observers see."""
        target, device = self._library.target, self._options.device
        found = (observer.read(target, device) for observer in self._observers)
        return combine([reading for reading in found if reading is not None])

    def _announce(
        self,
        planned: PlannedContest,
        visit: Visit[KernelCell],
        result: VisitResult,
        outcome: Outcome | None,
    ) -> VisitResult:
        """Announce each outcome as soon as it is known."""
        if outcome is None:
            outcome = Outcome(
                key=visit.cell.instance,
                problem_index=planned.problem_index,
                status=result.status,
                reason=result.reason,
                split_k=visit.cell.split_k,
                split_k_deduced=visit.cell.split_k < 1,
            )
        self._hooks.after_outcome(planned, outcome)
        return result

    def _pass_on(self, event: RunEvent) -> None:
        if isinstance(event, WorkerReady):
            self.device = OpenedDevice.of(event)
        self._on_event(event)


def rejected_result(rejection: Rejection) -> VisitResult:
    """Return the outcome of an instance without a kernel."""
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
