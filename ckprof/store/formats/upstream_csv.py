"""The CSV of CK Tile's own sweep: one row per kernel and problem, two dimensions, no dilation.

Its channels are those of all groups. It calls a result right when it is not all zeros, which proves nothing:
imported rows are not verified, and are not ranked. Problems that are no convolutions have columns of their
own, see :mod:`ckprof.store.formats.problem_columns`.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError, UsageError
from ckprof.model.outcome import Measurement, Status
from ckprof.model.problem import ConvProblem
from ckprof.store.attempt import Attempt, Conditions, KernelInfo
from ckprof.store.export_file import export_stream
from ckprof.store.format import ExportResult, ImportHints, StoreFormat
from ckprof.store.formats import problem_columns
from ckprof.store.formats.imported import file_session, hinted_key, instance_of_name
from ckprof.store.key import KernelKey, MeasurementKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Session
    from ckprof.store.query import MeasurementSummary, StoreQuery
    from ckprof.store.store import Store

COLUMNS: Final = (
    *("kernel", "problem_idx", "N", "C", "K", "G", "Hi", "Wi", "Y", "X"),
    *("stride_h", "stride_w", "pad_h", "pad_w", "latency_ms", "tflops", "non_zero"),
)
_FALSE: Final = frozenset({"false", "0", "no", ""})


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield one attempt per row.

    :raises UsageError: the direction is not named where the file does not say it.
    :raises InputError: a row is wrong.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    except UnicodeDecodeError as exc:
        raise InputError(f"is no text: {exc.reason} at byte {exc.start}", path) from None
    rows = csv.DictReader(io.StringIO(text), restval="")
    header = rows.fieldnames or ()
    own = problem_columns.has_problem_columns(header)
    if not own and not hints.direction:
        raise UsageError(f"{path}: the file does not say the direction of its kernels: add --direction")
    missing = set(problem_columns.COLUMNS if own else COLUMNS).difference(header)
    if missing:
        raise InputError(f"columns are missing: {', '.join(sorted(missing))}", path, 1)
    session = file_session(path, data, "csv", hints)
    for sequence, row in enumerate(rows):
        try:
            yield (
                _own_attempt(row, hints, session, sequence)
                if own
                else _attempt(row, hints, session, sequence, _problem(row))
            )
        except (InputError, UsageError, TypeError, ValueError) as exc:
            reason = exc.message if isinstance(exc, InputError) else str(exc)
            raise InputError(f"the row cannot be used: {reason}", path, rows.line_num) from None


def _own_attempt(row: dict[str, str], hints: ImportHints, session: Session, sequence: int) -> Attempt:
    """Return the attempt of a row that says what it is of; hints fill empty cells."""
    known = replace(
        hints,
        direction=row["direction"] or hints.direction,
        dtype=problem_columns.dtype_of(row) or hints.dtype,
        layout=row["layout"] or hints.layout,
    )
    attempt = _attempt(row, known, session, sequence, problem_columns.problem_of(row))
    return replace(attempt, key=replace(attempt.key, split_k=int(row["split_k"] or 1)))


def _attempt(
    row: dict[str, str], hints: ImportHints, session: Session, sequence: int, problem: Problem
) -> Attempt:
    shared, latency_ms = hinted_key(hints), float(row["latency_ms"])
    status, reason = _status(latency_ms, row["non_zero"])
    return Attempt(
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
    """Write one row per measurement that may be ranked and that the columns can express.

    Without convolutions the columns are those of the problems that there are.
    """
    result = ExportResult()
    found: list[tuple[MeasurementSummary, float]] = []
    for one in store.measurements(query):
        if one.median_ms is None:
            result.left_out[f"not ranked ({one.status.value})"] += 1
        else:
            found.append((one, one.median_ms))
    of_convolutions = not found or any(isinstance(one.key.problem, ConvProblem) for one, _ in found)
    cells = _cells if of_convolutions else problem_columns.cells_of
    header = COLUMNS if of_convolutions else problem_columns.header_of([one.key.problem for one, _ in found])
    problems: dict[Problem, int] = {}
    text = io.StringIO()
    rows = csv.DictWriter(text, header, lineterminator="\n")
    rows.writeheader()
    for one, median_ms in found:
        problem = one.key.problem
        why = _misfit(one) if of_convolutions else ""
        if why:
            result.left_out[why] += 1
            continue
        rows.writerow(cells(one, median_ms, problems.setdefault(problem, len(problems))))
        result.rows += 1
    with export_stream(path) as stream:
        stream.write(text.getvalue().encode())
    return result


def _cells(one: MeasurementSummary, median_ms: float, index: int) -> dict[str, object]:
    problem = cast("ConvProblem", one.key.problem)
    groups = problem.groups
    channels = (problem.in_channels * groups, problem.out_channels * groups, groups)
    sizes = (*problem.input, *problem.filter, *problem.strides, *problem.left_pads)
    tflops = f"{problem.flop / median_ms / 1e9:.6g}"
    values = (one.kernel.name, index, problem.batch, *channels, *sizes, repr(median_ms), tflops, True)
    return dict(zip(COLUMNS, values, strict=True))


def _misfit(one: MeasurementSummary) -> str:
    problem = one.key.problem
    if not isinstance(problem, ConvProblem):
        name = one.key.operation.direction
        return f"{name} beside convolutions, whose columns the file has: export them with --direction {name}"
    if problem.ndim != 2:
        return f"{problem.ndim}D problems, the columns are for 2D"
    if set(problem.dilations) != {1}:
        return "dilated problems, which have no column"
    if problem.left_pads != problem.right_pads:
        return "problems with different pads left and right, which have no column"
    return ""


FORMAT = StoreFormat(
    id="csv",
    label="the columns of CK Tile's own sweep; for other operations the fields of their problems",
    suffixes=(".csv",),
    read=read,
    write=write,
    recognises=lambda head: head.lstrip(b"\xef\xbb\xbf").startswith(b"kernel,problem_idx,"),
)
