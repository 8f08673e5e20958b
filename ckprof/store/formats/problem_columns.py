"""Rows of CSV for operations with problems of their own: the problem's fields as columns, by their names.

Operation, type, layout and splits have columns as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.dtype import DataType
from ckprof.model.problem_cells import OPERATION_COLUMN, cells_of_problem, problem_of_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof.store.query import MeasurementSummary

_FIRST: Final = ("kernel", "problem_idx", OPERATION_COLUMN, "dtype", "layout")
_LAST: Final = ("split_k", "latency_ms", "tflops", "non_zero")
#: columns beside those of the problem
COLUMNS: Final = (*_FIRST, *_LAST)


def has_problem_columns(header: Sequence[str]) -> bool:
    """Say whether a header is one of such rows: that of convolutions names no operation."""
    return OPERATION_COLUMN in header


def header_of(problems: Sequence[Problem]) -> list[str]:
    """Return the columns for some problems."""
    fields = dict.fromkeys(name for problem in problems for name in cells_of_problem(problem))
    return [*_FIRST, *fields, *_LAST]


def cells_of(one: MeasurementSummary, median_ms: float, index: int) -> dict[str, object]:
    """Return the row of a measurement, by column.

    :param index: number of its problem.
    """
    problem, dtype = one.key.problem, one.kernel.dtype
    return {
        "kernel": one.kernel.name,
        "problem_idx": index,
        OPERATION_COLUMN: one.key.operation.direction,
        "dtype": dtype.value if dtype is not None else "",
        "layout": one.kernel.layout,
        **cells_of_problem(problem),
        "split_k": one.key.split_k,
        "latency_ms": repr(median_ms),
        "tflops": f"{problem.flop / median_ms / 1e9:.6g}",
        "non_zero": True,
    }


def problem_of(row: Mapping[str, str]) -> Problem:
    """Return the problem of a row.

    :raises InputError: a value is wrong, or no operation has problems with these columns.
    """
    return problem_of_cells(row, COLUMNS)


def dtype_of(row: Mapping[str, str]) -> DataType | None:
    """Return the type that a row names; ``None`` if it names none.

    :raises UsageError: there is no such type.
    """
    return DataType.parse(row["dtype"]) if row["dtype"] else None
