"""One run of one kernel of a built library, measured as ``ckprof run`` does, as one JSON answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.arch.number_formats import types_on
from ckprof.bindings.conv_kernel import ConvKernel, find_kernel
from ckprof.errors import CkprofError, ExitCode, InputError, NothingLeftError, ToolchainError
from ckprof.model.outcome import Status
from ckprof.model.problem_types import sizes
from ckprof.model.rates import rates_of
from ckprof.plugin.operations import types_named
from ckprof.run.executor import Executor
from ckprof.run.messages import AbiStatus, SupportQuery
from ckprof.run.operands import InitKind
from ckprof.run.options import CacheMode, RunOptions
from ckprof.run.prepare import InsufficientMemoryError, prepare_problem
from ckprof.run.process import WorkerFailure
from ckprof.run.remote import LibraryUnusable
from ckprof.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation

SCHEMA: Final = "ckprof-call"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What shall be run."""

    library: str
    problem: Problem
    #: number or name; ``None`` for the first that supports the problem
    kernel: int | str | None = None
    #: ``None`` for that of the library
    arch: str | None = None
    device: int = 0
    split_k: int = 1
    #: untimed runs after the one that is verified
    warmup: int = 0
    repeat: int = 1
    #: report the median of the timed runs instead of their mean
    median: bool = False
    flush_bytes: int = 0
    seed: int = 0
    init: str = InitKind.DECIMAL.value

    def options(self, *, verify: bool, timeout_s: float) -> RunOptions:
        """Return the same as options of a run."""
        return RunOptions(
            verify=verify,
            seed=self.seed,
            init=InitKind(self.init),
            cache=CacheMode.COLD if self.flush_bytes else CacheMode.WARM,
            flush_bytes=self.flush_bytes,
            warmup=self.warmup,
            min_samples=self.repeat,
            max_time_s=timeout_s,
            criterion="sample-count",
            criterion_parameters=(("count", self.repeat),),
            timeout_s=timeout_s,
            device=self.device,
        )


def call_kernel(direction: Operation, request: Request, *, verify: bool, timeout_s: float) -> dict[str, Any]:
    """Run a kernel in a process of its own and return everything about the run as plain JSON values.

    ``success`` says whether it ran; with ``verify``, also whether the result is right. A kernel that crashes
    or hangs is reported in ``error``.

    :param timeout_s: seconds for the kernel; verification is not counted.
    :raises InputError: the library is of another direction, or there is none.
    """
    path = Path(request.library)
    if not path.is_file():
        raise InputError("no such file, expected a kernel library", request.library)
    answer: dict[str, Any] = {"schema": SCHEMA, "version": VERSION, "success": False, "library": path.name}
    options = request.options(verify=verify, timeout_s=timeout_s)
    with (
        scratch_folder() as folder,
        Executor(path, arch=request.arch or "", options=options, work_dir=Path(folder)) as executor,
    ):
        try:
            answer |= {"device": executor.open().device}
        except ToolchainError as error:
            cause = error.__cause__
            not_loaded = isinstance(cause, LibraryUnusable) and not cause.loaded
            code = ExitCode.INPUT if not_loaded else ExitCode.TOOLCHAIN
            return {**answer, "error": str(cause or error), "exit_code": int(code)}
        call = _Call(direction=direction, request=request, options=options, executor=executor)
        try:
            call.run(answer, Path(folder))
        except InputError:
            raise
        except (CkprofError, WorkerFailure, InsufficientMemoryError) as failure:
            answer["error"] = str(failure)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call whose library is open."""

    direction: Operation
    request: Request
    options: RunOptions
    executor: Executor

    def run(self, answer: dict[str, Any], folder: Path) -> None:
        """Choose the kernel, measure it and add to the answer what comes of it."""
        direction, request = self.direction, self.request
        described = self.executor.library.describe(self.options.timeout_s)
        if described.direction != direction.id:
            raise InputError(
                f"the library computes {described.direction}, expected {direction.id}", request.library
            )
        kernels = tuple(
            ConvKernel(index=index, name=entry.name, key=entry.key, fields=entry.fields)
            for index, entry in enumerate(described.kernels)
        )
        answer |= {
            "direction": described.direction,
            "arch": described.arch,
            "kernels": len(kernels),
            "problem": request.problem.describe(),
            "sizes": sizes(request.problem),
            "flop": request.problem.flop,
            "split_k": request.split_k,
        }
        kernel = self._choose(kernels, answer)
        answer["kernel"] = {"index": kernel.index, "name": kernel.name, "key": kernel.key, **kernel.fields}
        layout = kernel.layout_of(direction)
        unmet = request.problem.unmet_by(layout)
        if unmet is not None:
            raise NothingLeftError(f"kernel {kernel.name}: {unmet.message}")
        types = types_on(types_named(direction, kernel.dtype), request.arch or described.arch)
        prepared = prepare_problem(
            direction,
            request.problem,
            layout,
            types,
            self.options,
            folder,
            can_check=self.executor.can_check,
        )
        self.executor.set_problem(prepared)
        outcome = self.executor.measure(kernel.key, 0, request.split_k, kernel.split_sum)
        answer |= self._verdict(outcome, kernel)
        verified = outcome.verification is not None or outcome.status is Status.OK
        if verified and self.executor.is_running:
            answer["result"] = {
                "tensor": prepared.tensors[-1].name,
                "shape": list(prepared.result.shape),
                **_statistics(self.executor.result()),
            }

    def _choose(self, kernels: tuple[ConvKernel, ...], answer: dict[str, Any]) -> ConvKernel:
        """Return the kernel that is asked for, or the first that supports the problem."""
        problem = self.request.problem
        query = SupportQuery(problem=problem, split_k=self.request.split_k)
        library, limit_s = self.executor.library, self.options.timeout_s
        supporting = [
            kernel
            for kernel in kernels
            if library.support(kernel.key, (query,), limit_s)[0].status is AbiStatus.OK
        ]
        answer["supporting"] = len(supporting)
        if self.request.kernel is not None:
            return find_kernel(kernels, self.request.kernel)
        if not supporting:
            raise NothingLeftError(f"no kernel supports {problem.describe()}")
        return supporting[0]

    def _verdict(self, outcome: Outcome, kernel: ConvKernel) -> dict[str, Any]:
        verdict: dict[str, Any] = {"success": outcome.status is Status.OK}
        if outcome.reason:
            verdict["error"] = outcome.reason
        if outcome.measurement is not None:
            measured = outcome.measurement
            time_ms = measured.median_ms if self.request.median else measured.mean_ms
            rates = rates_of(self.request.problem, kernel.dtype, time_ms)
            verdict |= {"time_ms": time_ms, "tflops": rates.tflops, "gb_per_s": rates.gbytes}
        if outcome.verification is not None:
            seen = outcome.verification
            verdict |= {
                "verified": seen.passed,
                "elements": seen.elements,
                "wrong_elements": seen.wrong_elements,
                "max_abs_error": seen.max_error,
                "rtol": seen.rtol,
                "atol": seen.atol,
            }
        return verdict


def _statistics(chunks: Iterable[NDArray[np.float64]]) -> dict[str, object]:
    """Return what tells at a glance whether a result is sensible."""
    import numpy as np

    non_zero, finite, total, largest = 0, True, 0.0, 0.0
    for values in chunks:
        known = values[np.isfinite(values)]
        non_zero += int(np.count_nonzero(values))
        finite = finite and known.size == values.size
        total += float(known.sum())
        largest = max(largest, float(np.abs(known).max(initial=0.0)))
    return {"non_zero": non_zero, "finite": finite, "sum": total, "abs_max": largest}
