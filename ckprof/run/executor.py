"""The parent's side of measuring: one worker at a time, replaced whenever a kernel spoils it."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.model.accumulation import SplitSum
from ckprof.model.compute_type import ComputeType
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import DEVICE_MEMORY, UnmetRequirement
from ckprof.run import messages
from ckprof.run.events import FlushReduced, KernelStarted, KernelTimed, WorkerLost, WorkerReady, ignore_event
from ckprof.run.gaps import without_gaps
from ckprof.run.guards import read_tensor
from ckprof.run.measure import KernelMeasurement, KernelRequest, Measured, Verified
from ckprof.run.options import CacheMode
from ckprof.run.process import WorkerFailure, WorkerProcess, WorkerTimeout
from ckprof.run.remote import RemoteLibrary
from ckprof.run.storage import decode, storage_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.dtype import DataType
    from ckprof.run.baselines import BaselineSource
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions
    from ckprof.run.prepare import PreparedProblem

#: workers in a row that may fail to start, after one has started, before the run is given up
_START_ATTEMPTS = 3
#: seconds that verification and copying get: a fixed part and one per million elements
_OWN_WORK_LIMIT_S = 60.0
_OWN_WORK_S_PER_ELEMENT = 1e-6
#: the flush must not fit into the last-level cache together with what it evicts
_FLUSH_FACTOR = 2
#: source and destination of a copy that measures the bandwidth: neither may be served from a cache
_COPY_FACTOR = 2
_LEAST_COPY_BYTES = 2**26

#: what a stage of a measurement is called in a reason
_STAGES = {
    "support": "in the support test",
    "run": "in the first run",
    "verify": "while its result was verified",
    "time": "while it was timed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What a measurement is that is one of several of its kernel."""

    #: how this one samples
    timing: messages.TimingSettings
    #: what an earlier one found right
    verified: Verified | None = None


