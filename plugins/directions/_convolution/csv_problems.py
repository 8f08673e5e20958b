"""Problems out of CSV tables, such as the one that CK Tile's own sweep writes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import Operation

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
    ndim = 3 if _is_3d(row) else 2

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


def _is_3d(row: _CsvRow) -> bool:
    """Say whether the row has a depth axis: tables of 2D problems may carry 1 there."""
    return row.integer(_AXES["input"][0], 1) > 1 or row.integer(_AXES["filter"][0], 1) > 1


def _direction(row: _CsvRow, operations: Sequence[Operation]) -> str | None:
    text = row.text(_COLUMNS["direction"]).lower()
    if not text:
        return None
    for operation in operations:
        if text == operation.id or text in operation.aliases:
            return operation.id
    ids = ", ".join(operation.id for operation in operations)
    raise row.error(f"unknown direction {text!r}: expected one of {ids}")
