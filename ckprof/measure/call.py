"""One run of one kernel of a built library, measured as ``ckprof run`` does, as one JSON answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import CkprofError, ExitCode, InputError, NothingLeftError, ToolchainError, UsageError
from ckprof.files import scratch_folder
from ckprof.measure.executor import Executor
from ckprof.measure.kernel_library import find_kernel, library_kernels
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.prepare import InsufficientMemoryError, prepare_problem
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.worker.messages import AbiStatus, Fault, SupportQuery
from ckprof.measure.worker.process import WorkerFailure
from ckprof.measure.worker.remote import CallFailed
from ckprof.model.outcome import Status
from ckprof.model.problem_types import sizes
from ckprof.model.roofline import rates_of
from ckprof.model.types import types_on
from ckprof.problems.choose import parse_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.measure.requests import CallOptions
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.types import TypeSet
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session

SCHEMA: Final = "ckprof-call"
VERSION: Final = 1


_LEAST: Final = (("warmup", 0), ("repeat", 1), ("flush_bytes", 0), ("seed", 0))


def call_library(
    session: Session, library: Path, direction: str, problem: str | Problem, options: CallOptions
) -> dict[str, object]:
    """Run a kernel in a process of its own and return everything about the run as plain JSON values.

    ``success`` says whether it ran; if the result is compared, also whether it is right. A kernel that
    crashes or hangs is reported in ``error``.

    :param direction: id or alias of what the library computes.
    :raises UsageError: a number is out of range.
    :raises InputError: the problem or the library cannot be used, or the library is of another direction.
    """
    _check_numbers(options)
    operation = session.registry.operation(direction)
    (parsed,) = parse_problems(session, operation, [problem]).named
    if not library.is_file():
        raise InputError("no such file, expected a kernel library", str(library))
    split_k = next(number for number in (options.split_k, parsed.split_k, 1) if number is not None)
    answer: dict[str, Any] = {"schema": SCHEMA, "version": VERSION, "success": False, "library": library.name}
    # how 'ckprof run' would be asked for the same
    run = RunOptions(
        verify=options.verify,
        seed=options.seed,
        init=InitKind(options.init),
        cache=CacheMode.COLD if options.flush_bytes else CacheMode.WARM,
        flush_bytes=options.flush_bytes,
        warmup=options.warmup,
        min_samples=options.repeat,
        max_time_s=options.timeout_s,
        criterion="sample-count",
        criterion_parameters=(("count", options.repeat),),
        timeout_s=options.timeout_s,
        device=options.device,
        checks=options.checks,
        launcher=options.launcher,
    )
    name = run.device_name
    variables = session.named_device(name).variables(name) if name else {}
    with (
        scratch_folder() as folder,
        Executor(
            library, arch=options.arch or "", options=run, work_dir=folder, variables=variables
        ) as executor,
    ):
        try:
            opened = executor.open()
            answer |= {"device": opened.device}
            name = run.device_name.partition(":")[0]
            if not opened.device.startswith(name):
                raise UsageError(
                    f"--device {name}: the library runs on {opened.device}; build it with --device {name}"
                )
        except ToolchainError as error:
            cause = error.__cause__
            not_loaded = isinstance(cause, CallFailed) and cause.fault is Fault.LIBRARY
            code = ExitCode.INPUT if not_loaded else ExitCode.TOOLCHAIN
            return {**answer, "error": str(cause or error), "exit_code": int(code)}
        try:
            for said in _call(executor, operation, parsed.problem, split_k, options, run, library, folder):
                answer |= said
        except InputError:
            raise
        except (CkprofError, WorkerFailure, InsufficientMemoryError) as failure:
            answer["error"] = str(failure)
    return answer


def _check_numbers(options: CallOptions) -> None:
    for name, least in _LEAST:
        value = getattr(options, name)
        if value < least:
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected {least} or more")
    if not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
        raise UsageError(f"--timeout {options.timeout_s:g}: expected a positive number of seconds")


def _call(
    executor: Executor,
    operation: Operation,
    problem: Problem,
    split_k: int,
    options: CallOptions,
    run: RunOptions,
    path: Path,
    folder: Path,
) -> Iterator[dict[str, Any]]:
    """Choose the kernel, measure it and yield what comes of it, for the answer."""
    library, limit_s = executor.library, run.timeout_s
    described = library.describe(limit_s)
    if described is None or described.direction != operation.id:
        what = described.direction if described else ""
        raise InputError(f"the library computes {what}, expected {operation.id}", str(path))
    kernels = library_kernels(operation, described)
    yield {
        "direction": described.direction,
        "arch": described.arch,
        "kernels": len(kernels),
        "problem": problem.describe(),
        "sizes": sizes(problem),
        "flop": problem.flop,
        "split_k": split_k,
    }
    query = SupportQuery(problem=problem, split_k=split_k)
    supporting = [
        kernel
        for kernel in kernels
        if library.support(limit_s, kernel.key, (query,))[0].status is AbiStatus.OK
    ]
    yield {"supporting": len(supporting)}
    if options.kernel is None and not supporting:
        raise NothingLeftError(f"no kernel supports {problem.describe()}")
    kernel = supporting[0] if options.kernel is None else find_kernel(kernels, options.kernel)
    yield {"kernel": {"index": kernel.index, "name": kernel.name, "key": kernel.key, **kernel.fields}}
    if (unmet := problem.unmet_by(kernel.layout)) is not None:
        raise NothingLeftError(f"kernel {kernel.name}: {unmet.message}")
    types = kernel.types(operation)
    on_device = types_on(types, options.arch or described.arch)
    given = operation, problem, kernel.layout, on_device
    prepared = prepare_problem(*given, run, folder, can_check=executor.can_check)
    executor.set_problem(prepared)
    asked = kernel.key, 0, split_k, kernel.split_sum
    outcome = executor.measure(*asked, prepares_untimed=kernel.prepares_untimed)
    yield _verdict(outcome, problem, types, median=options.median)
    if executor.is_running and (outcome.verification is not None or outcome.status is Status.OK):
        yield {
            "result": {
                "tensor": prepared.tensors[-1].name,
                "shape": list(prepared.result.shape),
                **_statistics(executor.result()),
            }
        }


def _verdict(outcome: Outcome, problem: Problem, types: TypeSet, *, median: bool) -> dict[str, Any]:
    verdict: dict[str, Any] = {"success": outcome.status is Status.OK}
    if outcome.reason:
        verdict["error"] = outcome.reason
    measured, seen = outcome.measurement, outcome.verification
    if measured is not None:
        time_ms = measured.time_ms if median else measured.mean_ms
        gflops, gbytes = rates_of(problem, types, time_ms)
        verdict |= {"time_ms": time_ms, "tflops": gflops / 1e3, "gb_per_s": gbytes}
    if seen is not None:
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
        numbers = values[np.isfinite(values)]
        non_zero += int(np.count_nonzero(values))
        finite = finite and numbers.size == values.size
        total += float(numbers.sum())
        largest = max(largest, float(np.abs(numbers).max(initial=0.0)))
    return {"non_zero": non_zero, "finite": finite, "sum": total, "abs_max": largest}
