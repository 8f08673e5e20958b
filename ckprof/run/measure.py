"""What the worker does with one kernel: test support, run, verify, time."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ckprof.model.outcome import Status
from ckprof.run.library import AbiStatus, CBuffers, CProblem
from ckprof.run.memory import GuardedTensor
from ckprof.run.messages import Measured
from ckprof.run.storage import storage_type
from ckprof.run.timing import take_samples
from ckprof.run.tolerance import Tolerance
from ckprof.run.verify import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.run.library import Kernel, Target
    from ckprof.run.messages import LoadProblem, TensorFile, TimingSettings


class LoadedProblem:
    """A problem whose tensors are in target memory.

    :param target: whose memory to use.
    :raises MemoryError: the target has not enough memory; nothing stays allocated.
    """

    def __init__(self, target: Target, request: LoadProblem) -> None:
        self.target = target
        self.request = request
        self.problem = CProblem.of(request.problem, request.split_k)
        self.tensors: dict[str, GuardedTensor] = {}
        self._operands: dict[str, NDArray[Any]] = {}
        storage = storage_type(request.dtype)
        try:
            for file in (*request.operands, request.result):
                self.tensors[file.name] = GuardedTensor(target, math.prod(file.shape), storage)
        except MemoryError:
            self.release()
            raise
        for file in request.operands:
            values = _map(file)
            self._operands[file.name] = values
            self.tensors[file.name].upload(values)
        self.reference = _map(request.result) if request.result.path else None
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

    def trespasses(self) -> str:
        """Return what a kernel wrote that it must not write, or an empty text."""
        found = []
        for name, tensor in self.tensors.items():
            side = tensor.damage()
            if side:
                found.append(f"wrote outside the {name} tensor, {side} its memory")
        for name, values in self._operands.items():
            if not self.tensors[name].equals(values):
                found.append(f"changed its operand, the {name} tensor")
        return "; ".join(found)


def measure_kernel(
    kernel: Kernel, loaded: LoadedProblem, timing: TimingSettings, report_stage: Callable[[str], None]
) -> Measured:
    """Run one kernel on the loaded problem and say what became of it.

    The result is poisoned before the first run and verified after it, once: what the timed runs leave behind
    is not compared again, but the guards and the operands are checked a second time.

    :param report_stage: told the name of each stage that begins.
    """
    report_stage("support")
    status, reason = kernel.is_supported(loaded.problem)
    if status is not AbiStatus.OK:
        return _not_ok(status, reason, "the support test")
    loaded.result.poison()

    report_stage("run")
    start = time.perf_counter()
    status, reason, first_ms = kernel.run(loaded.problem, loaded.buffers)
    first_s = time.perf_counter() - start
    if status is not AbiStatus.OK:
        return _not_ok(status, reason, "the run")

    report_stage("verify")
    trespasses = loaded.trespasses()
    if trespasses:
        return Measured(status=Status.WRONG_RESULT, reason=trespasses, tainted=True)
    verification = None
    if loaded.reference is not None:
        request = loaded.request
        tolerance = Tolerance(rtol=request.rtol, atol=request.atol)
        comparison = compare(loaded.result.chunks(), loaded.reference, request.dtype, tolerance)
        verification = comparison.verification
        if not verification.passed:
            reason = comparison.reason(request.result.axes, request.result.shape)
            return Measured(status=Status.WRONG_RESULT, reason=reason, verification=verification)

    report_stage("time")
    flush_bytes = timing.flush_bytes
    try:
        sampling = take_samples(
            lambda: _timed_run(kernel, loaded),
            (lambda: loaded.target.flush_cache(flush_bytes)) if flush_bytes else None,
            timing,
            first_ms=_checked_time(first_ms),
            first_s=first_s,
        )
    except KernelFailure as failure:
        return Measured(status=Status.RUN_ERROR, reason=str(failure), verification=verification)

    report_stage("verify")
    trespasses = loaded.trespasses()
    if trespasses:
        reason = f"{trespasses} (in a timed run)"
        return Measured(status=Status.WRONG_RESULT, reason=reason, tainted=True)
    return Measured(
        status=Status.OK,
        measurement=sampling.measurement(keep_samples=timing.keep_samples),
        verification=verification,
        timing_s=sampling.wall_s,
        flush_s=sampling.flush_s,
    )


class KernelFailure(Exception):
    """A timed run failed; the message is the reason."""


def _timed_run(kernel: Kernel, loaded: LoadedProblem) -> float:
    status, reason, time_ms = kernel.run(loaded.problem, loaded.buffers)
    if status is not AbiStatus.OK:
        raise KernelFailure(f"failed in a timed run: {reason or 'no reason given'}")
    return _checked_time(time_ms)


def _checked_time(time_ms: float) -> float:
    # A launch that did not happen shows as 0 ms and would win every ranking.
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise KernelFailure(f"the launcher reported a duration of {time_ms} ms")
    return time_ms


def _not_ok(status: AbiStatus, reason: str, where: str) -> Measured:
    if status is AbiStatus.REFUSED:
        return Measured(status=Status.UNSUPPORTED, reason=reason or "the kernel gave no reason")
    return Measured(status=Status.RUN_ERROR, reason=reason or f"{where} failed without a reason")


def _map(file: TensorFile) -> NDArray[Any]:
    values: NDArray[Any] = np.load(Path(file.path), mmap_mode="r", allow_pickle=False)
    return values
