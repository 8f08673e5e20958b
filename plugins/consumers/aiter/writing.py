"""Rows of AITER's tables for verified winners.

A row names a kernel of the tree's lists by number and name, so both are looked up: the winner's list line has
the numbers that the name has, but for those of the copies between memories. Where several kernels differ in
these alone, or none has the numbers, nothing is written.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.plugin.protocols import ConsumerFiles
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.plugin.protocols import ExportRequest, TunedKernel
    from ckprof_plugins.consumers.aiter.kernel_lists import KernelsOfFile

#: type of the operands -> list of kernels, table, and its columns
_TABLES: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "bf16": (
        "bf16_batched",
        "bf16_tuned_batched_gemm.csv",
        (
            *("cu_num", "B", "M", "N", "K", "kernelId", "splitK", "us", "kernelName"),
            "tflops",
            "bw",
            "errRatio",
        ),
    ),
}
_LINE: Final = re.compile(
    r"BlkSize: (\d+), BlkTile: (\d+)x(\d+)x(\d+), WaveTile: (\d+)x(\d+), .*?WaveMap: (\d+)x(\d+), "
    r".*?Scheduler: (\w+), BlkGemmPipelineVersion: v(\d)"
)
_NAME: Final = re.compile(
    r"_(\d+)x(\d+)x(\d+)x(\d+)_(\d+)x(\d+)_(\d+)x(\d+)_[\dx_]+_(intrawave|interwave)_v(\d)"
)


def export(request: ExportRequest) -> ConsumerFiles:
    """Return the tables.

    :raises UsageError: there is no tree.
    :raises InputError: the tree cannot be read.
    """
    if request.tree is None:
        raise UsageError("AITER's rows have numbers of its own lists: add --tree, its installation")
    lists = read_tree(request.tree)
    left_out: Counter[str] = Counter()
    tables: dict[str, dict[tuple[int, ...], tuple[float, list[object]]]] = {}
    for winner in request.winners:
        problem = winner.problem
        if not isinstance(problem, GemmProblem):
            left_out[f"{winner.direction} is no product of matrices"] += 1
            continue
        found = _kernel(winner, lists)
        if isinstance(found, str):
            left_out[found] += 1
            continue
        number, name = found
        _, table, _ = _TABLES[winner.dtype.value]
        key = (request.compute_units, problem.batch, problem.m, problem.n, problem.k)
        rows = tables.setdefault(table, {})
        if key not in rows or winner.time_ms < rows[key][0]:
            tflops = problem.flop / winner.time_ms / 1e9
            size = 2 * problem.batch * (problem.m * problem.k + problem.k * problem.n + problem.m * problem.n)
            cells = [*key, number, winner.splits.bit_length() - 1, f"{winner.time_ms * 1e3:.4f}", name]
            cells += [f"{tflops:.2f}", f"{size / winner.time_ms / 1e6:.2f}", "0.0"]
            rows[key] = (winner.time_ms, cells)
    columns = {table: names for _, table, names in _TABLES.values()}
    files = {
        table: _text(columns[table], [cells for _, (_, cells) in sorted(rows.items())])
        for table, rows in tables.items()
    }
    return ConsumerFiles(files=files, entries=sum(map(len, tables.values())), left_out=left_out)


def _kernel(winner: TunedKernel, lists: tuple[KernelsOfFile, ...]) -> tuple[int, str] | str:
    """Return number and name of a winner's kernel, or why it has none."""
    if winner.dtype.value not in _TABLES or winner.layout != "rcr":
        return f"no table has products of {winner.dtype.value} {winner.layout}"
    if winner.splits < 1 or winner.splits & (winner.splits - 1):
        return f"rows say the power of two that the splits are, not {winner.splits}"
    prefix = _TABLES[winner.dtype.value][0]
    found = _LINE.search(winner.line)
    if found is None:
        return "no list that was given has the kernel, or its line is of another library"
    wanted = (*found.groups()[:8], found[9].lower(), found[10])
    for one in lists:
        if one.prefix == prefix:
            fitting = [
                (number, name)
                for number, name in one.names.items()
                if (parts := _NAME.search(name)) is not None and parts.groups() == wanted
            ]
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                return f"{len(fitting)} kernels of {one.path.name} have its numbers"
            return f"no kernel of {one.path.name} has its numbers"
    return f"the tree has no list of kernels called {prefix}..."


def _text(columns: tuple[str, ...], rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
