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

import msgspec

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.files import scratch_folder
from ckprof.kernels.keys import digest_parts
from ckprof.measure.baselines import Baselines
from ckprof.measure.canary import canaries_lost
from ckprof.measure.executor import Executor
from ckprof.measure.observers import combine
from ckprof.measure.options import ReferencePlace, timing_settings
from ckprof.measure.prepare import InsufficientMemoryError, prepare_problem
from ckprof.measure.rounds import KernelConfiguration, RoundRobin
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.worker.messages import SupportQuery
from ckprof.measure.workers import device_lock
from ckprof.model.device import DeviceIdentity, Reading
from ckprof.model.outcome import Outcome, Status
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.model.requirement import NOT_ASKED, UnmetRequirement
from ckprof.model.tensor import layout_named
from ckprof.model.types import types_on
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof.problems.problem_file import line_of
from ckprof.session import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from ckprof.events import Event
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.kernel_measurement import Verified
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.rounds import PlannedSample
    from ckprof.measure.rounds_loop import KernelGroup
    from ckprof.measure.verify.storage import StoredFile
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType, TypeSet
    from ckprof.plugin.protocols import Observer, Operation

#: of so many later samples, one at random verifies the kernel as the first one does
_TRIALS_PER_WHOLE: Final = 16
#: what second problems are split into, where kernels can
_SECOND_SPLITS: Final = (1, 3, AUTO)
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
        layout = layout_named(self.operation.layouts, kernel.layout)
        if layout is None:
            raise ValueError(f"operation {self.operation.id} has no layout {kernel.layout!r}")
        return layout

    def outcome_of(self, kernel: SelectedKernel, problem: Problem) -> Outcome | None:
        """Return the outcome of a kernel that is known without running it, as that of the first problem."""
        rejection = self.rejections.get(kernel.key)
        if rejection is not None:
            return rejection
        unmet = problem.unmet_by(self.layout(kernel))
        return _unsupported(unmet) if unmet is not None else None


