"""Launches of a candidate: one worker process, which serves the candidate's own, and one verdict per launch.

Operands and reference are made in this process, and results are compared in it. Every launch on a problem is
a trial with operands of its own.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from ckprof.errors import InputError
from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import CacheMode, RunOptions, timing_settings
from ckprof.measure.prepare import InsufficientMemoryError, prepare_problem
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.measure.worker.guards import read_tensor
from ckprof.measure.worker.messages import BaselineSource, DeviceChoice, Fault
from ckprof.measure.worker.process import WorkerFailure, WorkerTimeout
from ckprof.measure.worker.remote import CallFailed
from ckprof.measure.worker.sampling import SignedAxis
from ckprof.measure.workers import ReplacedWorker, WorkerState
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import NOT_ASKED, UnmetRequirement
from ckprof.model.types import SplitSum
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof.session import ignore
from ckprof_plugins.judge.engine import CANDIDATE_FILE, ENTRY, SEEN_FILE, VARIABLE, WORK_FILE, Seen, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import TypeSet
    from ckprof_plugins.judge.candidate import Candidate

#: of the candidate among the keys of kernels
KEY: Final = "candidate"
#: seconds for copies and comparisons of one launch
_OWN_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What candidates are judged by: an operation, with types and a layout."""

    operation: Operation
    types: TypeSet
    layout: Layout
    #: names of operands and result
    names: tuple[str, ...] = ()
    #: below which operands are written; ``None`` for where the system keeps temporary files
    folder: Path | None = None
    #: how partial sums of splits meet, which results may be off by
    split_sum: SplitSum = SplitSum.RESULT_TYPE


@dataclass(frozen=True, slots=True)
class Place:
    """A problem with a number of splits of its reduction."""

    problem: Problem
    split_k: int = 1


@dataclass(frozen=True, slots=True)
class Operands:
    """What the operands of a launch hold."""

    #: with sums that are exact, or the usual ones
    exact: bool
    seed: int

    @property
    def text(self) -> str:
        """How messages call them."""
        return f"{'exact' if self.exact else 'usual'} operands of seed {self.seed}"


class NoRoomError(InputError):
    """Operands and reference of a problem do not fit: that says nothing of a candidate."""


def untimed(timeout_s: float, seed: int = 0) -> RunOptions:
    """Return how a candidate is launched once and verified."""
    return RunOptions(
        timeout_s=timeout_s,
        min_samples=0,
        rounds=1,
        passes=1,
        cache=CacheMode.WARM,
        second_problem=False,
        seed=seed,
        init=InitKind.DECIMAL,
    )


@contextmanager
def prepared(task: Task, place: Place, operands: Operands, options: RunOptions) -> Iterator[PreparedProblem]:
    """Have operands and reference of a problem inside of a block.

    :raises NoRoomError: they do not fit.
    :raises CkprofError: see :func:`ckprof.measure.prepare.prepare_problem`.
    """
    roundings = task.operation.roundings(place.problem)
    exact = None
    if operands.exact:
        exact = ExactKind.of(place.split_k, task.split_sum, roundings)
    with TemporaryDirectory(prefix="operands-", dir=task.folder) as folder:
        try:
            made = prepare_problem(
                task.operation,
                place.problem,
                task.layout,
                task.types,
                replace(options, seed=operands.seed),
                Path(folder),
                exact=exact,
            )
        except InsufficientMemoryError as exc:
            raise NoRoomError(f"{place.problem.describe()}: {exc}", "--problem") from exc
        try:
            yield made
        finally:
            made.close()


