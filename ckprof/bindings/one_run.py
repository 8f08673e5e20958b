"""One run of one kernel in a process of its own: ``python -m ckprof.bindings.one_run``.

The request is one JSON object on standard input, the answer one on standard output. Whatever the kernel does
to the process, the caller survives it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from ckprof.errors import CkprofError
from ckprof.model.problem import ConvProblem
from ckprof.run.inputs import InitKind


class Request(msgspec.Struct, kw_only=True):
    """What shall be run."""

    library: str
    problem: ConvProblem
    #: number or name; ``None`` for the first that supports the problem
    kernel: int | str | None = None
    arch: str | None = None
    device: int = 0
    split_k: int = 1
    warmup: int = 0
    repeat: int = 1
    median: bool = False
    flush_bytes: int = 0
    seed: int = 0
    init: str = InitKind.DECIMAL.value
    #: file with the reference in double precision, and where the operands lie
    dump: str = ""


def answer(request: Request) -> dict[str, Any]:
    """Run the kernel and return everything about it."""
    import numpy as np

    from ckprof.bindings.conv_library import ConvLibrary, Timing
    from ckprof.run.operands import make_operand

    library = ConvLibrary(Path(request.library), arch=request.arch, device=request.device)
    result: dict[str, Any] = {
        "success": False,
        "library": Path(request.library).name,
        "direction": library.direction,
        "arch": library.arch,
        "kernels": len(library.kernels),
        "problem": request.problem.describe(),
        "split_k": request.split_k,
    }
    try:
        supporting = library.supporting(request.problem, request.split_k)
        result["supporting"] = len(supporting)
        kernel = next(iter(supporting), None) if request.kernel is None else library.kernel(request.kernel)
        if kernel is None:
            raise CkprofError(f"no kernel supports {request.problem.describe()}")
        result["kernel"] = {"index": kernel.index, "name": kernel.name, "key": kernel.key, **kernel.fields}
        rejection = library.rejection(kernel, request.problem, request.split_k)
        if rejection:
            raise CkprofError(rejection)
        *sources, output_name = library.tensors
        operands = {
            name: make_operand(
                request.problem, kernel.layout, name, kernel.dtype, InitKind(request.init), request.seed
            )
            for name in sources
        }
        run = library.run(
            request.problem,
            operands,
            kernel,
            split_k=request.split_k,
            timing=Timing(
                warmup=request.warmup,
                repeat=request.repeat,
                median=request.median,
                flush_bytes=request.flush_bytes,
            ),
        )
    except CkprofError as error:
        return {**result, "error": str(error)}
    values = run.output.astype(np.float64)
    if request.dump:
        np.savez(request.dump, **{"result": values, **operands})  # type: ignore[arg-type]
    finite = np.isfinite(values)
    return {
        **result,
        "success": True,
        "device": library.describe_device(),
        "time_ms": run.time_ms,
        "tflops": run.tflops,
        "gb_per_s": request.problem.moved_bytes(kernel.dtype.properties.size_bytes) / 1e6 / run.time_ms,
        "result": {
            "tensor": output_name,
            "shape": list(values.shape),
            "non_zero": int(np.count_nonzero(values)),
            "finite": bool(finite.all()),
            "sum": float(values[finite].sum()),
            "abs_max": float(np.abs(values[finite]).max(initial=0.0)),
        },
    }


def main() -> int:
    """SupportAnswer one request."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    # What kernels print must not mix with the answer.
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        found = answer(request)
    except CkprofError as error:
        found = {"success": False, "error": str(error), "exit_code": int(error.exit_code)}
    reply.write(msgspec.json.encode(found))
    reply.flush()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Static destructors of kernel libraries could still crash or hang.
    os._exit(code)
