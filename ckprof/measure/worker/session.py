"""What the worker does for its parent: load, ask, run, sample, copy out. It judges nothing."""

from __future__ import annotations

import math
import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.measure.verify.storage import StoredFile, storage_type
from ckprof.measure.worker import messages
from ckprof.measure.worker.abi import CProblem, DeviceError, Library, LibraryError
from ckprof.measure.worker.audit import HostAudit, LaunchTimes, OtherThreads, look_at_more
from ckprof.measure.worker.device_audit import (
    DeviceAudit,
    DeviceReferences,
    LaunchWork,
    ProblemTooLargeError,
    SignBytes,
)
from ckprof.measure.worker.device_checks import CheckProvider, Limits
from ckprof.measure.worker.memory import DeviceTensors, RoofProvider, UnitProvider, memory_rule
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import (
    Audit,
    KernelFailure,
    Launches,
    Sample,
    Sampled,
    checked_time,
    take_samples,
)
from ckprof.model.device import EVENT_CLOCK
from ckprof.model.outcome import TIMEOUT
from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.measure.worker.abi import CBuffers
    from ckprof.measure.worker.memory import KernelProvider, ProviderKernel

#: a smaller flush than that evicts nothing that matters
_LEAST_FLUSH_BYTES: Final = 2**20
#: the copy that measures a device's bandwidth takes two of so many parts of the available memory at most
_ROOF_MEMORY_SHARE: Final = 8


