"""One run of one kernel of a built library, in a process of its own, compared with the reference."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ckprof.bindings.one_run import Request
from ckprof.errors import InputError
from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof.run.storage import decode
from ckprof.run.tolerance import derive_tolerance

if TYPE_CHECKING:
    from ckprof.plugin.protocols import Direction

SCHEMA = "ckprof-call"
VERSION = 1


def call_kernel(direction: Direction, request: Request, *, verify: bool, timeout_s: float) -> dict[str, Any]:
    """Run a kernel and return everything about the run as plain JSON values.

    ``success`` says whether it ran; with ``verify``, also whether the result is right. A kernel that crashes
    or hangs is told in ``error``.

    :raises InputError: the library is of another direction, or there is none.
    """
    if not Path(request.library).is_file():
        raise InputError("no such file, expected a kernel library", request.library)
    with tempfile.TemporaryDirectory(prefix="ckprof-") as folder:
        dump = Path(folder, "tensors.npz")
        if verify:
            request.dump = str(dump)
        answer = _ask(request, timeout_s)
        if answer.get("direction", direction.id) != direction.id:
            raise InputError(
                f"the library computes {answer['direction']}, expected {direction.id}", request.library
            )
        if verify and answer["success"]:
            answer |= _verdict(direction, request, answer, dump)
    return {"schema": SCHEMA, "version": VERSION, **answer}


def _ask(request: Request, timeout_s: float) -> dict[str, Any]:
    failed: dict[str, Any] = {"success": False, "library": Path(request.library).name}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ckprof.bindings.one_run"],
            input=msgspec.json.encode(request),
            stdout=subprocess.PIPE,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**failed, "error": f"no answer in {timeout_s:g} s"}
    try:
        answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        return {**failed, "error": f"the process ended with status {done.returncode} and no answer"}
    return answer


def _verdict(direction: Direction, request: Request, answer: dict[str, Any], dump: Path) -> dict[str, Any]:
    import numpy as np

    kernel = answer["kernel"]
    dtype, layout = DataType(kernel["dtype"]), find_layout(kernel["layout"])
    if layout is None:
        raise InputError(f"the kernel has an unknown layout: {kernel['layout']}", request.library)
    with np.load(dump) as tensors:
        *sources, _ = direction.tensors
        operands = {name: decode(tensors[name], dtype) for name in sources}
        output = tensors["result"]
    reference = direction.reference(request.problem, layout, operands)
    tolerance = derive_tolerance(
        dtype,
        reduction_length=direction.reduction_length(request.problem),
        magnitude=float(np.abs(reference).max()),
        split_k=max(1, request.split_k),
    )
    error = np.abs(output - reference)
    wrong = ~(error <= tolerance.atol + tolerance.rtol * np.abs(reference))
    verdict: dict[str, Any] = {
        "verified": not wrong.any(),
        "max_abs_error": float(np.nan_to_num(error, nan=np.inf).max()),
        "rtol": tolerance.rtol,
        "atol": tolerance.atol,
    }
    if wrong.any():
        verdict |= {"success": False, "error": f"{int(wrong.sum())} of {wrong.size} elements are wrong"}
    return verdict
