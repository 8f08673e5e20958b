"""What the worker does for its parent: load, ask, run, sample, copy out. It judges nothing."""

from __future__ import annotations

import math
import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.measure.verify.storage import StoredFile, storage_type
from ckprof.measure.worker.abi import CProblem, DeviceError, DeviceRejectedError, Library, LibraryError
from ckprof.measure.worker.audit import HostAudit, LaunchTimes, OtherThreads, look_at_more
from ckprof.measure.worker.canaries import canary_times
from ckprof.measure.worker.device_audit import DeviceAudit, DeviceReferences, ProblemTooLargeError
from ckprof.measure.worker.memory import DeviceTensors
from ckprof.measure.worker.messages import (
    AbiStatus,
    Answer,
    DeviceChoice,
    Fault,
    Opened,
    WorkerMethods,
    decode_call,
    encode,
)
from ckprof.measure.worker.sampling import Audit, KernelFailure, checked_time, take_samples
from ckprof.model.device import EVENT_CLOCK
from ckprof.model.outcome import TIMEOUT
from ckprof.model.requirement import DEVICE_MEMORY, MEMORY_IN_USE, UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.measure.worker.abi import CBuffers, Kernel
    from ckprof.measure.worker.baseline_session import EngineKernel, EngineLibrary
    from ckprof.measure.worker.messages import (
        BaselineSource,
        Checked,
        LibraryInfo,
        LoadProblem,
        ProblemValues,
        ReferenceFacts,
        Support,
        TensorFile,
    )
    from ckprof.measure.worker.sampling import AuditRequest, Sampling, TimingSettings
    from ckprof.model.computation import Rounding, Tolerance
    from ckprof.model.types import DataType

#: a smaller flush than that evicts nothing that matters
_LEAST_FLUSH_BYTES: Final = 2**20
#: of a device's memory, what it keeps for itself, or others may hold without being to blame
_SPARE_SHARE: Final = 1 / 8
#: the copy that measures a device's bandwidth takes two of so many parts of the available memory at most
_PEAK_MEMORY_SHARE: Final = 8


