"""The CSV of CK Tile's own sweep: one row per kernel and problem, two dimensions, no dilation.

Its channels are those of all groups. It calls a result right when it is not all zeros, which proves nothing:
imported rows are not verified, and are not ranked.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.outcome import Measurement, Status
from ckprof.model.problem import ConvProblem, Problem
from ckprof.store.attempt import Attempt, Conditions, KernelInfo
from ckprof.store.export_file import export_stream
from ckprof.store.format import ExportResult, ImportHints, StoreFormat
from ckprof.store.formats.imported import file_session, hinted_key, instance_of_name
from ckprof.store.key import KernelKey, MeasurementKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

COLUMNS: Final = (
    *("kernel", "problem_idx", "N", "C", "K", "G", "Hi", "Wi", "Y", "X"),
    *("stride_h", "stride_w", "pad_h", "pad_w", "latency_ms", "tflops", "non_zero"),
)
_FALSE: Final = frozenset({"false", "0", "no", ""})


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield one attempt per row.

    :raises UsageError: the direction is not named: the file does not say it.
    :raises InputError: a row is wrong.
    """
    if not hints.direction:
        raise UsageError(f"{path}: the file does not say the direction of its kernels: add --direction")
    try:
        data = path.read_bytes()
        text = data.decode()
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    except UnicodeDecodeError as exc:
        raise InputError(f"is no text: {exc.reason} at byte {exc.start}", path) from None
    session, shared = file_session(path, data, "csv", hints), hinted_key(hints)
    rows = csv.DictReader(io.StringIO(text))
    missing = set(COLUMNS).difference(rows.fieldnames or ())
    if missing:
        raise InputError(f"columns are missing: {', '.join(sorted(missing))}", path, 1)
    for sequence, row in enumerate(rows):
        try:
            problem = _problem(row)
            latency_ms = float(row["latency_ms"])
        except (InputError, TypeError, ValueError) as exc:
            raise InputError(f"the row cannot be used: {exc}", path, rows.line_num) from None
        status, reason = _status(latency_ms, row["non_zero"])
        yield Attempt(
            key=MeasurementKey(
                operation=shared.operation,
                problem=problem,
                kernel=KernelKey(instance=instance_of_name(row["kernel"])),
                device=shared.device,
                toolchain=shared.toolchain,
                method=shared.method,
            ),
            session=session,
            sequence=sequence,
            kernel=KernelInfo(name=row["kernel"], dtype=hints.dtype, layout=hints.layout),
            status=status,
            reason=reason,
            measurement=_measurement(latency_ms) if status is Status.OK else None,
            conditions=Conditions(started=session.started, order=sequence),
        )


def _problem(row: dict[str, str]) -> ConvProblem:
    groups, channels, filters = int(row["G"]), int(row["C"]), int(row["K"])
    if groups < 1 or channels % groups or filters % groups:
        raise ValueError(f"C = {channels} and K = {filters} are not multiples of G = {groups}")
    pads = int(row["pad_h"]), int(row["pad_w"])
    return ConvProblem(
        groups=groups,
        batch=int(row["N"]),
        out_channels=filters // groups,
        in_channels=channels // groups,
        filter=(int(row["Y"]), int(row["X"])),
        input=(int(row["Hi"]), int(row["Wi"])),
        strides=(int(row["stride_h"]), int(row["stride_w"])),
        dilations=(1, 1),
        left_pads=pads,
        right_pads=pads,
    )


def _status(latency_ms: float, non_zero: str) -> tuple[Status, str]:
    if not (math.isfinite(latency_ms) and latency_ms > 0):
        return Status.RUN_ERROR, f"the file has a latency of {latency_ms:g} ms"
    if non_zero.strip().lower() in _FALSE:
        return Status.WRONG_RESULT, "the result was all zeros"
    return Status.OK, ""


def _measurement(latency_ms: float) -> Measurement:
    return Measurement(
        median_ms=latency_ms,
        spread_ms=0.0,
        min_ms=latency_ms,
        mean_ms=latency_ms,
        samples=1,
        stopped_by="",
    )


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write one row per measurement that may be ranked and that the columns can express."""
    result = ExportResult()
    problems: dict[ConvProblem, int] = {}
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in store.measurements(query):
        problem = one.key.problem
        why = _misfit(problem) if one.median_ms is not None else f"not ranked ({one.status.value})"
        if why or one.median_ms is None or not isinstance(problem, ConvProblem):
            result.left_out[why] += 1
            continue
        index = problems.setdefault(problem, len(problems))
        groups = problem.groups
        channels = (problem.in_channels * groups, problem.out_channels * groups, groups)
        sizes = (*problem.input, *problem.filter, *problem.strides, *problem.left_pads)
        tflops = problem.flop / one.median_ms / 1e9
        rows.writerow(
            [
                one.kernel.name,
                index,
                problem.batch,
                *channels,
                *sizes,
                repr(one.median_ms),
                f"{tflops:.6g}",
                True,
            ]
        )
        result.rows += 1
    with export_stream(path) as stream:
        stream.write(text.getvalue().encode())
    return result


def _misfit(problem: Problem) -> str:
    if not isinstance(problem, ConvProblem):
        return "problems of another operation, the columns are for convolutions"
    if problem.ndim != 2:
        return f"{problem.ndim}D problems, the columns are for 2D"
    if set(problem.dilations) != {1}:
        return "dilated problems, which have no column"
    if problem.left_pads != problem.right_pads:
        return "problems with different pads left and right, which have no column"
    return ""


FORMAT = StoreFormat(
    id="csv",
    label="the columns of CK Tile's own sweep",
    suffixes=(".csv",),
    read=read,
    write=write,
    recognises=lambda head: head.lstrip(b"\xef\xbb\xbf").startswith(b"kernel,problem_idx,"),
)
