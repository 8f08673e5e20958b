"""Problems out of CSV tables, and the CSV of CK Tile's own sweep as a format of stores.

That has one row per kernel and problem, two dimensions, no dilation, and the channels of all groups. It calls
a result right when it is not all zeros, which proves nothing: imported rows are not verified, and are not
ranked. Problems that are no convolutions have columns of their own: the problem's fields by their names,
beside operation, type, layout and splits.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ckprof.errors import InputError, UsageError
from ckprof.files import write_output
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.model.problem_types import OPERATION_COLUMN, problem_of_cells, sizes
from ckprof.model.types import DataType
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ExportResult, ImportHints
from ckprof.store.attempt import Attempt, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation
    from ckprof.store.query import MeasurementSummary, StoreQuery
    from ckprof.store.store import Store


_Number = TypeVar("_Number", int, float)

#: lower-case spellings of each column; the first is the one of CK Tile's sweep
_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "batch": ("n", "batch", "batchsize"),
    "in_channels": ("c", "in_channels"),
    "out_channels": ("k", "out_channels"),
    "groups": ("g", "groups", "group_count"),
    "count": ("count", "occurrences", "weight"),
    "direction": ("direction", "variant"),
    "dtype": ("dtype", "datatype", "data_type"),
    "layout": ("layout",),
    "split_k": ("split_k", "splitk"),
    "name": ("name", "layer"),
}

#: the same for values per axis, each for D, H, W
_AXES: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "input": (("di", "in_d"), ("hi", "in_h"), ("wi", "in_w")),
    "filter": (("z", "fil_d"), ("y", "fil_h"), ("x", "fil_w")),
    "strides": (("stride_d",), ("stride_h",), ("stride_w",)),
    "dilations": (("dilation_d",), ("dilation_h",), ("dilation_w",)),
    "pads": (("pad_d",), ("pad_h",), ("pad_w",)),
}
_AXIS_DEFAULTS: Final = {"strides": 1, "dilations": 1, "pads": 0}

#: columns without which a table has no problems
_REQUIRED: Final = ("n", "c", "k", "hi", "wi", "y", "x")


@dataclass(frozen=True, slots=True, kw_only=True)
class _CsvRow:
    """One row with lower-case column names."""

    values: Mapping[str, str]
    path: Path | str
    line: int

    def text(self, names: Sequence[str]) -> str:
        return next((self.values[name].strip() for name in names if self.values.get(name)), "")

    def integer(self, names: Sequence[str], default: int | None = None) -> int:
        text = self.text(names)
        if not text and default is not None:
            return default
        try:
            return int(text)
        except ValueError:
            raise self.error(f"expected an integer in column {names[0]}, got {text!r}") from None

    def error(self, message: str) -> InputError:
        return InputError(message, self.path, self.line)


def looks_like_csv(lines: Sequence[str]) -> bool:
    """Say whether the first line that is no comment is the header of a table of problems."""
    header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    names = {name.strip().lower() for name in header.split(",")}
    return all(any(name in names for name in _spellings(required)) for required in _REQUIRED)


def _spellings(name: str) -> tuple[str, ...]:
    groups = [*_COLUMNS.values(), *(names for axes in _AXES.values() for names in axes)]
    return next(names for names in groups if name in names)


def read_csv(
    lines: Sequence[str], path: Path | str, operations: Sequence[Operation]
) -> tuple[list[ProblemCase], list[InputError]]:
    """Read a table with one problem per row; channels count those of all groups.

    :returns: the problems, duplicates included, and an error for each wrong row.
    """
    numbered = [
        (n, line) for n, line in enumerate(lines, start=1) if line.strip() and not line.startswith("#")
    ]
    rows = list(csv.reader(line for _, line in numbered))
    header = [name.strip().lower() for name in rows[0]]
    cases: list[ProblemCase] = []
    errors: list[InputError] = []
    for (number, _), values in zip(numbered[1:], rows[1:], strict=True):
        row = _CsvRow(values=dict(zip(header, values, strict=False)), path=path, line=number)
        try:
            if len(values) != len(header):
                raise row.error(f"the row has {len(values)} values, the header {len(header)}")
            cases.append(_problem_of(row, operations))
        except InputError as exc:
            errors.append(exc)
    return cases, errors


def _problem_of(row: _CsvRow, operations: Sequence[Operation]) -> ProblemCase:
    groups = row.integer(_COLUMNS["groups"], 1)
    channels = {name: row.integer(_COLUMNS[name]) for name in ("in_channels", "out_channels")}
    for name, total in channels.items():
        if groups < 1 or total % groups:
            raise row.error(
                f"{name} {total} (of all groups) is not a multiple of the number of groups {groups}"
            )
    ndim = 3 if any(row.integer(_AXES[name][0], 1) > 1 for name in ("input", "filter")) else 2

    def axes(name: str) -> tuple[int, ...]:
        return tuple(row.integer(names, _AXIS_DEFAULTS.get(name)) for names in _AXES[name][3 - ndim :])

    try:
        problem = ConvProblem(
            groups=groups,
            batch=row.integer(_COLUMNS["batch"]),
            in_channels=channels["in_channels"] // groups,
            out_channels=channels["out_channels"] // groups,
            filter=axes("filter"),
            input=axes("input"),
            strides=axes("strides"),
            dilations=axes("dilations"),
            left_pads=axes("pads"),
            right_pads=axes("pads"),
        )
        dtype = row.text(_COLUMNS["dtype"])
        element = DataType.parse(dtype) if dtype else None
    except (InputError, UsageError) as exc:
        raise row.error(exc.message if isinstance(exc, InputError) else str(exc)) from None
    return ProblemCase(
        problem=problem,
        count=max(1, row.integer(_COLUMNS["count"], 1)),
        name=row.text(_COLUMNS["name"]) or f"line {row.line}",
        direction=_direction(row, operations),
        dtype=element,
        layout=row.text(_COLUMNS["layout"]) or None,
        splits=_splits(row),
    )


def _splits(row: _CsvRow) -> tuple[int, ...]:
    if not row.text(_COLUMNS["split_k"]):
        return ()
    splits = row.integer(_COLUMNS["split_k"])
    return (splits if splits > 0 else AUTO,)


def _direction(row: _CsvRow, operations: Sequence[Operation]) -> str | None:
    text = row.text(_COLUMNS["direction"]).lower()
    if not text:
        return None
    for operation in operations:
        if text == operation.id or text in operation.aliases:
            return operation.id
    ids = ", ".join(operation.id for operation in operations)
    raise row.error(f"unknown direction {text!r}: expected one of {ids}")


COLUMNS: Final = (
    *("kernel", "problem_idx", "N", "C", "K", "G", "Hi", "Wi", "Y", "X"),
    *("stride_h", "stride_w", "pad_h", "pad_w", "latency_ms", "tflops", "non_zero"),
)
#: columns of problems that are no convolutions, beside the problem's fields
_FIRST: Final = ("kernel", "problem_idx", OPERATION_COLUMN, "dtype", "layout")
_LAST: Final = ("split_k", "latency_ms", "tflops", "non_zero")
_FALSE: Final = frozenset({"false", "0", "no", ""})
_TRUE: Final = frozenset({"true", "yes"})


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
        raise InputError(f"is not text: {exc.reason} at byte {exc.start}", path) from None
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    # the header of convolutions names no operation
    names_operation = OPERATION_COLUMN in header
    if not names_operation and not hints.direction:
        raise UsageError(f"{path}: the file does not say the direction of its kernels: add --direction")
    missing = set((*_FIRST, *_LAST) if names_operation else COLUMNS).difference(header)
    if missing:
        raise InputError(f"columns are missing: {', '.join(sorted(missing))}", path, 1)
    session = Session.of_file(path, data, "csv", hints.tags)
    for sequence, cells in enumerate(cells for cells in rows if cells):
        try:
            if len(cells) != len(header):
                raise InputError(f"{len(cells)} values, expected {len(header)} as in the header")
            row = dict(zip(header, cells, strict=True))
            yield (
                _own_attempt(row, hints, session, sequence)
                if names_operation
                else _attempt(row, hints, session, sequence, _problem(row))
            )
        except (InputError, UsageError, TypeError, ValueError) as exc:
            reason = exc.message if isinstance(exc, InputError) else str(exc)
            error = InputError(f"the row cannot be used: {reason}", path, rows.line_num)
            if hints.on_wrong is None:
                raise error from None
            hints.on_wrong(error)


def _own_attempt(row: dict[str, str], hints: ImportHints, session: Session, sequence: int) -> Attempt:
    """Return the attempt of a row that says what it is of; hints fill empty cells."""
    completed = replace(
        hints,
        direction=row["direction"] or hints.direction,
        dtype=DataType.parse(row["dtype"]) if row["dtype"] else hints.dtype,
        layout=row["layout"] or hints.layout,
    )
    attempt = _attempt(row, completed, session, sequence, problem_of_cells(row, (*_FIRST, *_LAST)))
    return replace(attempt, key=replace(attempt.key, split_k=_number(int, row, "split_k", 1)))


def _attempt(
    row: dict[str, str], hints: ImportHints, session: Session, sequence: int, problem: Problem
) -> Attempt:
    latency_ms = _number(float, row, "latency_ms")
    status, reason = _status(latency_ms, row["non_zero"])
    return Attempt(
        key=MeasurementKey(
            operation=OperationKey(direction=hints.direction),
            problem=problem,
            # the file says nothing of the kernel but its name
            kernel=KernelKey(instance=f"name:{row['kernel']}"),
            device=DeviceKey(target=hints.target, model=hints.device, arch=hints.arch),
            toolchain=ToolchainKey(),
            method=MethodKey(clock="", version=0, cache=""),
        ),
        session=session,
        sequence=sequence,
        kernel=KernelRef(name=row["kernel"], dtype=hints.dtype, layout=hints.layout),
        status=status,
        reason=reason,
        measurement=_measurement(latency_ms) if status is Status.OK else None,
        conditions=Conditions(started=session.started, order=sequence),
    )


def _problem(row: dict[str, str]) -> ConvProblem:
    columns = ConvProblem.table_columns
    values = {name: _number(int, row, name) if name in COLUMNS else usual for name, usual in columns.items()}
    return ConvProblem.of_table({name: value for name, value in values.items() if value is not None})


def _number(kind: type[_Number], row: dict[str, str], name: str, usual: _Number | None = None) -> _Number:
    """Return the number in a cell.

    :param usual: what an empty cell means; ``None`` if it means nothing.
    :raises InputError: the cell is not such a number.
    """
    if usual is not None and not row[name]:
        return usual
    try:
        return kind(row[name])
    except ValueError:
        whole = "a whole number" if kind is int else "a number"
        raise InputError(f"{name}: expected {whole}, got {row[name]!r}") from None


def _status(latency_ms: float, non_zero: str) -> tuple[Status, str]:
    if not (math.isfinite(latency_ms) and latency_ms > 0):
        return Status.RUN_ERROR, f"the file has a latency of {latency_ms:g} ms"
    said = non_zero.strip().lower()
    # some write how many elements are not
    if said not in {*_FALSE, *_TRUE} and not said.isdecimal():
        raise InputError(f"non_zero: expected True, False or a count, got {non_zero!r}")
    return (Status.WRONG_RESULT, "the result was all zeros") if said in _FALSE else (Status.OK, "")


def _measurement(latency_ms: float) -> Measurement:
    return Measurement(
        time_ms=latency_ms, spread_ms=0.0, min_ms=latency_ms, mean_ms=latency_ms, samples=1, stopped_by=""
    )


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write one row per measurement that may be ranked and that the columns can express.

    Without convolutions the columns are those of the problems that there are.
    """
    result = ExportResult()
    timed: list[tuple[MeasurementSummary, float]] = []
    for summary in store.measurements(query):
        if summary.time_ms is None:
            result.left_out[f"not ranked ({summary.status.value})"] += 1
        else:
            timed.append((summary, summary.time_ms))
    of_convolutions = not timed or any(isinstance(summary.key.problem, ConvProblem) for summary, _ in timed)
    header: Iterable[str] = COLUMNS
    if not of_convolutions:
        fields = (name for summary, _ in timed for name in cells_of_problem(summary.key.problem))
        header = (*_FIRST, *dict.fromkeys(fields), *_LAST)
    cells = _cells if of_convolutions else _own_cells
    problems: dict[Problem, int] = {}
    text = io.StringIO()
    rows = csv.DictWriter(text, tuple(header), lineterminator="\n")
    rows.writeheader()
    for summary, time_ms in timed:
        problem = summary.key.problem
        why = _misfit(summary) if of_convolutions else ""
        if why:
            result.left_out[why] += 1
            continue
        rows.writerow(cells(summary, time_ms, problems.setdefault(problem, len(problems))))
        result.rows += 1
    write_output(path, text.getvalue())
    return result


