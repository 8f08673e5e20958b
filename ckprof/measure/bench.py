"""Measures the kernels of a built library one at a time in worker processes, alone on the device."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.files import scratch_folder
from ckprof.measure.baselines import Baselines
from ckprof.measure.canary import canaries_lost
from ckprof.measure.executor import Executor
from ckprof.measure.observers import combine
from ckprof.measure.options import ReferencePlace
from ckprof.measure.prepare import InsufficientMemoryError, prepare_problem
from ckprof.measure.second_problems import SecondProblems
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.workers import device_lock
from ckprof.model.device import DeviceIdentity, Reading
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import NOT_ASKED, UnmetRequirement
from ckprof.model.tensor import layout_named
from ckprof.model.types import types_on
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof.session import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from ckprof.events import Event
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.kernel_measurement import Verified
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.rounds import KernelConfiguration, PlannedSample
    from ckprof.measure.rounds_loop import KernelGroup
    from ckprof.measure.verify.storage import StoredFile
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType, TypeSet
    from ckprof.plugin.protocols import Observer, Operation

#: of so many later samples, one at random verifies the kernel as the first one does
_TRIALS_PER_WHOLE: Final = 16
#: seconds that the bandwidth of a device, and its multiply-adds of one type, are measured for
PEAK_S: Final = 0.1
#: what operands and references may take on the disk between the passes: bytes, share of what is free, and
#: files, which are open; those that do not fit are computed again
_MOST_KEPT_BYTES: Final = 2**33
_MOST_KEPT_SHARE: Final = 0.25
_MOST_KEPT_FILES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLibrary:
    """A kernel library with what measuring its kernels needs to know, wherever it was built."""

    #: ``None`` when not a single kernel compiled
    path: Path | None
    operation: Operation
    #: id of the target
    target: str
    arch: str
    #: content key of an instance without a kernel -> the outcome that it has already
    rejections: Mapping[str, Outcome]
    #: environment variables that its device reads
    worker_variables: Mapping[str, str] = field(default_factory=dict)
    #: content key of an instance -> :meth:`~ckprof.plugin.protocols.Pipeline.second_problems`
    second_problems: Mapping[str, Sequence[Sequence[Problem]]] = field(default_factory=dict)

    @classmethod
    def of(cls, library: BuiltLibrary) -> BenchLibrary:
        """Return a library that was built here."""
        return cls(
            path=library.path,
            operation=library.direction,
            target=library.recipe.target,
            arch=library.recipe.arch,
            rejections={one.outcome.key: one.outcome for one in library.rejected},
            worker_variables=dict(library.recipe.worker_variables),
            second_problems={
                built.instance.key: built.pipeline.second_problems(built.instance)
                for built in library.built
                if offers(built.pipeline, Pipeline.second_problems)
            },
        )

    def layout(self, kernel: SelectedKernel) -> Layout:
        """Return the layout of a kernel."""
        if (layout := layout_named(self.operation.layouts, kernel.layout)) is None:
            raise ValueError(f"operation {self.operation.id} has no layout {kernel.layout!r}")
        return layout

    def outcome_of(self, kernel: SelectedKernel, problem: Problem) -> Outcome | None:
        """Return the outcome of a kernel that is known without running it, as that of the first problem."""
        if (rejection := self.rejections.get(kernel.key)) is not None:
            return rejection
        unmet = problem.unmet_by(self.layout(kernel))
        return _unsupported(unmet) if unmet is not None else None


class GroupOperands:
    """Operands of a problem and what is known of results with them."""

    def __init__(self) -> None:
        self.prepared: PreparedProblem | None = None
        #: the same in files, for baselines that no device verifies
        self.on_host: PreparedProblem | None = None
        #: those with exact sums, as far as they were needed, or why there is no memory for them
        self.exact: dict[ExactKind, PreparedProblem | str] = {}
        #: cell -> what was found right in its last sample; of those that were not measured there is none
        self.verified: dict[KernelConfiguration, Verified | None] = {}
        #: why no kernel of the group can run
        self.blocked: Outcome | None = None
        #: removes them
        self.stack = ExitStack()

    @property
    def files(self) -> list[StoredFile]:
        """The files that they are in."""
        found = (self.prepared, self.on_host, *self.exact.values())
        return [file for one in found if one is not None and not isinstance(one, str) for file in one.files]


#: problem, layout, types and what sums are exact in, ``None`` for usual operands -> operands
KeptOperands = dict[tuple["Problem", str, "TypeSet", "ExactKind | None"], GroupOperands]


class KernelBench:
    """Measures kernels one at a time in worker processes.

    A context manager: entering starts a worker and takes the device's lock, unless nothing is timed; leaving
    ends the worker.

    :param library: the built kernels; those that it rejected have their outcome already.
    :param options: how kernels are run, verified and timed.
    :param observers: what reads evidence between rounds.
    :param on_event: called with what happens.
    :param before_problem: called with each problem and its position before its first group.
    :param lock: what the device is called on its host, where that is not its index; ``None``: another bench
        of this process has the device's lock.
    :param lock_folder: of the lock files, if not the usual one.
    :param baselines: what is measured as well, on the same operands.
    """

    def __init__(
        self,
        library: BenchLibrary,
        options: RunOptions,
        observers: Sequence[Observer] = (),
        on_event: Callable[[Event], None] = ignore,
        *,
        before_problem: Callable[[Problem, int], None] = lambda problem, index: None,
        lock: str | None = "",
        lock_folder: Path | None = None,
        baselines: Baselines | None = None,
    ) -> None:
        self.library = library
        #: object with the canaries, which are measured before each round; ``None`` without any
        self.canary: Path | None = None
        self._options, self._observers = options, observers
        self._on_event, self._before_problem = on_event, before_problem
        self._lock, self._lock_folder = lock, lock_folder
        self.baselines = baselines or Baselines()
        self._stack, self._folder = ExitStack(), Path()
        #: asks and runs kernels; ``None`` until the bench is open, and without a library
        self.executor: Executor | None = None
        #: the problems that were started
        self._started: set[tuple[int, Problem]] = set()
        #: what is known of kernels by their second problems
        self.second = SecondProblems(self, options)
        #: the group that was opened last, with its operands
        self._group: KernelGroup | None = None
        self._operands = GroupOperands()
        #: operands that the next passes need as well
        self._kept: KeptOperands = {}
        #: what the target says of the device, in one line for people; empty until it is opened, or without a
        #: library
        self.device = ""
        #: what tells the device from others, as far as the target says it
        self.identity = DeviceIdentity()

    def __enter__(self) -> KernelBench:
        library = self.library
        if library.path is None:
            return self
        with ExitStack() as stack:
            self._folder = stack.enter_context(scratch_folder())
            executor = Executor(
                library.path,
                arch=library.arch,
                options=self._options,
                work_dir=self._folder,
                variables=library.worker_variables,
                on_event=self._on_event,
            )
            self.executor = stack.enter_context(executor)
            opened = executor.open()
            self.device = opened.device
            self.identity = opened.identity or DeviceIdentity(model=opened.device)
            self._on_event(Message(f"device: {self.device}", Level.DETAIL))
            if self._options.device_name:
                text = f"times are those that this machine takes for {self.device}: no hardware's"
                self._on_event(Message(text, Level.WARNING))
            if self._lock is not None and self._options.min_samples:
                name = self._lock or self._options.device
                stack.enter_context(device_lock(opened.target, name, self._on_event, self._lock_folder))
            baselines = self.baselines.opened(
                self._options, self._folder, self._on_event, library.path, library.arch
            )
            stack.enter_context(baselines)
            stack.callback(self._close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, value, trace)

    # --- groups -------------------------------------------------------------------------------------------

    def open_group(self, group: KernelGroup) -> None:
        """Have workers load operands and reference, computed where no earlier pass has left them."""
        if (group.problem_index, group.problem) not in self._started:
            self._started.add((group.problem_index, group.problem))
            self._before_problem(group.problem, group.problem_index)
        self._leave_group()
        self._group, self._operands = group, self.operands_of(group, self._kept)

    def operands_of(
        self, group: KernelGroup, kept: KeptOperands, exact: ExactKind | None = None
    ) -> GroupOperands:
        """Have workers load operands of a group, and return them: kept ones where there are any.

        :param exact: what sums are exact in, if operands are to be such.
        """
        outcome_of = self.library.outcome_of
        first = next((one for one in group.kernels.values() if outcome_of(one, group.problem) is None), None)
        if self.executor is None or first is None:
            return GroupOperands()
        operands = kept.setdefault((group.problem, first.layout, first.types, exact), GroupOperands())
        if operands.prepared is None:
            try:
                operands.prepared = self._prepare(operands, group, first, self._options, exact)
            except InsufficientMemoryError as exc:
                operands.blocked = _unsupported(UnmetRequirement(rule="memory", message=str(exc)))
                return operands
            made = f"{first.dtype.value} {first.layout} operands and reference"
            text = f"problem {group.problem_index}: {made} in {operands.prepared.seconds:.2f} s"
            self._on_event(Message(text, Level.DETAIL))
        operands.blocked = None
        self.executor.set_problem(operands.prepared)
        return operands

    def _prepare(
        self,
        operands: GroupOperands,
        group: KernelGroup,
        kernel: SelectedKernel,
        options: RunOptions,
        exact: ExactKind | None = None,
    ) -> PreparedProblem:
        folder = tempfile.TemporaryDirectory(prefix="problem-", dir=self._folder)
        types, into = types_on(kernel.types, self.library.arch), Path(operands.stack.enter_context(folder))
        of = self.library.operation, group.problem, self.library.layout(kernel), types, options, into
        can_check = self.executor is not None and self.executor.can_check
        prepared = prepare_problem(*of, can_check=can_check, exact=exact)
        operands.stack.callback(prepared.close)
        return prepared

    def _leave_group(self) -> None:
        """Keep the operands of the group if another pass needs them, and there is room."""
        over, self._group = self._group is None or self._group.ranking.ending is not None, None
        kept = [file for one in self._kept.values() for file in one.files]
        needed = sum(file.size_bytes for file in kept)
        room = min(_MOST_KEPT_BYTES, _MOST_KEPT_SHARE * (shutil.disk_usage(self._folder).free + needed))
        fits = needed <= room and len(kept) <= _MOST_KEPT_FILES
        for key in [key for key, one in self._kept.items() if one is self._operands and (over or not fits)]:
            self._kept.pop(key).stack.close()
        # the next group may have none: it must not give these back
        self._operands = GroupOperands()
        while self.second.operands:
            self.second.operands.popitem()[1].stack.close()

    def _close(self) -> None:
        for operands in (*self._kept.values(), *self.second.operands.values()):
            operands.stack.close()

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure one kernel of the group that was opened last once.

        It is verified in its first sample, and in later ones at random; in others some launches are. After
        the first one it is verified on its second problems.

        :raises DeviceLostError: the device is of no use any more since the kernel was launched.
        :raises ToolchainError: workers do not start any more.
        """
        outcome, options = self.sample(group, self._operands, planned), self._options
        # where nothing is timed, problems were chosen to tell something
        asked = options.verify and options.second_problem and options.min_samples
        key = planned.cell.instance
        if not asked or outcome.status is not Status.OK or not self.second.is_due(key, group.problem):
            return outcome
        self.second.verify(group, group.kernels[key], partial(self.operands_of, group, self._kept))
        right = replace(outcome, second=self.second.digest(key))
        return self.sample(group, self._operands, planned) if key in self.second.failed else right

    def sample(
        self, group: KernelGroup, operands: GroupOperands, planned: PlannedSample[KernelConfiguration]
    ) -> Outcome:
        """Measure one kernel once on operands that workers have loaded.

        :raises ToolchainError: as :meth:`measure`.
        """
        cell, kernel = planned.cell, group.kernels[planned.cell.instance]
        decided = self.second.failed.get(kernel.key) or self.library.outcome_of(kernel, group.problem)
        if (decided := decided or operands.blocked) is not None:
            index, split = group.problem_index, cell.split_k
            return replace(
                decided, key=kernel.key, problem_index=index, split_k=split, split_k_deduced=split < 1
            )
        if (executor := self.executor) is None:
            raise ValueError("the bench is not open")
        found = operands.verified
        known = found.get(cell) if secrets.randbelow(_TRIALS_PER_WHOLE) else None
        exact = self._exactly(group, operands, cell) if known is None else None
        first, later = group.timing or (None, None)
        what = kernel.key, group.problem_index, cell.split_k, kernel.split_sum
        outcome = executor.measure(
            *what,
            prepares_untimed=not kernel.preparation[1],
            timing=later if cell in found else first,
            verified=known,
            exact=exact if not isinstance(exact, str) else None,
        )
        found[cell] = executor.verified or found.get(cell)
        one_set = exact if isinstance(exact, str) else outcome.one_set
        return replace(outcome, one_set=one_set, second=self.second.digest(kernel.key))

    def _exactly(
        self, group: KernelGroup, operands: GroupOperands, cell: KernelConfiguration
    ) -> PreparedProblem | str | None:
        """Return the group's problem with operands whose sums are exact in a kernel.

        :returns: ``None`` where there are none: results are not verified, or are no sums of products. A text
            where there is no memory for them.
        """
        prepared, exact = operands.prepared, operands.exact
        kernel, options = group.kernels[cell.instance], self._options
        if not (options.verify and options.exact) or prepared is None or prepared.tolerance is not None:
            return None
        if prepared.exact or not prepared.can_be_exact:
            return None
        kind = ExactKind.of(cell.split_k, kernel.split_sum, prepared.sums.roundings)
        if kind not in exact:
            try:
                exact[kind] = self._prepare(operands, group, kernel, options, kind)
            except (InsufficientMemoryError, ToolchainError) as exc:
                exact[kind] = str(exc)
        return exact[kind]

    def measure_baselines(self, group: KernelGroup, rounds: int, baselines: Baselines | None = None) -> None:
        """Measure a trial of every baseline on the operands of the group that was opened last.

        :param rounds: of the visit, and so of the trial.
        :param baselines: those of another bench, instead of its own.
        :raises ToolchainError: workers do not start any more.
        """
        prepared = self._operands.prepared
        if prepared is not None:
            kernel = next(iter(group.kernels.values()))
            layout, on_host = self.library.layout(kernel), partial(self._on_host, group, kernel)
            on, last = (group.problem_index, layout, kernel.dtype), group.ranking.ending is not None
            measure = (baselines or self.baselines).measure
            measure(*on, prepared, on_host, rounds=rounds, timing=group.timing, last=last)

    def _on_host(self, group: KernelGroup, kernel: SelectedKernel) -> PreparedProblem:
        """Return the group's operands in files, with the reference of the host."""
        operands = self._operands
        if operands.on_host is None:
            options = replace(self._options, reference=ReferencePlace.HOST)
            operands.on_host = self._prepare(operands, group, kernel, options)
        return operands.on_host

    # --- processes ----------------------------------------------------------------------------------------

    @property
    def process(self) -> str:
        """What tells the pass of the last measurement from all others there ever were."""
        return self.executor.process if self.executor is not None else ""

    def new_process(self) -> None:
        """Have what follows measured in new worker processes: another pass."""
        self.baselines.new_process()
        if self.executor is not None:
            self.executor.new_process()

    # --- the machine --------------------------------------------------------------------------------------

    def measure_peak(self, dtype: DataType | None) -> float:
        """Return what the device reaches per second; 0 where that cannot be measured.

        :param dtype: type whose multiply-adds are meant; ``None`` for the bytes of a copy.
        :raises ToolchainError: workers do not start any more.
        """
        return self.executor.measure_peak(dtype, PEAK_S) if self.executor is not None else 0.0

    def observe(self) -> Reading:
        """Return what all observers see, and the times of the canaries."""
        if self._options.device_name or not self._options.min_samples:
            return Reading()  # none of the machine's devices computes, or nothing is timed
        target, device = self.library.target, self._options.device_index
        readings = (observer.observe(target, device) for observer in self._observers)
        seen = combine([reading for reading in readings if reading is not None])
        if self.canary is not None and self.executor is not None:
            try:
                return replace(seen, canaries=self.executor.measure_canaries(self.canary))
            except ToolchainError as exc:
                self.canary = None
                self._on_event(canaries_lost(str(exc)))
        return seen


def _unsupported(unmet: UnmetRequirement) -> Outcome:
    unmets = unmet, NOT_ASKED
    return Outcome(
        key="", problem_index=0, status=Status.UNSUPPORTED, reason=unmet.message, unmet_requirements=unmets
    )