class _Operands:
    """Operands of a problem and what is known of results with them."""

    def __init__(self) -> None:
        self.prepared: PreparedProblem | None = None
        #: the same in files, for baselines that no device verifies
        self.on_host: PreparedProblem | None = None
        #: those with exact sums, as far as they were needed, or why there is no memory for them
        self.exact: dict[ExactKind, PreparedProblem | str] = {}
        #: cell -> what was found right in its last sample; of those that were not measured there is none
        self.verified: dict[KernelConfiguration, Verified | None] = {}
        #: removes them
        self.stack = ExitStack()

    @property
    def files(self) -> list[StoredFile]:
        """The files that they are in."""
        found = (self.prepared, self.on_host, *self.exact.values())
        return [file for one in found if one is not None and not isinstance(one, str) for file in one.files]


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
        self._options = options
        self._observers = observers
        self._on_event = on_event
        self._before_problem = before_problem
        self._lock, self._lock_folder = lock, lock_folder
        self.baselines = baselines or Baselines()
        self._stack = ExitStack()
        self._folder = Path()
        self._executor: Executor | None = None
        #: the problems that were started
        self._started: set[tuple[int, Problem]] = set()
        #: asked before each second problem: whether it and those after it are skipped
        self.should_stop: Callable[[], bool] = lambda: False
        #: content key of a kernel -> lines of its second problems; none where it supports none of them
        self.second: dict[str, dict[str, None]] = {}
        #: content key of a kernel -> digest of the second problems that it was right on in an earlier session
        self.known: Mapping[str, str] = {}
        #: what became of those kernels that failed there
        self.failed: dict[str, Outcome] = {}
        #: the group that was opened last, with its operands
        self._group: KernelGroup | None = None
        self._operands = _Operands()
        #: operands that the next passes need as well, and, marked in their keys, those of second problems
        self._kept: dict[tuple[Problem, str, TypeSet, ExactKind | None, bool], _Operands] = {}
        #: why no kernel of the group can run
        self._blocked: Outcome | None = None
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
            self._executor = stack.enter_context(executor)
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
        self._open(group)

    def _open(self, group: KernelGroup, exact: ExactKind | None = None, *, second: bool = False) -> None:
        self._group, self._blocked = group, None
        outcome_of = self.library.outcome_of
        first = next((one for one in group.kernels.values() if outcome_of(one, group.problem) is None), None)
        if self._executor is None or first is None:
            return
        kept = group.problem, first.layout, first.types, exact, second
        self._operands = operands = self._kept.setdefault(kept, _Operands())
        if operands.prepared is None:
            try:
                operands.prepared = self._prepare(group, first, self._options, exact)
            except InsufficientMemoryError as exc:
                self._blocked = _unsupported(UnmetRequirement(rule="memory", message=str(exc)))
                return
            made = f"{first.dtype.value} {first.layout} operands and reference"
            text = f"problem {group.problem_index}: {made} in {operands.prepared.seconds:.2f} s"
            self._on_event(Message(text, Level.DETAIL))
        self._executor.set_problem(operands.prepared)

    def _verify_on_second_problems(self, group: KernelGroup, kernel: SelectedKernel) -> None:
        """Verify a kernel that is new, and right on the group's problem, on problems of its own.

        One that fails there has that outcome on every problem. What is known of it is stored with its first
        sample, before the next kernel is verified.

        :raises ToolchainError: as :meth:`measure`.
        """
        key, operation, options = kernel.key, self.library.operation, self._options
        asked: dict[tuple[Problem, ExactKind | None], list[KernelConfiguration]] = {}
        for alternatives in self.library.second_problems.get(key, ()):
            fitting = [problem for problem in alternatives if problem.flop <= group.problem.flop]
            for query in self._supported(key, fitting, _SECOND_SPLITS):
                problem, kind = query.problem, None
                if options.exact and operation.is_exact(problem):
                    kind = ExactKind.of(query.split_k, kernel.split_sum, operation.roundings(problem))
                asked.setdefault((problem, kind), []).append(KernelConfiguration(key, query.split_k))
        self.second[key] = dict.fromkeys(self._line(problem) for problem, _ in asked)
        if not asked or self.second_digest(key) == self.known.get(key):
            return
        untimed = (msgspec.structs.replace(timing_settings(options), min_samples=0),) * 2
        opened, timed = self._group, self._operands
        try:
            for (problem, kind), cells in asked.items():
                ranking = RoundRobin(cells)
                second = replace(group, problem=problem, ranking=ranking, timing=untimed, beside=None)
                self._open(second, kind, second=True)
                for planned in ranking.visit():
                    if self.should_stop():
                        self.second.pop(key, None)
                        return
                    outcome = self._sample(second, planned)
                    if outcome.status.is_failure and outcome.launched:
                        where = f"--problem '{self._line(problem)}' --split-k {planned.cell.split_k}"
                        reason = f"{outcome.reason} (on a second problem: {where})"
                        self.failed[key] = replace(outcome, reason=reason, second="")
                        return
                    if outcome.status is not Status.OK:
                        self.second.pop(key, None)  # nothing is known of it: the next sample tries again
        finally:
            self._group, self._operands, self._blocked = opened, timed, None
            if self._executor is not None and timed.prepared is not None:
                self._executor.set_problem(timed.prepared)

    def second_digest(self, key: str) -> str:
        """Return a digest of the second problems that a kernel was right on; empty where it was not verified.

        Where exact operands are skipped, it is another one.
        """
        if key in self.failed or key not in self.second:
            return "" if key in self.failed else self.known.get(key, "")
        return digest_parts(str(self._options.exact), *self.second[key])[:8]

    def _line(self, problem: Problem) -> str:
        return line_of(ProblemCase(problem=problem), self.library.operation) or problem.describe()

    def _supported(self, key: str, problems: Iterable[Problem], splits: Iterable[int]) -> list[SupportQuery]:
        """Return the first problem of which a kernel supports any splits, with these; empty without any."""
        for problem in problems:
            queries = [SupportQuery(problem, split) for split in splits]
            answers = self._executor.support(key, queries) if self._executor is not None else ()
            if found := [query for query, one in zip(queries, answers, strict=False) if one.supported]:
                return found
        return []

    def _prepare(
        self,
        group: KernelGroup,
        kernel: SelectedKernel,
        options: RunOptions,
        exact: ExactKind | None = None,
    ) -> PreparedProblem:
        folder = tempfile.TemporaryDirectory(prefix="problem-", dir=self._folder)
        prepared = prepare_problem(
            self.library.operation,
            group.problem,
            self.library.layout(kernel),
            types_on(kernel.types, self.library.arch),
            options,
            Path(self._operands.stack.enter_context(folder)),
            can_check=self._executor is not None and self._executor.can_check,
            exact=exact,
        )
        self._operands.stack.callback(prepared.close)
        return prepared

    def _leave_group(self) -> None:
        """Keep the operands of the group if another pass needs them, and there is room."""
        over, self._group = self._group is None or self._group.ranking.ending is not None, None
        kept = [file for key, one in self._kept.items() if not key[-1] for file in one.files]
        needed = sum(file.size_bytes for file in kept)
        room = min(_MOST_KEPT_BYTES, _MOST_KEPT_SHARE * (shutil.disk_usage(self._folder).free + needed))
        fits = needed <= room and len(kept) <= _MOST_KEPT_FILES
        for key, one in [*self._kept.items()]:
            if key[-1] or (one is self._operands and (over or not fits)):
                self._kept.pop(key).stack.close()
        # the next group may have none: it must not give these back
        self._operands = _Operands()

    def _close(self) -> None:
        for operands in (*self._kept.values(), self._operands):
            operands.stack.close()
        self._kept = {}

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure one kernel of the group that was opened last once.

        It is verified in its first sample, and in later ones at random; in others some launches are. After
        the first one it is verified on its second problems.

        :raises DeviceLostError: the device is of no use any more since the kernel was launched.
        :raises ToolchainError: workers do not start any more.
        """
        outcome, options = self._sample(group, planned), self._options
        # where nothing is timed, problems were chosen to tell something
        asked = options.verify and options.second_problem and options.min_samples
        key = planned.cell.instance
        # those that were all more work than what was timed are not on a larger problem
        if not asked or outcome.status is not Status.OK or self.second.get(key):
            return outcome
        self._verify_on_second_problems(group, group.kernels[key])
        right = replace(outcome, second=self.second_digest(key))
        return self._sample(group, planned) if key in self.failed else right

    def _sample(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        cell, kernel = planned.cell, group.kernels[planned.cell.instance]
        decided = self.failed.get(kernel.key) or self.library.outcome_of(kernel, group.problem)
        decided = decided or self._blocked
        if decided is not None:
            return replace(
                decided,
                key=kernel.key,
                problem_index=group.problem_index,
                split_k=cell.split_k,
                split_k_deduced=cell.split_k < 1,
            )
        executor = self._executor
        if executor is None:
            raise ValueError("the bench is not open")
        found = self._operands.verified
        known = found.get(cell) if secrets.randbelow(_TRIALS_PER_WHOLE) else None
        exact = self._exactly(group, cell) if known is None else None
        first, later = group.timing or (None, None)
        outcome = executor.measure(
            kernel.key,
            group.problem_index,
            cell.split_k,
            kernel.split_sum,
            prepares_untimed=not kernel.preparation[1],
            timing=later if cell in found else first,
            verified=known,
            exact=exact if not isinstance(exact, str) else None,
        )
        found[cell] = executor.verified or found.get(cell)
        one_set = exact if isinstance(exact, str) else outcome.one_set
        return replace(outcome, one_set=one_set, second=self.second_digest(kernel.key))

    def _exactly(self, group: KernelGroup, cell: KernelConfiguration) -> PreparedProblem | str | None:
        """Return the group's problem with operands whose sums are exact in a kernel.

        :returns: ``None`` where there are none: results are not verified, or are no sums of products. A text
            where there is no memory for them.
        """
        prepared, exact = self._operands.prepared, self._operands.exact
        kernel, options = group.kernels[cell.instance], self._options
        if not (options.verify and options.exact) or prepared is None or prepared.tolerance is not None:
            return None
        if prepared.exact or not prepared.can_be_exact:
            return None
        kind = ExactKind.of(cell.split_k, kernel.split_sum, prepared.sums.roundings)
        if kind not in exact:
            try:
                exact[kind] = self._prepare(group, kernel, options, kind)
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
            (baselines or self.baselines).measure(
                group.problem_index,
                self.library.layout(kernel),
                kernel.dtype,
                prepared,
                partial(self._on_host, group, kernel),
                rounds=rounds,
                timing=group.timing,
                last=group.ranking.ending is not None,
            )

    def _on_host(self, group: KernelGroup, kernel: SelectedKernel) -> PreparedProblem:
        """Return the group's operands in files, with the reference of the host."""
        operands = self._operands
        if operands.on_host is None:
            options = replace(self._options, reference=ReferencePlace.HOST)
            operands.on_host = self._prepare(group, kernel, options)
        return operands.on_host

    # --- processes ----------------------------------------------------------------------------------------

    @property
    def process(self) -> str:
        """What tells the pass of the last measurement from all others there ever were."""
        return self._executor.process if self._executor is not None else ""

    def new_process(self) -> None:
        """Have what follows measured in new worker processes: another pass."""
        self.baselines.new_process()
        if self._executor is not None:
            self._executor.new_process()

    # --- the machine --------------------------------------------------------------------------------------

    def measure_peak(self, dtype: DataType | None) -> float:
        """Return what the device reaches per second; 0 where that cannot be measured.

        :param dtype: type whose multiply-adds are meant; ``None`` for the bytes of a copy.
        :raises ToolchainError: workers do not start any more.
        """
        return self._executor.measure_peak(dtype, PEAK_S) if self._executor is not None else 0.0

    def observe(self) -> Reading:
        """Return what all observers see, and the times of the canaries."""
        if self._options.device_name or not self._options.min_samples:
            return Reading()  # none of the machine's devices computes, or nothing is timed
        target, device = self.library.target, self._options.device_index
        readings = (observer.observe(target, device) for observer in self._observers)
        seen = combine([reading for reading in readings if reading is not None])
        if self.canary is not None and self._executor is not None:
            try:
                return replace(seen, canaries=self._executor.measure_canaries(self.canary))
            except ToolchainError as exc:
                self.canary = None
                self._on_event(canaries_lost(str(exc)))
        return seen


def _unsupported(unmet: UnmetRequirement) -> Outcome:
    return Outcome(
        key="",
        problem_index=0,
        status=Status.UNSUPPORTED,
        reason=unmet.message,
        unmet_requirements=(unmet, NOT_ASKED),
    )