class Executor:
    """Measures kernels of one library in worker processes.

    A context manager: leaving it ends the worker, on Ctrl-C as well. The library is never loaded into this
    process.

    :param library: the kernel library, or the baseline that is measured instead of kernels.
    :param arch: architecture to select; empty for the one that the library was built for.
    :param options: how to run, verify and time.
    :param work_dir: below which workers have their working directories; must exist.
    :param on_event: called with what happens.
    """

    def __init__(
        self,
        library: Path | BaselineSource,
        *,
        arch: str,
        options: RunOptions,
        work_dir: Path,
        on_event: Callable[[RunEvent], None] = ignore_event,
    ) -> None:
        self._library = library
        self._what = f"kernel library {library}" if isinstance(library, Path) else f"baseline {library.id}"
        self._device = messages.DeviceChoice(arch=arch, index=options.device, cpu_threads=options.cpu_threads)
        self._options = options
        self._work_dir = work_dir
        self._on_event = on_event
        self._timing = timing_settings(options)
        self._worker: WorkerProcess | None = None
        self._problem: PreparedProblem | None = None
        self._loaded = False
        #: whether workers verify results on their device
        self.can_check = False
        #: whether the worker has run kernels already
        self._used = False
        #: why no kernel can be measured on the current problem
        self._blocking_failure: Measured | None = None
        #: least number of bytes with which caches were flushed
        self._flush_bytes = self._timing.flush_bytes
        #: what the last measurement found right
        self.verified: Verified | None = None

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is None:
            return
        if kind is None:
            self._worker.quit()
        else:
            self._worker.kill()
        self._worker = None

    def open(self) -> messages.Opened:
        """Start the first worker.

        :returns: target, device and the keys of all kernels.
        :raises ToolchainError: the library cannot be loaded or its target rejects the device.
        """
        try:
            opened = self._start()
        except WorkerFailure as failure:
            raise ToolchainError(f"{self._what} cannot be used: {failure}") from failure
        self.can_check = opened.can_check
        self._on_event(
            WorkerReady(
                target=opened.target,
                device=opened.device,
                kernels=len(opened.keys),
                identity=opened.identity,
            )
        )
        return opened

    @property
    def arch(self) -> str:
        """The selected architecture; empty for the one that the library was built for."""
        return self._device.arch

    @property
    def is_running(self) -> bool:
        """Whether the worker of the last measurement has survived it."""
        return self._worker is not None

    @property
    def library(self) -> RemoteLibrary:
        """The library in the running worker, for what is no measurement."""
        return RemoteLibrary(self._current())

    def measure_roof(self, dtype: DataType | None, seconds: float) -> float:
        """Return what the device reaches per second; 0 where that cannot be measured.

        :param dtype: type whose multiply-adds are meant; ``None`` for the bytes of a copy.
        :param seconds: how long to measure, about.
        :raises ToolchainError: workers do not start any more.
        """
        if self._worker is None:
            self._restart()
        request = messages.MeasureRoof(
            dtype=dtype,
            size_bytes=max(_LEAST_COPY_BYTES, _COPY_FACTOR * cache_bytes(self._options)),
            seconds=seconds,
        )
        try:
            rate = self.library.measure_roof(request, _OWN_WORK_LIMIT_S + seconds)
        except WorkerFailure as failure:
            self._discard(f"what the device reaches: {failure}")
            return 0.0
        return rate if math.isfinite(rate) and rate > 0 else 0.0

    def set_problem(self, problem: PreparedProblem) -> None:
        """Make this the problem of all following measurements. Every worker loads it when it needs it."""
        self._problem = problem
        self._loaded = False
        self._blocking_failure = None

    def _tell_timing(self, key: str, problem_index: int, measured: Measured) -> None:
        """Report what it cost to time a kernel, if it was timed."""
        if measured.measurement is not None:
            self._on_event(
                KernelTimed(
                    key=key,
                    problem_index=problem_index,
                    timing_s=measured.timing_s,
                    flush_s=measured.flush_s,
                )
            )
            self._note_flush(max(0, measured.flush_bytes))

    def measure(
        self,
        key: str,
        problem_index: int,
        split_k: int = 1,
        split_sum: SplitSum = SplitSum.RESULT_TYPE,
        repeat: Repeat | None = None,
    ) -> Outcome:
        """Measure one kernel on the current problem.

        :param key: content key of the instance.
        :param split_k: splits of the reduction; less than 1 lets the kernel choose.
        :param split_sum: how the kernel adds them up.
        :param repeat: what differs from a measurement that stands alone.
        :raises ToolchainError: workers do not start any more.
        """
        self._on_event(KernelStarted(key=key, problem_index=problem_index))
        request = KernelRequest(
            key=key,
            split_k=split_k,
            split_sum=split_sum,
            timing=repeat.timing if repeat is not None else self._timing,
            own_limit_s=self._own_work_limit_s(),
            least_ms=self._least_ms(self._current_problem()),
            verified=repeat.verified if repeat is not None else None,
        )
        measured = self._attempt(request)
        while measured is None:
            # What went wrong may be the work of a kernel before. In a worker of its own it is this one's.
            measured = self._attempt(request)
        self.verified = measured.verified
        self._tell_timing(key, problem_index, measured)
        return Outcome(
            key=key,
            problem_index=problem_index,
            status=measured.status,
            reason=measured.reason,
            unmet_requirements=measured.unmet_requirements,
            split_k=split_k if measured.split_k is None else measured.split_k,
            split_k_deduced=split_k < 1,
            measurement=measured.measurement,
            verification=measured.verification,
        )

    def _note_flush(self, used_bytes: int) -> None:
        if used_bytes < self._flush_bytes:
            self._flush_bytes = used_bytes
            self._on_event(FlushReduced(wanted_bytes=self._timing.flush_bytes, used_bytes=used_bytes))

    def result(self) -> Iterator[NDArray[np.float64]]:
        """Yield the values of the last kernel's result in memory order, without gaps, in pieces.

        :raises WorkerFailure: the worker is lost.
        """
        problem, library = self._current_problem(), self.library
        limit_s = self._own_work_limit_s()
        dtype = problem.types.result

        def read(tensor: str, start: int, size: int) -> NDArray[np.uint8]:
            return library.copy_out(tensor, start, size, limit_s)

        position = 0
        for raw in read_tensor(read, problem.tensors[-1]):
            stored = raw.view(storage_type(dtype))
            yield decode(without_gaps(stored, position, problem.result), dtype, ocp=problem.types.ocp)
            position += stored.size

    def _attempt(self, request: KernelRequest) -> Measured | None:
        """Have the kernel measured; a worker that does not survive it makes the outcome.

        :returns: ``None`` if something went wrong for which a kernel before may be to blame: it may have left
            a thread, a process, an alarm or a damaged heap behind.
        """
        blocking_failure = self._prepare_worker()
        if blocking_failure is not None:
            return blocking_failure
        key = request.key
        measurement = KernelMeasurement(self.library, self._current_problem(), request)
        alone, self._used = not self._used, True
        try:
            measured = measurement.measure()
        except WorkerTimeout:
            status = Status.RUN_TIMEOUT
            reason = f"not done within {self._options.timeout_s:g} s, killed {_STAGES[measurement.stage]}"
        except WorkerFailure as failure:
            status = Status.RUN_ERROR
            reason = f"{_STAGES[measurement.stage]}: {failure}"
            if not alone:
                self._discard(f"kernel {key}: {reason}")
                return None
        else:
            failed = measured.status is Status.RUN_ERROR and measured.tainted
            doubtful = (failed or measured.status is Status.WRONG_RESULT) and not alone
            if measured.tainted or doubtful:
                self._discard(f"kernel {key} {measured.reason}")
            return None if doubtful else measured
        self._discard(f"kernel {key}: {reason}")
        return Measured(status=status, reason=reason, split_k=measurement.split_k)

    def _prepare_worker(self) -> Measured | None:
        """Have a worker with the problem loaded, or say what to report instead."""
        if self._blocking_failure is not None:
            return self._blocking_failure
        problem = self._current_problem()
        if self._worker is not None:
            try:
                self._worker.check_silence()
            except WorkerFailure as failure:
                self._discard(str(failure))
        if self._worker is None:
            self._restart()
        if self._loaded:
            return None
        try:
            reply = self.library.load(problem.request, self._own_work_limit_s())
        except WorkerFailure as failure:
            self._discard(str(failure))
            if self._used:
                # perhaps a kernel has taken its descriptors or its memory away
                return self._prepare_worker()
            reason = f"the problem could not be loaded: {failure}"
            self._blocking_failure = Measured(status=Status.RUN_ERROR, reason=reason)
            return self._blocking_failure
        if isinstance(reply, messages.ProblemLoaded):
            self._problem = problem.loaded(reply)
            self._loaded = True
            return None
        rejected = reply.reason
        if self._used:
            # perhaps a kernel has kept memory; a worker of its own has all of it
            self._discard(f"a problem does not fit: {rejected}")
            return self._prepare_worker()
        hint = "; --reference host needs less of the device's" if problem.on_device else ""
        reason = f"not enough memory: {rejected}{hint}"
        self._blocking_failure = Measured(
            status=Status.UNSUPPORTED,
            reason=reason,
            unmet_requirements=(
                UnmetRequirement(rule=DEVICE_MEMORY if reply.of_device else "memory", message=reason),
            ),
        )
        return self._blocking_failure

    def _restart(self) -> None:
        for attempt in range(_START_ATTEMPTS):
            try:
                self._start()
            except WorkerFailure as failure:
                if attempt == _START_ATTEMPTS - 1:
                    message = f"{self._what} cannot be used any more: {failure}"
                    raise ToolchainError(message) from failure
            else:
                return

    def _start(self) -> messages.Opened:
        # Not where the operands are: a kernel may leave files behind, or remove some.
        self._worker = WorkerProcess(Path(tempfile.mkdtemp(prefix="worker-", dir=self._work_dir)))
        self._loaded = self._used = False
        try:
            if isinstance(self._library, Path):
                return self.library.open(self._library, self._device)
            return self.library.open_baseline(self._library.request(self._device))
        except WorkerFailure:
            self._drop()
            raise

    def _current_problem(self) -> PreparedProblem:
        if self._problem is None:
            raise ValueError("no problem is set")
        return self._problem

    def _current(self) -> WorkerProcess:
        if self._worker is None:
            raise ValueError("no worker is running")
        return self._worker

    def _discard(self, reason: str) -> None:
        self._drop()
        self._on_event(WorkerLost(reason=reason))

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        self._loaded = False

    def _own_work_limit_s(self) -> float:
        if self._problem is None:
            return _OWN_WORK_LIMIT_S
        request = self._problem.request
        elements = sum(math.prod(file.shape) for file in (*request.operands, request.result))
        return _OWN_WORK_LIMIT_S + elements * _OWN_WORK_S_PER_ELEMENT

    def _least_ms(self, problem: PreparedProblem) -> float:
        """Return what the multiplications of the problem take at the device's peak; 0 if that is unknown."""
        multiplied = problem.types.compute
        if isinstance(multiplied, ComputeType):
            multiplied = multiplied.properties.no_faster_than
        peak = dict(self._options.peak_flops).get(multiplied, 0.0)
        return problem.problem.real_flop / peak * 1e3 if peak else 0.0


def cache_bytes(options: RunOptions) -> int:
    """Return the size of the last-level cache of the device, that of the host where no target says it."""
    from ckprof.run.host import last_level_cache_bytes

    return options.last_level_cache_bytes or last_level_cache_bytes()


def timing_settings(options: RunOptions) -> messages.TimingSettings:
    """Return what the worker needs to know about sampling."""
    flush_bytes = 0
    if options.cache is CacheMode.COLD:
        if options.flush_bytes is None:
            flush_bytes = _FLUSH_FACTOR * cache_bytes(options)
        else:
            flush_bytes = options.flush_bytes
    return messages.TimingSettings(
        warmup=options.warmup,
        min_samples=options.min_samples,
        min_time_s=options.min_time_s,
        max_time_s=options.max_time_s,
        timeout_s=options.timeout_s,
        criterion=options.criterion,
        criterion_parameters=dict(options.criterion_parameters),
        flush_bytes=flush_bytes,
        keep_samples=options.keep_samples,
    )
