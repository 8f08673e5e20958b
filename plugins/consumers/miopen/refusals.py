"""Why MIOpen, or one of its solvers, does not use a row: keys no lookup forms, values of another form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ckprof_plugins.consumers._old_ck.kernels import SIZES
from ckprof_plugins.consumers.miopen.keys import MiopenKey, WrongKeyError
from ckprof_plugins.consumers.miopen.solvers import algorithm_of, algorithm_parts
from ckprof_plugins.consumers.records import Reason

if TYPE_CHECKING:
    from ckprof_plugins.consumers.miopen.databases import SolverEntry
    from ckprof_plugins.consumers.miopen.solvers import GroupedSolver
    from ckprof_plugins.directions._convolution.problem import ConvProblem


class Refused(Exception):
    """A finding that ends what is judged of a row or an entry."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.remark = reason, message


def require_hit(key: MiopenKey, text: str, is_find: bool) -> None:
    """Refuse a key that no lookup forms."""
    usual = key.find_text() if is_find else key.perf_text()
    type_, rest = divmod(len(key.types), 3)
    never = ""
    if usual != text:
        never = f"the library spells this key {usual}"
    elif key.types and not key.dtype and not rest and key.types[:type_] * 3 == key.types:
        never = f"equal types are written once: {key.types[:type_]}"
    elif key.is_tf32 and key.types != "FP32":
        never = f"only FP32 is computed as TF32, not {key.types}"
    elif key.numbers["bias"]:
        never = f"bias is {key.numbers['bias']}; lookups of convolutions have 0"
    elif 0 in (*key.along("conv_stride"), *key.along("dilation")):
        never = "a stride or dilation is 0"
    elif not all(len(layout.rstrip("c")) == key.ndim + 2 for layout in key.layouts):
        never = f"{'-'.join(key.layouts)} is not a layout of {key.ndim}D tensors"
    if never:
        raise Refused(Reason.NEVER_HIT, never)


def problem_of(key: MiopenKey) -> ConvProblem:
    try:
        return key.problem()
    except WrongKeyError as exc:
        raise Refused(Reason.WRONG_PROBLEM, str(exc)) from None


def require_fitting(solver: GroupedSolver, key: MiopenKey) -> None:
    """Refuse a key that the solver itself has something against."""
    if solver.letter != key.letter:
        message = f"{solver.name} is for direction {solver.letter}, the key is of {key.letter}"
        raise Refused(Reason.WRONG_SOLVER, message)
    if solver.ndim != key.ndim:
        message = f"{solver.name} is for {solver.ndim}D, the key is of {key.ndim}D"
        raise Refused(Reason.WRONG_SOLVER, message)
    if not (key.is_channels_first or key.is_channels_last):
        raise Refused(Reason.UNSUPPORTED, f"{solver.name} knows no layout {'-'.join(key.layouts)}")
    if key.dtype not in SIZES or key.dtype == "fp64" or key.casts:
        raise Refused(Reason.UNSUPPORTED, f"{solver.name} knows no type {key.types}{key.casts}")


def figures(entry: SolverEntry, key: MiopenKey) -> tuple[float, int]:
    """Return time and workspace of an entry whose algorithm is what it should be."""
    values = entry.values.split(",")
    if len(values) != 3:
        message = f"expected time, workspace and algorithm, got {entry.values[:80]!r}"
        raise Refused(Reason.MALFORMED_VALUE, message)
    time, workspace, algorithm = values
    letter, kind = algorithm_parts(algorithm)
    expected = algorithm_of(entry.solver)
    if not letter:
        raise Refused(Reason.MALFORMED_VALUE, f"{algorithm[:60]!r} is not an algorithm")
    if letter != key.letter:
        raise Refused(Reason.WRONG_SOLVER, f"{algorithm} is not of direction {key.letter}")
    if kind != expected:
        raise Refused(Reason.WRONG_SOLVER, f"{entry.solver} is an algorithm {expected}, not {kind}")
    try:
        time_ms = float(time)
    except ValueError:
        message = f"the time is {time[:40]!r}, expected milliseconds"
        raise Refused(Reason.MALFORMED_VALUE, message) from None
    if not (workspace.isascii() and workspace.isdigit()):
        raise Refused(Reason.MALFORMED_VALUE, f"the workspace is {workspace[:40]!r}, expected bytes")
    if not math.isfinite(time_ms) or time_ms < 0:
        raise Refused(Reason.WRONG_TIME, f"the time is {time} ms")
    return time_ms, int(workspace)
