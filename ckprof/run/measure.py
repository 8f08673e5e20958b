"""What the worker does with one kernel: test support, run, verify, time."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ckprof.model.outcome import Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.run.abi import AbiStatus, CBuffers, CProblem
from ckprof.run.device_reference import DeviceReference
from ckprof.run.memory import GuardedTensor
from ckprof.run.messages import Measured, Progress
from ckprof.run.storage import storage_type
from ckprof.run.stored_file import StoredFile
from ckprof.run.timing import take_samples
from ckprof.run.tolerance import derive_tolerance
from ckprof.run.verify import compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.run.abi import Kernel, Support, Target
    from ckprof.run.messages import LoadProblem, TimingSettings
    from ckprof.run.tolerance import Tolerance
    from ckprof.run.verify import Comparison


class LoadedProblem:
    """A problem whose tensors are in target memory.

    :param target: whose memory to use.
    :raises MemoryError: the target has not enough memory; nothing stays allocated.
    """

    def __init__(self, target: Target, request: LoadProblem) -> None:
        self.target = target
        self.request = request
        self.tensors: dict[str, GuardedTensor] = {}
        self._operands: dict[str, StoredFile] = {}
        storage = storage_type(request.dtype)
        try:
            for file in (*request.operands, request.result):
                self.tensors[file.name] = GuardedTensor(target, math.prod(file.shape), storage)
        except MemoryError:
            self.release()
            raise
        #: what the operands' memory holds, by the target's own sum, where it offers one
        self._sums: dict[str, int | None] = {}
        for file in request.operands:
            values = StoredFile(Path(file.path))
            self._operands[file.name] = values
            self.tensors[file.name].upload(values)
            self._sums[file.name] = self.tensors[file.name].checksum()
        self.reference = StoredFile(Path(request.result.path)) if request.result.path else None
        self.device_reference: DeviceReference | None = None
        if self.reference is not None and target.checks_memory:
            self.device_reference = DeviceReference.upload(target, self.reference)
        self.buffers = CBuffers(**{name: tensor.address for name, tensor in self.tensors.items()})

    @property
    def result(self) -> GuardedTensor:
        """The tensor that kernels write."""
        return self.tensors[self.request.result.name]

    def release(self) -> None:
        """Give the target memory back."""
        for tensor in self.tensors.values():
            tensor.release()
        self.tensors.clear()
        if self.device_reference is not None:
            self.device_reference.release()
            self.device_reference = None

    def out_of_bounds_writes(self) -> str:
        """Return what a kernel wrote that it must not write, or an empty text."""
        found = []
        for name, tensor in self.tensors.items():
            side = tensor.corruption()
            if side:
                found.append(f"wrote outside the {name} tensor, {side} its memory")
        for name, values in self._operands.items():
            known = self._sums[name]
            tensor = self.tensors[name]
            if not (tensor.equals(values) if known is None else tensor.checksum() == known):
                found.append(f"changed its operand, the {name} tensor")
        return "; ".join(found)


def measure_kernel(
    kernel: Kernel,
    loaded: LoadedProblem,
    split_k: int,
    timing: TimingSettings,
    report_stage: Callable[[Progress], None],
) -> Measured:
    """Run one kernel on the loaded problem and say what became of it.

    The result is poisoned before the first run and verified after it, once: what the timed runs leave behind
    is not compared again, but the guards and the operands are checked a second time.

    :param split_k: splits of the reduction; less than 1 lets the kernel choose.
    :param report_stage: told of each stage that begins.
    """
    report_stage(Progress(stage="support"))
    support = kernel.is_supported(CProblem.of(loaded.request.problem, split_k))
    unmet_requirements = support.unmet_requirements or _without_room(loaded, support)
    if unmet_requirements or support.status is not AbiStatus.OK:
        measured = _not_supported(support.status, unmet_requirements)
    else:
        measured = _measure_supported(kernel, loaded, support, timing, report_stage)
    return msgspec.structs.replace(measured, split_k=support.split_k)


def _without_room(loaded: LoadedProblem, support: Support) -> tuple[UnmetRequirement, ...]:
    """Say if the workspace does not fit into memory: allocating it could end this process or others."""
    target = loaded.target
    available = target.available_bytes()
    # The largest workspace so far is kept and used again.
    if available is None or support.workspace_bytes - target.workspace_bytes <= available:
        target.workspace_bytes = max(target.workspace_bytes, support.workspace_bytes)
        return ()
    message = (
        f"the kernel needs a workspace of {support.workspace_bytes / 2**30:.1f} GiB, "
        f"{available / 2**30:.1f} GiB of memory are available"
    )
    return (UnmetRequirement(rule="workspace", message=message),)


def _not_supported(status: AbiStatus, unmet_requirements: tuple[UnmetRequirement, ...]) -> Measured:
    reason = unmet_requirements[0].message if unmet_requirements else "the kernel gave no reason"
    if status is AbiStatus.FAILED:
        return Measured(status=Status.RUN_ERROR, reason=f"in the support test: {reason}")
    return Measured(status=Status.UNSUPPORTED, reason=reason, unmet_requirements=unmet_requirements)


def _measure_supported(
    kernel: Kernel,
    loaded: LoadedProblem,
    support: Support,
    timing: TimingSettings,
    report_stage: Callable[[Progress], None],
) -> Measured:
    problem = CProblem.of(loaded.request.problem, support.split_k)
    loaded.result.poison()

    report_stage(Progress(stage="run", split_k=support.split_k))
    start = time.perf_counter()
    status, reason, first_ms = kernel.run(problem, loaded.buffers)
    first_s = time.perf_counter() - start
    if status is not AbiStatus.OK:
        return _not_run(status, reason)

    report_stage(Progress(stage="verify", split_k=support.split_k))
    out_of_bounds_writes = loaded.out_of_bounds_writes()
    if out_of_bounds_writes:
        return Measured(status=Status.WRONG_RESULT, reason=out_of_bounds_writes, tainted=True)
    verification = None
    if loaded.reference is not None:
        request = loaded.request
        tolerance = derive_tolerance(
            request.dtype,
            reduction_length=request.reduction_length,
            magnitude=request.magnitude,
            split_k=support.split_k,
        )
        comparison = _compare(loaded, tolerance)
        verification = comparison.verification
        if not verification.passed:
            reason = comparison.reason(request.result.axes, request.result.shape)
            return Measured(status=Status.WRONG_RESULT, reason=reason, verification=verification)

    report_stage(Progress(stage="time", split_k=support.split_k))
    flush_bytes = timing.flush_bytes
    try:
        sampling = take_samples(
            lambda: _timed_run(kernel, problem, loaded.buffers),
            (lambda: loaded.target.flush_cache(flush_bytes)) if flush_bytes else None,
            timing,
            first_ms=_checked_time(first_ms),
            first_s=first_s,
        )
    except KernelFailure as failure:
        return Measured(status=Status.RUN_ERROR, reason=str(failure), verification=verification)

    report_stage(Progress(stage="verify", split_k=support.split_k))
    out_of_bounds_writes = loaded.out_of_bounds_writes()
    if out_of_bounds_writes:
        reason = f"{out_of_bounds_writes} (in a timed run)"
        return Measured(status=Status.WRONG_RESULT, reason=reason, tainted=True)
    return Measured(
        status=Status.OK,
        measurement=sampling.measurement(keep_samples=timing.keep_samples),
        verification=verification,
        timing_s=sampling.wall_s,
        flush_s=sampling.flush_s,
    )


def _compare(loaded: LoadedProblem, tolerance: Tolerance) -> Comparison:
    """Compare the result with the reference, on the device if that holds one."""
    dtype = loaded.request.dtype
    if loaded.device_reference is not None:
        return loaded.device_reference.compare(loaded.result, dtype, tolerance)
    assert loaded.reference is not None  # noqa: S101 - asked before
    return compare(loaded.result.chunks(), loaded.reference, dtype, tolerance)


class KernelFailure(Exception):
    """A timed run failed; the message is the reason."""


def _timed_run(kernel: Kernel, problem: CProblem, buffers: CBuffers) -> float:
    status, reason, time_ms = kernel.run(problem, buffers)
    if status is not AbiStatus.OK:
        raise KernelFailure(f"failed in a timed run: {reason or 'no reason given'}")
    return _checked_time(time_ms)


def _checked_time(time_ms: float) -> float:
    # A launch that did not happen shows as 0 ms and would win every ranking.
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise KernelFailure(f"the launcher reported a duration of {time_ms} ms")
    return time_ms


def _not_run(status: AbiStatus, reason: str) -> Measured:
    if status is AbiStatus.REJECTED:
        rejection = UnmetRequirement(rule="run", message=reason or "the kernel gave no reason")
        return Measured(status=Status.UNSUPPORTED, reason=rejection.message, unmet_requirements=(rejection,))
    return Measured(status=Status.RUN_ERROR, reason=reason or "the run failed without a reason")