def _cells(summary: MeasurementSummary, time_ms: float, index: int) -> dict[str, object]:
    problem = cast("ConvProblem", summary.key.problem)
    groups = problem.groups
    channels = (problem.in_channels * groups, problem.out_channels * groups, groups)
    sizes = (*problem.input, *problem.filter, *problem.strides, *problem.left_pads)
    tflops = f"{problem.flop / time_ms / 1e9:.6g}"
    values = (summary.kernel.name, index, problem.batch, *channels, *sizes, repr(time_ms), tflops, True)
    return dict(zip(COLUMNS, values, strict=True))


def _own_cells(summary: MeasurementSummary, time_ms: float, index: int) -> dict[str, object]:
    problem, dtype = summary.key.problem, summary.kernel.dtype
    return {
        "kernel": summary.kernel.name,
        "problem_idx": index,
        OPERATION_COLUMN: summary.key.operation.direction,
        "dtype": dtype.value if dtype is not None else "",
        "layout": summary.kernel.layout,
        **cells_of_problem(problem),
        "split_k": summary.key.split_k,
        "latency_ms": repr(time_ms),
        "tflops": f"{problem.flop / time_ms / 1e9:.6g}",
        "non_zero": True,
    }


def _misfit(summary: MeasurementSummary) -> str:
    problem = summary.key.problem
    if not isinstance(problem, ConvProblem):
        name = summary.key.operation.direction
        return (
            f"{name}: the columns of the file are those of convolutions: export them with --direction {name}"
        )
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


def cells_of_problem(problem: Problem) -> dict[str, object]:
    """Return the fields of a problem as they are written."""
    import msgspec

    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, (list, tuple, dict)) else value
        for name, value in sizes(problem).items()
    }