class Bench:
    """Runs one candidate, or a baseline, in one worker process after the other.

    A context manager: leaving it ends the worker.

    :param source: the candidate, or what makes the engine of a baseline.
    :param task: what it is judged by.
    :param folder: where files for workers lie; must exist.
    :param options: how it is run and timed.
    :param variables: further environment variables of the candidate.
    """

    def __init__(
        self,
        source: Candidate | BaselineSource,
        task: Task,
        folder: Path,
        options: RunOptions,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = Path(mkdtemp(prefix="bench-", dir=folder))
        self._options, self._task = options, task
        self.key, environment = KEY, dict(variables or {})
        engine: BaselineSource | Path
        self._path: Path | None = None
        arch = ""
        if isinstance(source, BaselineSource):
            self.key, engine = source.id, source
        elif source.on_device:
            # memory of a device is that of the process which launches
            self.key, engine, arch = source.key, source.loaded, source.arch
            environment = {**source.variables}
        else:
            config = {
                "file": str(source.loaded),
                "function": source.function,
                "kind": source.kind,
                "arch": source.arch,
                "host": source.host,
                "key": source.key,
                "names": task.names,
                "title": source.title,
                "operation": task.operation.id,
                "variables": {**source.variables, **(variables or {})},
            }
            self._path = source.path
            (self._folder / CANDIDATE_FILE).write_bytes(msgspec.json.encode(config))
            engine = BaselineSource(id=KEY, entry=ENTRY, on_host=True)
            environment = {VARIABLE: str(self._folder)}
        device = DeviceChoice(arch=arch, index=options.device_index, cpu_threads=options.cpu_threads)
        self._worker = ReplacedWorker(engine, device, self._folder, ignore, environment, ())
        self._held: PreparedProblem | None = None
        #: launches in the running process
        self.launches = 0

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self._worker.leave(at_once=True)

    def open(self) -> str:
        """Start a worker; return what it says of its device.

        :raises InputError: the candidate cannot be loaded.
        :raises WorkerFailure: the worker does not come up.
        """
        try:
            return self._worker.start().device
        except CallFailed as failure:
            if failure.fault is Fault.LIBRARY:
                raise InputError(f"cannot be loaded: {failure}", self._path) from failure
            raise

    def new_process(self) -> None:
        """Have what follows run in a new process."""
        self._worker.leave(at_once=True)
        self._held, self.launches = None, 0

    @property
    def seen(self) -> Seen:
        """What the engine tells of the candidate."""
        if self._path is None:
            return Seen(isolation="the worker's process", splits=True)
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self._folder / SEEN_FILE).read_bytes(), type=Seen)
        return Seen()

    def result(self, given: PreparedProblem) -> NDArray[np.float64] | None:
        """Return the last launch's result as it lies in memory; ``None`` if the worker is lost.

        :param given: what it was launched on. Bytes that were not written are NaN in floating-point types.
        """
        if self._worker.process is None:
            return None
        dtype = given.types.result
        read = partial(self._worker.remote.copy_out, _OWN_S)
        try:
            chunks = [
                decode(raw.view(storage_type(dtype)), dtype, ocp=given.types.ocp)
                for raw in read_tensor(read, given.tensors[-1])
            ]
        except WorkerFailure:
            self.new_process()
            return None
        return np.concatenate(chunks)

    def trial(
        self, given: PreparedProblem, split_k: int = 1, timing: TimingSettings | None = None
    ) -> Outcome:
        """Run it once on operands, or have it timed, and verify.

        A worker that does not survive it makes the outcome; what follows has a new one.

        :param timing: how it is sampled; ``None``: it is launched once.
        """
        request = KernelRequest(
            key=self.key,
            split_k=split_k,
            split_sum=self._task.split_sum,
            timing=timing or timing_settings(self._options),
            own_limit_s=_OWN_S,
            # every launch is looked at, as far as there is time
            suspected=True,
        )
        work = Work(
            ndim=given.problem.ndim,
            values=given.problem.values(),
            split_k=split_k,
            signs=given.request.signs,
            exchanges=() if given.request.signs else exchanges(self._task, given.problem),
        )
        (self._folder / WORK_FILE).write_bytes(msgspec.json.encode(work))
        measurement = None
        try:
            if self._worker.process is None:
                self.new_process()
                self.open()
            library = self._worker.remote
            if self._held is not given:
                self._held = None
                made = library.load(_OWN_S, given.request)
                if isinstance(made, UnmetRequirement):
                    return request.not_met(made, NOT_ASKED)
                self._held = given
            self._worker.state = WorkerState.USED
            measurement = KernelMeasurement(library, given, request)
            outcome = measurement.measure()
        except WorkerFailure as failure:
            stage = measurement.stage if measurement is not None else "before the first run"
            self.new_process()
            status = Status.RUN_TIMEOUT if isinstance(failure, WorkerTimeout) else Status.RUN_ERROR
            return request.outcome(status, f"{stage}: {failure}")
        if measurement.tainted:
            self.new_process()
        else:
            self.launches += 1
        return outcome


def exchanges(task: Task, problem: Problem) -> tuple[SignedAxis, ...]:
    """Return an axis of each operand whose indices may be exchanged, and those of the result with them.

    That is one that the result has, and no other operand: its index decides about nothing else.
    """
    operation = task.operation
    if not offers(operation, Operation.contraction):
        return ()
    sums = operation.contraction(problem)
    *operands, result = (problem.tensor(name, task.layout) for name in operation.tensors_of(problem))
    if sums.is_changed or not all(spec.is_packed for spec in (*operands, result)):
        return ()
    steps, found = dict(zip(result.axes, result.strides, strict=True)), []
    for spec in operands:
        indices = sums.indices.get(spec.name, {})
        used = {letter for index in indices.values() for letter, _ in index.terms}
        taken = {*indices, *used, *(axis for other in operands if other is not spec for axis in other.axes)}
        axes = [
            SignedAxis(operand=spec.name, length=length, operand_step=step, result_step=steps[letter])
            for letter, length, step in zip(spec.axes, spec.shape, spec.strides, strict=True)
            if letter in steps and letter not in taken
        ]
        found += [max(axes, key=lambda axis: axis.length)] if axes else []
    return tuple(found)


def outcome_of(
    bench: Bench, task: Task, place: Place, operands: Operands, options: RunOptions, **how: Any
) -> Outcome:
    """Run a candidate once on operands that are made for it.

    :raises NoRoomError: they do not fit.
    """
    with prepared(task, place, operands, options) as given:
        return bench.trial(given, place.split_k, **how)
