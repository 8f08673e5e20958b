"""Rows of AITER's tables for verified winners.

A row names a kernel of the tree's lists by number and name, so both are looked up: the winner's list line has
the numbers that the name has, but for those of the copies between memories. Where several kernels differ in
these alone, or none has the numbers, nothing is written.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.types import DataType
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.consumers.records import ConsumerFiles, LeftOutError
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.consumers.aiter.kernel_lists import KernelsOfFile
    from ckprof_plugins.consumers.records import ExportRequest, TunedKernel


#: the table that is written, its columns, and the list of the kernels that it names
_TABLE: Final = "bf16_tuned_batched_gemm.csv"
_COLUMNS: Final = (
    "cu_num",
    "B",
    "M",
    "N",
    "K",
    "kernelId",
    "splitK",
    "us",
    "kernelName",
    "tflops",
    "bw",
    "errRatio",
)
_PREFIX: Final = "bf16_batched"
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
    lists, _ = read_tree(request.tree, request.arch)
    rows, left_out = request.fastest(lambda winner: _row(winner, request.compute_units, lists))
    files = {}
    if rows:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((*key, *cells) for key, cells in sorted(rows.items()))
        files[_TABLE] = text.getvalue().encode()
    return ConsumerFiles(files=files, entries=len(rows), left_out=left_out)


def _row(
    winner: TunedKernel, units: int, lists: Sequence[KernelsOfFile]
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """Return the cells of a winner's key, and the others."""
    problem = winner.problem
    if not isinstance(problem, GemmProblem):
        raise LeftOutError(f"{winner.direction} is not a product of matrices")
    if winner.dtype is not DataType.BF16 or winner.layout != "rcr":
        raise LeftOutError(f"no table has products of {winner.dtype.value} {winner.layout}")
    if winner.splits < 1 or winner.splits & (winner.splits - 1):
        raise LeftOutError(f"rows say the power of two that the splits are, not {winner.splits}")
    number, name = _kernel(winner.line, lists)
    size = 2 * problem.batch * (problem.m * problem.k + problem.k * problem.n + problem.m * problem.n)
    time_ms, exponent = winner.time_ms, winner.splits.bit_length() - 1
    figures = f"{problem.flop / time_ms / 1e9:.2f}", f"{size / time_ms / 1e6:.2f}", "0.0"
    key = (units, problem.batch, problem.m, problem.n, problem.k)
    return key, (number, exponent, f"{time_ms * 1e3:.4f}", name, *figures)


def _kernel(line: str, lists: Sequence[KernelsOfFile]) -> tuple[int, str]:
    """Return number and name of the kernel of a line."""
    found = _LINE.search(line)
    if found is None:
        raise LeftOutError("no list that was given has the kernel, or its line is of another library")
    wanted = (*found.groups()[:8], found[9].lower(), found[10])
    listed = next((one for one in lists if one.prefix == _PREFIX), None)
    if listed is None:
        raise LeftOutError(f"the tree has no list of kernels called {_PREFIX}...")
    parts = ((number, name, _NAME.search(name)) for number, name in listed.names.items())
    fitting = [(number, name) for number, name, part in parts if part and part.groups() == wanted]
    if len(fitting) > 1:
        raise LeftOutError(f"{len(fitting)} kernels of {listed.path.name} have its numbers")
    if not fitting:
        raise LeftOutError(f"no kernel of {listed.path.name} has its numbers")
    return fitting[0]
