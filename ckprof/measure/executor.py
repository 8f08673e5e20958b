"""The parent's side of measuring: one worker at a time, replaced whenever a kernel spoils it."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import cache_bytes, timing_settings
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.measure.worker import messages
from ckprof.measure.worker.guards import read_tensor, without_gaps
from ckprof.measure.worker.process import WorkerFailure, WorkerNotStarted, WorkerStopped, WorkerTimeout
from ckprof.measure.worker.sampling import TimingSettings
from ckprof.measure.workers import DeviceLostError, ReplacedWorker, WorkerState
from ckprof.model.outcome import Status
from ckprof.model.requirement import NOT_ASKED, UnmetRequirement
from ckprof.model.types import ComputeType, SplitSum
from ckprof.session import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.events import Event
    from ckprof.measure.kernel_measurement import Verified
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.remote import RemoteLibrary
    from ckprof.model.outcome import Outcome
    from ckprof.model.types import DataType

#: seconds that verification and copying get: a fixed part and one per million elements
_OWN_WORK_LIMIT_S = 60.0
_OWN_WORK_S_PER_ELEMENT = 1e-6
#: source and destination of a copy that measures the bandwidth: neither may be served from a cache
_COPY_FACTOR = 2
_LEAST_COPY_BYTES = 2**26

#: launches of a kernel that is suspected to be wrong now and then, beyond those that were right before, and
#: seconds that they may take
_SUSPECT_LAUNCHES: Final = 150
_SUSPECT_S: Final = 10.0


def _searching(timing: TimingSettings, right: int) -> TimingSettings:
    """Return how a suspected kernel is sampled: one that is wrong in one of fifty launches is to be found.

    :param right: its launches in the worker in which one was wrong: it may have been honest for as long.
    """
    return msgspec.structs.replace(
        timing,
        min_samples=max(timing.min_samples, right + _SUSPECT_LAUNCHES),
        max_time_s=max(timing.max_time_s, min(_SUSPECT_S, timing.timeout_s / 2)),
    )


class _Doubt(Enum):
    """Why an attempt says nothing of its kernel, which is to be tried again.

    What went wrong may be the work of a kernel before, which has left a thread, a process, an alarm or a
    damaged heap behind, or of the device at that moment. In a worker of its own, and for the second time, it
    is this one's.
    """

    #: a wrong result, which may be wrong in few of many launches
    WRONG = "wrong"
    #: it did not get to its end, and will not again if the kernel is to blame
    FAILED = "failed"


class Executor:
    """Measures kernels of one library in worker processes.

    A context manager: leaving it ends the worker, on Ctrl-C as well. The library is never loaded into this
    process.

    :param library: the kernel library, or the baseline that is measured instead of kernels.
    :param arch: architecture to select; empty for the one that the library was built for.
    :param options: how to run, verify and time.
    :param work_dir: below which workers have their working directories; must exist.
    :param variables: environment variables of the workers, beside those of this process.
    :param on_event: called with what happens.
    """

    def __init__(
        self,
        library: Path | messages.BaselineSource,
        *,
        arch: str,
        options: RunOptions,
        work_dir: Path,
        variables: Mapping[str, str] | None = None,
        on_event: Callable[[Event], None] = ignore,
    ) -> None:
        device = messages.DeviceChoice(arch=arch, index=options.device_index, cpu_threads=options.cpu_threads)
        self._worker = ReplacedWorker(library, device, work_dir, on_event, variables or {}, options.launcher)
        #: identifies the pass among all there ever were: a worker that takes the place of one that has died
        #: goes on with it, since what the machine does for a while it does to both
        self.process = uuid.uuid4().hex
        self._options = options
        self._on_event = on_event
        self._timing = timing_settings(options)
        self._problem: PreparedProblem | None = None
        #: whether workers verify results on their device
        self.can_check = False
        #: why no kernel can be measured on the current problem
        self._lacking: UnmetRequirement | None = None
        #: least number of bytes with which caches were flushed
        self._flush_bytes = self._timing.flush_bytes
        #: what the last measurement found right
        self.verified: Verified | None = None
        #: right launches of each kernel in each pass
        self._launches: Counter[tuple[str, str]] = Counter()
        #: why kernels are not verified with exact operands as well on this problem; empty where they are
        self._one_set = ""
        #: why an attempt to measure the current kernel did not come to its end; empty if none was begun
        self._broken = ""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *error: object) -> None:
        self._worker.leave(at_once=error[0] is not None)

    def open(self) -> messages.Opened:
        """Start the first worker.

        :returns: target, device and the keys of all kernels.
        :raises ToolchainError: the library cannot be loaded or its target rejects the device.
        """
        try:
            opened = self._worker.start()
        except WorkerFailure as failure:
            raise ToolchainError(f"{self._worker.title} cannot be used: {failure}") from failure
        self.can_check = opened.can_check
        return opened

    @property
    def is_running(self) -> bool:
        """Whether the worker of the last measurement has survived it."""
        return self._worker.state in (WorkerState.USED, WorkerState.STALE)

    @property
    def library(self) -> RemoteLibrary:
        """The library in the running worker, for what is no measurement."""
        return self._worker.remote

    def support(self, key: str, queries: Sequence[messages.SupportQuery]) -> Sequence[messages.Support]:
        """Return a kernel's verdicts on problems; none where it brings its worker down, as it will again.

        :raises ToolchainError: workers do not start any more.
        """
        self._worker.require()
        try:
            return self.library.support(_OWN_WORK_LIMIT_S, key, queries)
        except WorkerFailure as failure:
            self._worker.discard(f"kernel {key}: in the support test: {failure}")
            return ()

    def measure_peak(self, dtype: DataType | None, seconds: float) -> float:
        """Return what the device reaches per second; 0 where that cannot be measured.

        :param dtype: type whose multiply-adds are meant; ``None`` for the bytes of a copy.
        :param seconds: how long to measure, about.
        :raises ToolchainError: workers do not start any more.
        """
        self._worker.require()
        size_bytes = max(_LEAST_COPY_BYTES, _COPY_FACTOR * cache_bytes(self._options))
        try:
            rate = self.library.measure_peak(_OWN_WORK_LIMIT_S + seconds, dtype, size_bytes, seconds)
        except WorkerFailure as failure:
            self._worker.discard(f"what the device reaches: {failure}")
            return 0.0
        return rate if math.isfinite(rate) and rate > 0 else 0.0

    def measure_canaries(self, path: Path) -> dict[str, float]:
        """Return the times of the target's canaries in milliseconds, by name.

        :param path: of their object.
        :raises ToolchainError: workers do not start any more, or one that has run no kernel cannot time them.
        """
        while True:
            self._worker.require()
            alone = self._worker.state in (WorkerState.FRESH, WorkerState.READY)
            try:
                return self.library.measure_canaries(_OWN_WORK_LIMIT_S, str(path))
            except WorkerFailure as failure:
                # a kernel may have left the worker of no use
                self._worker.discard(f"canaries: {failure}")
                if alone:
                    raise ToolchainError(str(failure)) from failure

    def set_problem(self, problem: PreparedProblem) -> None:
        """Make this the problem of all following measurements. Every worker loads it when it needs it."""
        self._problem = problem
        self._worker.note_emptied()
        self._lacking = None
        self._one_set = ""

    def new_process(self) -> None:
        """End the worker: what is measured next has a new one, and is another pass."""
        self._worker.leave(at_once=False)
        self.process = uuid.uuid4().hex

    def measure(
        self,
        key: str,
        problem_index: int,
        split_k: int = 1,
        split_sum: SplitSum = SplitSum.RESULT_TYPE,
        *,
        prepares_untimed: bool = False,
        timing: TimingSettings | None = None,
        verified: Verified | None = None,
        exact: PreparedProblem | None = None,
    ) -> Outcome:
        """Measure one kernel on the current problem.

        :param key: content key of the instance.
        :param split_k: splits of the reduction; less than 1 lets the kernel choose.
        :param split_sum: how the kernel adds them up.
        :param prepares_untimed: its launcher does something around the kernel that is no part of the time.
        :param timing: how it is sampled, if not as the options say.
        :param verified: what an earlier measurement of it found right.
        :param exact: the problem with operands whose sums are exact.
        :raises DeviceLostError: the device is of no use any more since the kernel was launched.
        :raises ToolchainError: workers do not start any more, or the device is of no use.
        """
        self._broken = ""
        request = KernelRequest(
            key=key,
            problem_index=problem_index,
            split_k=split_k,
            split_sum=split_sum,
            prepares_untimed=prepares_untimed,
            timing=timing or self._timing,
            own_limit_s=self._own_work_limit_s(),
            least_ms=self._least_ms(self._current_problem()),
            verified=verified,
            exact=exact if not self._one_set else None,
        )
        self.verified = None
        outcome = self._attempt(request)
        while isinstance(outcome, _Doubt):
            request = replace(request, verified=None)
            if outcome is _Doubt.WRONG:
                timing = _searching(request.timing, self._launches[self.process, key])
                request = replace(request, suspected=True, timing=timing)
            outcome = self._attempt(request, again=True)
        self._one_set = self._one_set or outcome.one_set
        return replace(outcome, one_set=self._one_set if exact is not None else "")

    def _note_flush(self, used_bytes: int) -> None:
        """Say once that less memory than intended is touched to flush the caches."""
        if used_bytes >= self._flush_bytes:
            return
        self._flush_bytes, wanted_mib = used_bytes, self._timing.flush_bytes / 2**20
        text = f"{wanted_mib:.4g} MiB to flush the caches do not fit into the device's memory: "
        if used_bytes:
            text += f"{used_bytes / 2**20:.4g} MiB are used, and some of the data may stay cached"
        else:
            text += "durations are those with warm caches"
        self._on_event(Message(text, Level.WARNING))

    def result(self) -> Iterator[NDArray[np.float64]]:
        """Yield the values of the last kernel's result in memory order, without gaps, in pieces.

        :raises WorkerFailure: the worker is lost.
        """
        problem, position = self._current_problem(), 0
        dtype = problem.types.result
        read = partial(self.library.copy_out, self._own_work_limit_s())
        for raw in read_tensor(read, problem.tensors[-1]):
            stored = raw.view(storage_type(dtype))
            yield decode(without_gaps(stored, position, problem.result), dtype, ocp=problem.types.ocp)
            position += stored.size

    def _attempt(self, request: KernelRequest, *, again: bool = False) -> Outcome | _Doubt:
        """Have the kernel measured; a worker that does not survive it makes the outcome.

        :param again: an attempt before had no outcome.
        :raises DeviceLostError: no new worker can use the device since the kernel was launched.
        :raises ToolchainError: no kernel is to blame: a new worker cannot use the device either.
        """
        try:
            lacking = self._prepare_worker()
            if lacking is not None:
                return request.not_met(lacking, NOT_ASKED)
            alone = self._worker.state is WorkerState.READY
            self._worker.state = WorkerState.USED
            measurement = KernelMeasurement(self.library, self._current_problem(), request)
            try:
                outcome = measurement.measure()
            except WorkerFailure as failure:
                return self._lost(failure, measurement, request, may_pass=not again, alone=alone)
            return self._judged(outcome, measurement, may_pass=not again, alone=alone)
        except ToolchainError as exc:
            if not self._broken or isinstance(exc.__cause__, WorkerNotStarted):
                raise
            reason = f"the device failed beside this kernel, {self._broken}"
            raise DeviceLostError(
                str(exc), request.outcome(Status.RUN_ERROR, reason, launched=False)
            ) from exc

    def _lost(
        self,
        failure: WorkerFailure,
        measurement: KernelMeasurement,
        request: KernelRequest,
        *,
        may_pass: bool,
        alone: bool,
    ) -> Outcome | _Doubt:
        """Return what it means that a worker did not survive a kernel.

        :param may_pass: the kernel may be tried again.
        :param alone: no other kernel has run in the worker.
        """
        timed_out, stopped = isinstance(failure, WorkerTimeout), isinstance(failure, WorkerStopped)
        reason = f"{measurement.stage}: {failure}"
        if timed_out:
            what = f"{failure}" if stopped else f"not done within {self._options.timeout_s:g} s"
            reason = f"{what}, killed {measurement.stage}"
        self._broken = reason
        self._worker.discard(f"kernel {request.key}: {reason}")
        # nobody stops the next worker as well but the kernel
        if may_pass and (stopped or (not timed_out and (failure.of_device or not alone))):
            return _Doubt.FAILED
        # Before the kernel is blamed: a device that is lost fails whatever is launched.
        self._prepare_worker()
        status = Status.RUN_TIMEOUT if timed_out else Status.RUN_ERROR
        return request.outcome(status, reason, split_k=measurement.split_k)

    def _judged(
        self, outcome: Outcome, measurement: KernelMeasurement, *, may_pass: bool, alone: bool
    ) -> Outcome | _Doubt:
        """Return what a measurement means whose worker has survived it; the parameters are as before."""
        doubt: _Doubt | None = None
        if outcome.status is Status.WRONG_RESULT and not alone:
            doubt = _Doubt.WRONG
        failed = outcome.status is Status.RUN_ERROR and measurement.tainted
        if failed and may_pass:
            doubt = _Doubt.FAILED
        if failed or doubt is not None:
            self._broken = outcome.reason
        if measurement.tainted or doubt is not None:
            self._worker.discard(f"kernel {outcome.key} {outcome.reason}")
        if failed and doubt is None:
            self._prepare_worker()
        if doubt is None and outcome.measurement is not None:
            self.verified, seen = measurement.verified, outcome.verification
            self._launches[self.process, outcome.key] += seen.launches if seen is not None else 0
            self._note_flush(measurement.flush_bytes)
        return doubt or outcome

    def _prepare_worker(self, *, again: bool = False) -> UnmetRequirement | None:
        """Have a worker with the problem loaded, or say why no kernel can run on it.

        :raises ToolchainError: new workers do not start, or cannot load the problem; no kernel is to blame.
        """
        if self._lacking is not None:
            return self._lacking
        problem = self._current_problem()
        if self._worker.process is not None:
            try:
                self._worker.process.check_silence()
            except WorkerFailure as failure:
                self._worker.discard(str(failure))
        self._worker.require()
        if self._worker.state in (WorkerState.READY, WorkerState.USED):
            return None
        was_used = self._worker.state is WorkerState.STALE
        try:
            made = self.library.load(self._own_work_limit_s(), problem.request)
        except WorkerFailure as failure:
            self._worker.discard(str(failure))
            if was_used:
                # perhaps a kernel has taken its descriptors or its memory away
                return self._prepare_worker()
            if not again:
                return self._prepare_worker(again=True)
            raise ToolchainError(
                f"{self._worker.title} cannot be used any more: a problem could not be loaded: {failure}; "
                "see whether the device works. What was measured stays, the same command measures the rest"
            ) from failure
        if not isinstance(made, UnmetRequirement):
            self._problem = problem.loaded(made)
            self._worker.note_loaded()
            return None
        if was_used:
            # perhaps a kernel has kept memory; a worker of its own has all of it
            self._worker.discard(f"a problem does not fit: {made.message}")
            return self._prepare_worker()
        hint = "; --reference host needs less of the device's" if problem.on_device else ""
        self._lacking = replace(made, message=f"not enough memory: {made.message}{hint}")
        return self._lacking

    def _current_problem(self) -> PreparedProblem:
        if self._problem is None:
            raise ValueError("no problem is set")
        return self._problem

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
            multiplied = multiplied.no_faster_than
        peak = dict(self._options.peak_flops).get(multiplied, 0.0)
        return problem.problem.real_flop / peak * 1e3 if peak else 0.0
