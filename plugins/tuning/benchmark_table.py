"""Results as a table of the tile engine's benchmark: a row for each kernel and problem, a name and a time.

The form has no place for everything that a store knows. What it cannot say is left out and counted: problems
that are not 2D convolutions with equal pads on both sides and no dilation, split reductions, and kernels
without a verified time.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from ckprof.files import write_output
from ckprof.model.outcome import Status
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ExportResult
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.store.query import MeasurementSummary, StoreQuery
    from ckprof.store.store import Store

#: in the order of the file; ``non_zero`` is ``True`` for every row: results were verified
COLUMNS: Final = (
    *("kernel", "problem_idx", "N", "C", "K", "G", "Hi", "Wi", "Y", "X", "stride_h", "stride_w"),
    *("pad_h", "pad_w", "latency_ms", "tflops", "non_zero"),
)


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write one row per kernel and problem, with the kernel's time.

    :raises InputError: the file cannot be written.
    """
    result = ExportResult()
    problems: dict[Problem, int] = {}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in store.measurements(query):
        problem, time_ms = row.key.problem, row.time_ms
        reason = _reason_to_leave_out(row)
        if reason or time_ms is None or not isinstance(problem, ConvProblem):
            result.left_out[reason] += 1
            continue
        index = problems.setdefault(problem, len(problems))
        channels = (
            problem.batch,
            problem.in_channels * problem.groups,
            problem.out_channels * problem.groups,
        )
        geometry = (*problem.input, *problem.filter, *problem.strides, *problem.left_pads)
        tflops = problem.flop / time_ms / 1e9
        measured = (f"{time_ms:.6g}", f"{tflops:.6g}", True)
        table.writerow((row.kernel.name, index, *channels, problem.groups, *geometry, *measured))
        result.rows += 1
    write_output(path, text.getvalue())
    return result


def _reason_to_leave_out(row: MeasurementSummary) -> str:
    problem = row.key.problem
    if not isinstance(problem, ConvProblem) or problem.ndim != 2:
        return "no 2D convolution"
    if problem.left_pads != problem.right_pads or set(problem.dilations) != {1}:
        return "a dilation, or pads that differ on both sides"
    if row.key.split_k != 1:
        return "a split reduction"
    if row.time_ms is None:
        return "no verified time" if row.status is Status.OK else row.status.value
    return ""


FORMAT: Final = StoreFormat(
    id="tile-engine", label="table of the tile engine's benchmark (CSV), export only", write=write
)