class KernelSession(WorkerMethods):
    """Does for one library what its parent calls for: its public methods but one are those of the protocol.

    :param shared: memory into which tensors are copied.
    """

    def __init__(self, shared: NDArray[np.uint8]) -> None:
        self._shared = shared
        self._opened: Library | EngineLibrary | None = None
        self._baseline: EngineKernel | None = None
        self._tensors: DeviceTensors | None = None
        #: operands that were read from files, by path
        self._files: dict[str, StoredFile] = {}
        self._references: DeviceReferences | None = None
        self._problem: LoadProblem | None = None
        #: largest workspace that kernels have been allowed to take
        self._workspace_bytes = 0
        #: bytes of flushing that were asked for last, and those for which there was memory
        self._flush: tuple[int, int] | None = None
        self._others = OtherThreads()
        #: of the launches of each kernel on the loaded problem
        self._times: dict[str, LaunchTimes] = {}
        self._device = DeviceChoice()
        #: what the last sampling has kept
        self._kept: list[NDArray[np.uint8]] = []

    def answer(self, call: bytes) -> bytes:
        """Do what is called for. What a kernel does wrong is a result, what the call does a fault."""
        try:
            method, arguments = decode_call(call)
            answer: Answer[Any] = Answer(getattr(self, method)(*arguments))
        except LibraryError as exc:
            fault = Fault.DEVICE if isinstance(exc, DeviceRejectedError) else Fault.LIBRARY
            answer = Answer(fault=fault, reason=str(exc))
        except DeviceError as exc:
            answer = Answer(fault=Fault.DEVICE, reason=f"{type(exc).__name__}: {exc}")
        except (KeyError, ValueError, OSError, MemoryError, ProblemTooLargeError) as exc:
            answer = Answer(fault=Fault.CALL, reason=f"{type(exc).__name__}: {exc}")
        return encode(answer)

    @property
    def _library(self) -> Library | EngineLibrary:
        if self._opened is None:
            raise ValueError("the first call must open a library")
        return self._opened

    def open(self, library: str, device: DeviceChoice | None) -> Opened:
        self._opened = loaded = Library.load(Path(library))
        target, described, identity = loaded.target, "", None
        if device is not None:
            self._device = device
            target.select_device(device.arch or (loaded.info.arch if loaded.info else ""), device.index)
            target.set_cpu_threads(device.cpu_threads)
            described, identity = target.describe_device(), target.identify_device()
        return Opened(
            target=target.id,
            device=described,
            keys=tuple(loaded.kernels),
            identity=identity,
            can_check=loaded.checks is not None,
        )

    def open_baseline(self, source: BaselineSource, device: DeviceChoice) -> Opened:
        from ckprof.measure.worker.baseline_session import EngineLibrary

        self._opened = loaded = EngineLibrary(source, device)
        self._baseline = loaded.kernel
        return Opened(
            target=source.id,
            device=loaded.description,
            keys=(source.id,),
            can_check=loaded.checks is not None,
        )

    def _kernel(self, key: str) -> Kernel | EngineKernel:
        kernel = self._library.kernels.get(key)
        if kernel is None:
            raise LibraryError(f"the kernel library has no kernel with key {key}")
        return kernel

    def _loaded(self) -> tuple[LoadProblem, DeviceTensors]:
        if self._problem is None or self._tensors is None:
            raise ValueError("no problem is loaded")
        return self._problem, self._tensors

    def describe(self) -> LibraryInfo | None:
        return self._library.info

    def copy_out(self, tensor: str, start: int, size: int, kept: int) -> None:
        out = self._shared[:size]
        if kept < 0:
            self._loaded()[1][tensor].read(start, out)
        else:
            out[...] = self._kept[kept][start : start + size]

    def check(self, tolerance: Tolerance, roundings: tuple[Rounding, ...]) -> Checked:
        if self._references is None:
            raise ValueError("the device has no reference")
        return self._references.check(tolerance, roundings)

    def load(self, problem: LoadProblem) -> ReferenceFacts | UnmetRequirement | None:
        files = sorted((*problem.operands, problem.result), key=lambda file: file.position)
        if self._baseline is not None:
            self._baseline.set_work(problem.computation, tuple(file.name for file in files))
        self._release()
        sizes = {file.name: storage_type(file.dtype).itemsize * math.prod(file.shape) for file in files}
        try:
            tensors = self._tensors = self._tensors_of(sizes)
            if problem.contraction is not None:
                if self._library.checks is None:
                    raise ValueError("the library's target does not verify on its device")
                self._references = DeviceReferences(
                    self._library.checks, self._library.target, problem, tensors
                )
            made = self._filled(problem.operands, tensors)
        except (MemoryError, ProblemTooLargeError) as exc:
            self._release()
            return self._lacking(exc, wanted=sum(sizes.values()))
        self._problem = problem
        return made

    def _release(self) -> None:
        """Give the memory of the loaded problem back."""
        for held in (self._references, self._tensors):
            if held is not None:
                held.release()
        self._references = self._tensors = None
        self._kept = []
        self._times.clear()
        for values in self._files.values():
            values.close()
        self._files.clear()

    def _filled(self, operands: tuple[TensorFile, ...], tensors: DeviceTensors) -> ReferenceFacts | None:
        """Have the device fill the operands and compute the reference, or read them from files."""
        if self._references is not None:
            return self._references.use(operands)
        for file in operands:
            # a kernel may have taken the right to open files away since
            values = self._files.get(file.path) or StoredFile.open(Path(file.path))
            self._files[file.path] = values
            tensors[file.name].upload(values)
        return None

    def set_operands(self, operands: tuple[TensorFile, ...]) -> ReferenceFacts | UnmetRequirement | None:
        _, tensors = self._loaded()
        try:
            return self._filled(operands, tensors)
        except (MemoryError, ProblemTooLargeError) as exc:
            return self._lacking(exc, wanted=tensors.size_bytes, held=tensors.size_bytes)

    def _lacking(
        self, why: Exception | str, *, wanted: int, held: int = 0, usual: str = "memory"
    ) -> UnmetRequirement:
        """Return the requirement that is not met where there is not enough memory.

        :param wanted: bytes that would have done.
        :param held: bytes of them that are allocated.
        :param usual: its id on a target that has no memory of its own, or only too little for a kernel.
        """
        identity, available = self._library.identity, self._library.target.available_bytes()
        rule = usual
        if identity is not None and identity.memory_bytes > 0:
            whole, spare = identity.memory_bytes, _SPARE_SHARE * identity.memory_bytes
            if available is not None and wanted <= whole - spare and whole - available - held > spare:
                rule = MEMORY_IN_USE
            elif usual != "workspace":
                rule = DEVICE_MEMORY
        return UnmetRequirement(rule=rule, message=str(why))

    def _tensors_of(self, sizes: Mapping[str, int]) -> DeviceTensors:
        target = self._library.target
        try:
            return DeviceTensors(target, sizes, self._library.checks)
        except MemoryError:
            target.flush_cache(0)
            self._flush = None
            return DeviceTensors(target, sizes, self._library.checks)

    def support(self, key: str, queries: tuple[tuple[ProblemValues, int], ...]) -> tuple[Support, ...]:
        kernel = self._kernel(key)
        return tuple(
            self._with_room(kernel.is_supported(_c_problem(problem, split_k))) for problem, split_k in queries
        )

    def _with_room(self, support: Support) -> Support:
        """Reject a workspace that does not fit into memory: to allocate it could end this process."""
        available = self._available_for(support.workspace_bytes)
        if available is None:
            return support
        message = (
            f"the kernel needs a workspace of {support.workspace_bytes / 2**30:.1f} GiB, "
            f"{available / 2**30:.1f} GiB of memory are available"
        )
        held = self._tensors.size_bytes if self._tensors is not None else 0
        wanted = held + support.workspace_bytes
        unmet = self._lacking(message, wanted=wanted, held=held, usual="workspace")
        return msgspec.structs.replace(support, status=AbiStatus.REJECTED, unmet_requirements=(unmet,))

    def _available_for(self, workspace_bytes: int) -> int | None:
        """Return the bytes there are where a workspace does not fit, ``None`` where it does.

        References that can be computed again make room.
        """
        target = self._library.target
        # The largest workspace so far is kept and used again.
        needed = workspace_bytes - self._workspace_bytes
        if needed <= 0:
            return None  # to ask a device for what is free takes longer than short kernels do
        available = target.available_bytes()
        if available is not None and needed > available and self._references is not None:
            self._references.release_others()
            available = target.available_bytes()
        return None if available is None or needed <= available else available

    def run(self, key: str, split_k: int, workspace_bytes: int) -> tuple[AbiStatus, str, float]:
        (loaded, tensors), kernel = self._loaded(), self._kernel(key)
        tensors[loaded.result.name].poison()
        self._available_for(workspace_bytes)
        self._workspace_bytes = max(self._workspace_bytes, workspace_bytes)
        status, reason, time_ms = kernel.run(_c_problem(loaded.problem, split_k), tensors.buffers)
        self._others.start()
        if status is not AbiStatus.OK:
            return status, reason, 0.0
        try:
            return status, reason, checked_time(time_ms)
        except KernelFailure as failure:
            return AbiStatus.FAILED, str(failure), 0.0

    def sample(
        self,
        key: str,
        split_k: int,
        timing: TimingSettings,
        first_ms: float,
        first_s: float,
        audit: AuditRequest | None,
    ) -> Sampling | str:
        (loaded, tensors), kernel = self._loaded(), self._kernel(key)
        start = time.perf_counter()
        busy = self._others.busy()
        before = time.perf_counter()
        flush_bytes = self._fitting_flush(timing.flush_bytes)
        first_flush_s = time.perf_counter() - before
        run = partial(timed_run, kernel, _c_problem(loaded.problem, split_k), tensors.buffers)
        is_brief = audit is not None and audit.is_brief
        known = self._times.get(key) if is_brief else None
        times = self._times[key] = LaunchTimes() if known is None else known.keep_latest()
        watcher = self._watcher(audit, times, run, first_ms)
        self._library.units_used()  # those of launches before
        try:
            sampling = take_samples(
                # engines of baselines may measure with the device's clock, and keep it busy until they launch
                run if self._batches or self._baseline is not None else partial(times.timed, run),
                timing,
                first_ms=first_ms,
                first_s=first_s,
                run_batch=run if self._batches else None,
                flush=(lambda: self._library.target.flush_cache(flush_bytes)) if flush_bytes else None,
                # The results of runs before must not pass for those of the runs that are timed.
                after_warmup=tensors[loaded.result.name].poison,
                watcher=watcher,
            )
            more_s = 0.0
            if audit is not None and watcher is not None and sampling.stopped_by != TIMEOUT:
                more_s = look_at_more(watcher, run, audit, sampling)
        except KernelFailure as failure:
            return str(failure)
        over = time.perf_counter()
        seen = watcher.finish() if watcher is not None else Audit()
        own_s = (before - start) + (time.perf_counter() - over)
        return msgspec.structs.replace(
            sampling,
            wall_s=first_flush_s + sampling.wall_s + more_s,
            flush_s=first_flush_s + sampling.flush_s,
            audit_s=sampling.audit_s + more_s + own_s,
            flush_bytes=flush_bytes,
            units=self._library.units_used(),
            audit=msgspec.structs.replace(
                seen,
                busy=busy,
                launch_ms=times.launch_ms,
                unreported_ms=0.0 if is_brief and times.are_few else times.unreported_ms,
            ),
        )

    def sample_again(
        self, key: str, split_k: int, workspace_bytes: int, timing: TimingSettings, audit: AuditRequest | None
    ) -> Sampling | str | None:
        if self._available_for(workspace_bytes) is not None:
            return None
        started = time.perf_counter()
        status, reason, first_ms = self.run(key, split_k, workspace_bytes)
        if status is not AbiStatus.OK:
            return None if status is AbiStatus.REJECTED else reason or "failed without a reason"
        return self.sample(key, split_k, timing, first_ms, time.perf_counter() - started, audit)

    def _watcher(
        self, request: AuditRequest | None, times: LaunchTimes, run: Callable[..., float], first_ms: float
    ) -> HostAudit | DeviceAudit | None:
        """Return what looks at launches; ``None`` where their results are not verified."""
        loaded, tensors = self._loaded()
        self._kept = []
        if request is None:
            return None
        references = self._references
        if references is not None and references.current is not None:
            compared_ms = first_ms if self._batches else None
            return DeviceAudit(references, request, run, times, compared_ms)
        *operands, result = (
            (file.name, (tensors[file.name], storage_type(file.dtype).itemsize))
            for file in (*loaded.operands, loaded.result)
        )
        audit = HostAudit(dict(operands), result[1], loaded.signs, request, times)
        self._kept = audit.kept
        return audit

    @cached_property
    def _batches(self) -> bool:
        """Whether short kernels are launched several times per sample: where the device's clock measures.

        The worker can compare what launchers measure there with what it measures around them.
        """
        identity = self._library.identity
        return identity is not None and identity.clock == EVENT_CLOCK

    def _fitting_flush(self, wanted: int) -> int:
        """Return how many bytes can be touched to flush the caches: half as many until there is memory."""
        if self._flush is not None and self._flush[0] == wanted:
            return self._flush[1]
        size = wanted
        while size:
            try:
                self._library.target.flush_cache(size)
                break
            except MemoryError:
                size = size // 2 if size > _LEAST_FLUSH_BYTES else 0
        self._flush = (wanted, size)
        return size

    def instance_string(self, key: str) -> tuple[AbiStatus, str]:
        kernel = self._library.kernels.get(key)
        if kernel is None:
            return AbiStatus.FAILED, f"the library has no kernel with key {key}"
        status, text = kernel.instance_string()
        return status, text or ("" if status is AbiStatus.OK else "the kernel gave no text and no reason")

    def measure_peak(self, dtype: DataType | None, size_bytes: int, seconds: float) -> float:
        available = self._library.target.available_bytes()
        if available is not None:
            size_bytes = min(size_bytes, available // _PEAK_MEMORY_SHARE)
        return self._library.measure_peak(dtype, size_bytes, seconds)

    def measure_canaries(self, path: str) -> dict[str, float]:
        return canary_times(path, self._device)


def _c_problem(problem: ProblemValues, split_k: int) -> CProblem:
    return CProblem.from_values(problem.ndim, problem.values, split_k)


def timed_run(
    kernel: Kernel | EngineKernel, problem: CProblem, buffers: CBuffers, launches: int = 1
) -> float:
    """Run a kernel and return what its launcher measured, in milliseconds.

    :param buffers: the C form of the tensors' addresses.
    :param launches: in a row; the time is that of one.
    :raises KernelFailure: the run failed, or the duration is none.
    """
    status, reason, time_ms = kernel.run(problem, buffers, launches)
    if status is not AbiStatus.OK:
        raise KernelFailure(f"failed in a timed run: {reason or 'no reason given'}")
    return checked_time(time_ms)