class KernelSession:
    """Answers requests for one library.

    :param library: the loaded library.
    :param shared: memory into which tensors are copied.
    """

    def __init__(self, library: KernelProvider, shared: NDArray[np.uint8]) -> None:
        self._library = library
        self._shared = shared
        self._checks = library.checks if isinstance(library, CheckProvider) else None
        self._tensors: DeviceTensors | None = None
        #: operands that were read from files, by path
        self._files: dict[str, StoredFile] = {}
        self._references: DeviceReferences | None = None
        self._sign_bytes: SignBytes | None = None
        self._problem: messages.ProblemValues | None = None
        self._request: messages.LoadProblem | None = None
        self._result = ""
        #: bytes of flushing that were asked for last, and those for which there was memory
        self._flush: tuple[int, int] | None = None
        self._others = OtherThreads()
        #: what the last sampling has kept
        self._kept: list[NDArray[np.uint8]] = []

    def reply(self, request: messages.Request) -> messages.Reply:
        """Serve a request. What a kernel does wrong is a reply; what the request does wrong is one, too."""
        try:
            return self._serve(request)
        except DeviceError as exc:
            return messages.Failed(reason=f"{type(exc).__name__}: {exc}", device=True)
        except (KeyError, ValueError, OSError, MemoryError, ProblemTooLargeError) as exc:
            return messages.Failed(reason=f"{type(exc).__name__}: {exc}")

    def _serve(self, request: messages.Request) -> messages.Reply:
        match request:
            case messages.LoadProblem():
                return self._load(request)
            case messages.SetOperands():
                return self._other_operands(request.operands)
            case messages.QuerySupport():
                return self._query(request)
            case messages.RunOnce():
                return self._run(request)
            case Sample():
                return self._sample(request)
            case messages.CopyOut():
                return self._copy_out(request)
            case messages.Check():
                references = self._references
                if references is None or references.current is None:
                    raise ValueError("the device has no reference")
                return references.current.check(request)
            case messages.ReadInstanceString():
                return self._instance_text(request.key)
            case messages.Describe():
                return self._describe()
            case messages.MeasureRoof():
                return self._roof(request)
            case messages.Release():
                self._release()
                return messages.Released()
            case _:
                raise ValueError("it cannot be served now")

    def _kernel(self, key: str) -> ProviderKernel:
        kernel = self._library.kernels.get(key)
        if kernel is None:
            raise KeyError(key)
        return kernel

    def _loaded(self) -> DeviceTensors:
        if self._tensors is None:
            raise ValueError("no problem is loaded")
        return self._tensors

    def _copy_out(self, request: messages.CopyOut) -> messages.Reply:
        out = self._shared[: request.size]
        if request.kept < 0:
            self._loaded()[request.tensor].read(request.start, out)
        else:
            out[...] = self._kept[request.kept][request.start : request.start + request.size]
        return messages.CopiedOut(size=request.size)

    def _load(self, request: messages.LoadProblem) -> messages.Reply:
        start = time.perf_counter()
        self._release()
        files = sorted((*request.operands, request.result), key=lambda file: file.position)
        sizes = {file.name: storage_type(file.dtype).itemsize * math.prod(file.shape) for file in files}
        try:
            tensors = self._tensors = self._tensors_of(sizes)
            if request.contraction is not None:
                self._references = self._references_of(request, tensors)
            reply = self._set_operands(request.operands)
        except (MemoryError, ProblemTooLargeError) as exc:
            self._release()
            rule = memory_rule(self._library.target, wanted=sum(sizes.values()), usual="memory")
            return messages.ProblemRejected(reason=str(exc), rule=rule)
        self._problem, self._result = request.problem, request.result.name
        self._request = request
        return msgspec.structs.replace(reply, seconds=time.perf_counter() - start)

    def _release(self) -> None:
        """Give the memory of the problem before back."""
        for held in (self._sign_bytes, self._references, self._tensors):
            if held is not None:
                held.release()
        self._sign_bytes = self._references = self._tensors = None
        self._kept = []
        for values in self._files.values():
            values.close()
        self._files.clear()

    def _references_of(self, request: messages.LoadProblem, tensors: DeviceTensors) -> DeviceReferences:
        if self._checks is None:
            raise ValueError("the library's target does not verify on its device")
        self._sign_bytes = SignBytes(self._library.target, self._checks, request.signs)
        return DeviceReferences(self._checks, self._library.target, request, tensors)

    def _set_operands(self, operands: tuple[messages.TensorFile, ...]) -> messages.ProblemLoaded:
        """Have the device fill the operands and compute the reference, or read them from files."""
        if self._references is not None:
            return messages.ProblemLoaded(reference=self._references.use(operands))
        tensors = self._loaded()
        for file in operands:
            # a kernel may have taken the right to open files away since
            values = self._files.get(file.path) or StoredFile.open(Path(file.path))
            self._files[file.path] = values
            tensors[file.name].upload(values)
        return messages.ProblemLoaded()

    def _other_operands(self, operands: tuple[messages.TensorFile, ...]) -> messages.Reply:
        """Give the operands other values, unless there is no memory for their reference."""
        try:
            return self._set_operands(operands)
        except (MemoryError, ProblemTooLargeError) as exc:
            held = self._loaded().size_bytes
            rule = memory_rule(self._library.target, wanted=held, held=held, usual="memory")
            return messages.ProblemRejected(reason=str(exc), rule=rule)

    def _tensors_of(self, sizes: Mapping[str, int]) -> DeviceTensors:
        target = self._library.target
        try:
            return DeviceTensors(target, sizes, self._checks)
        except MemoryError:
            target.flush_cache(0)
            self._flush = None
            return DeviceTensors(target, sizes, self._checks)

    def _query(self, request: messages.QuerySupport) -> messages.Reply:
        kernel = self._library.kernels.get(request.key)
        if kernel is None:
            reason = f"the kernel library has no kernel with key {request.key}"
            return messages.Failed(reason=reason)
        answers = tuple(
            self._with_room(kernel.is_supported(_c_problem(query.problem, query.split_k)))
            for query in request.queries
        )
        return messages.SupportAnswers(key=request.key, answers=answers)

    def _with_room(self, support: messages.Support) -> messages.Support:
        """Reject a workspace that does not fit into memory: to allocate it could end this process."""
        target = self._library.target
        available = self._available_for(support.workspace_bytes)
        if available is None:
            return support
        message = (
            f"the kernel needs a workspace of {support.workspace_bytes / 2**30:.1f} GiB, "
            f"{available / 2**30:.1f} GiB of memory are available"
        )
        held = self._tensors.size_bytes if self._tensors is not None else 0
        rule = memory_rule(target, wanted=held + support.workspace_bytes, held=held, usual="workspace")
        unmet = UnmetRequirement(rule=rule, message=message)
        return msgspec.structs.replace(support, status=AbiStatus.REJECTED, unmet_requirements=(unmet,))

    def _available_for(self, workspace_bytes: int) -> int | None:
        """Return the bytes there are where a workspace does not fit, ``None`` where it does.

        References that can be computed again make room.
        """
        target = self._library.target
        # The largest workspace so far is kept and used again.
        needed = workspace_bytes - target.workspace_bytes
        available = target.available_bytes()
        if available is not None and needed > available and self._references is not None:
            self._references.release_others()
            available = target.available_bytes()
        return None if available is None or needed <= available else available

    def _run(self, request: messages.RunOnce) -> messages.Reply:
        tensors, kernel = self._loaded(), self._kernel(request.key)
        tensors[self._result].poison()
        target = self._library.target
        self._available_for(request.workspace_bytes)
        target.workspace_bytes = max(target.workspace_bytes, request.workspace_bytes)
        status, reason, time_ms = kernel.run(
            _c_problem(self._loaded_values(), request.split_k), tensors.buffers
        )
        self._others.start()
        if status is AbiStatus.OK:
            try:
                time_ms = checked_time(time_ms)
            except KernelFailure as failure:
                status, reason, time_ms = AbiStatus.FAILED, str(failure), 0.0
        return messages.Ran(key=request.key, status=status, reason=reason, time_ms=time_ms)

    def _sample(self, request: Sample) -> messages.Reply:
        tensors, kernel = self._loaded(), self._kernel(request.key)
        problem, buffers = _c_problem(self._loaded_values(), request.split_k), tensors.buffers
        start = time.perf_counter()
        busy = self._others.busy()
        before = time.perf_counter()
        flush_bytes = self._fitting_flush(request.timing.flush_bytes)
        first_flush_s = time.perf_counter() - before
        run = partial(timed_run, kernel, problem, buffers)
        times = LaunchTimes()
        audit = self._audit(request, times, run)
        self._units_used()  # those of launches before
        try:
            sampling = take_samples(
                Launches(
                    run_once=partial(times.timed, run) if self._host_times else run,
                    run_batch=run if self._batches else None,
                    flush=(lambda: self._library.target.flush_cache(flush_bytes)) if flush_bytes else None,
                    # The results of runs before must not pass for those of the runs that are timed.
                    after_warmup=tensors[self._result].poison,
                    watcher=audit,
                ),
                request.timing,
                first_ms=request.first_ms,
                first_s=request.first_s,
            )
            if audit is not None and sampling.stopped_by != TIMEOUT:
                limit_s = max(request.audit_least_s, request.audit_share / 2 * sampling.wall_s)
                more_s = look_at_more(audit, run, limit_s)
                sampling = msgspec.structs.replace(
                    sampling, wall_s=sampling.wall_s + more_s, audit_s=sampling.audit_s + more_s
                )
        except KernelFailure as failure:
            return messages.Ran(key=request.key, status=AbiStatus.FAILED, reason=str(failure))
        over = time.perf_counter()
        seen = audit.finish() if audit is not None else Audit()
        audit_s = sampling.audit_s + (before - start) + (time.perf_counter() - over)
        return Sampled(
            key=request.key,
            sampling=msgspec.structs.replace(
                sampling,
                wall_s=first_flush_s + sampling.wall_s,
                flush_s=first_flush_s + sampling.flush_s,
                audit_s=audit_s,
            ),
            flush_bytes=flush_bytes,
            units=self._units_used(),
            audit=msgspec.structs.replace(
                seen, busy=busy, launch_ms=times.launch_ms, unreported_ms=times.unreported_ms
            ),
        )

    def _units_used(self) -> tuple[str, ...]:
        library = self._library
        return library.units_used() if isinstance(library, UnitProvider) else ()

    def _audit(
        self, request: Sample, times: LaunchTimes, run: Callable[..., float]
    ) -> HostAudit | DeviceAudit | None:
        """Return what looks at launches; ``None`` where their results are not verified."""
        loaded, tensors = self._request, self._loaded()
        self._kept = []
        if not request.audit_share or loaded is None:
            return None
        reference = self._references.current if self._references is not None else None
        if reference is not None and self._sign_bytes is not None:
            limits = Limits(rtol=request.rtol, atol=request.atol)
            work = LaunchWork(
                run=run,
                times=times,
                timed=self._device_times,
                first_ms=request.first_ms,
                fresh=request.fresh,
            )
            return DeviceAudit(reference, limits, self._sign_bytes, work)
        items = {file.name: storage_type(file.dtype).itemsize for file in (*loaded.operands, loaded.result)}
        operands = {file.name: (tensors[file.name], items[file.name]) for file in loaded.operands}
        result = tensors[self._result], items[self._result]
        audit = HostAudit(operands, result, loaded.signs, request, times)
        self._kept = audit.kept
        return audit

    @property
    def _host_times(self) -> bool:
        """Whether launchers measure with the clock that the worker has as well."""
        return not self._batches

    @property
    def _device_times(self) -> bool:
        """Whether launchers measure on the device what the worker can measure around it."""
        return self._batches

    @cached_property
    def _batches(self) -> bool:
        """Whether short kernels are launched several times per sample: where the device's clock measures."""
        identity = self._library.target.identify_device()
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

    def _loaded_values(self) -> messages.ProblemValues:
        if self._problem is None:
            raise ValueError("no problem is loaded")
        return self._problem

    def _instance_text(self, key: str) -> messages.Reply:
        kernel = self._library.kernels.get(key)
        if kernel is None:
            return messages.InstanceText(key=key, text="", error=f"the library has no kernel with key {key}")
        status, text = kernel.instance_string()
        if status is AbiStatus.OK:
            return messages.InstanceText(key=key, text=text)
        return messages.InstanceText(key=key, text="", error=text or "the kernel gave no text and no reason")

    def _roof(self, request: messages.MeasureRoof) -> messages.Reply:
        size, available = request.size_bytes, self._library.target.available_bytes()
        if available is not None:
            size = min(size, available // _ROOF_MEMORY_SHARE)
        if not isinstance(self._library, RoofProvider):
            return messages.RoofMeasured(rate=0.0)
        return messages.RoofMeasured(rate=self._library.measure_roof(request.dtype, size, request.seconds))

    def _describe(self) -> messages.Reply:
        info = self._library.info
        if info is None:
            return messages.Described()
        kernels = tuple(
            messages.KernelEntry(key=kernel.key, name=kernel.name, fields=msgspec.json.decode(fields))
            for kernel, fields in zip(self._library.kernels.values(), info.fields, strict=True)
        )
        return messages.Described(direction=info.direction, arch=info.arch, kernels=kernels)


def _c_problem(problem: messages.ProblemValues, split_k: int) -> CProblem:
    return CProblem.from_values(problem.ndim, problem.values, split_k)


def timed_run(kernel: ProviderKernel, problem: CProblem, buffers: CBuffers, launches: int = 1) -> float:
    """Run a kernel and return what its launcher measured, in milliseconds.

    :param buffers: the C form of the tensors' addresses.
    :param launches: in a row; the time is that of one.
    :raises KernelFailure: the run failed, or the duration is none.
    """
    status, reason, time_ms = kernel.run(problem, buffers, launches)
    if status is not AbiStatus.OK:
        raise KernelFailure(f"failed in a timed run: {reason or 'no reason given'}")
    return checked_time(time_ms)


def open_library(request: messages.Request) -> tuple[Library | None, messages.Reply]:
    """Load the library that the first request names, and select the device."""
    if not isinstance(request, messages.Open):
        return None, messages.OpenFailed(reason="the first request must open a library")
    try:
        library = Library.load(Path(request.library))
    except LibraryError as exc:
        return None, messages.OpenFailed(reason=str(exc))
    device, identity = "", None
    if request.device is not None:
        arch = request.device.arch or (library.info.arch if library.info else "")
        try:
            library.target.select_device(arch, request.device.index)
        except LibraryError as exc:
            return None, messages.OpenFailed(reason=str(exc), loaded=True)
        library.target.set_cpu_threads(request.device.cpu_threads)
        device = library.target.describe_device()
        identity = library.target.identify_device()
    opened = messages.Opened(
        target=library.target.id,
        device=device,
        keys=tuple(library.kernels),
        identity=identity,
        can_check=library.checks is not None,
    )
    return library, opened
