"""AITER as a consumer of tuned results: its tables, and their times as measurements.

AITER merges the tables of one name that it finds in its folders. Rows of one key end its start then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof_plugins.consumers.aiter.audit import MOST_WRONG, TableJudge, time_order
from ckprof_plugins.consumers.aiter.export import export
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.consumers.aiter.tables import (
    TunedRow,
    WrongCellError,
    architectures,
    filled_gfx,
    integer,
    is_missing,
    key_cell,
    kind_of,
    merged_as,
    number,
    read_table,
)
from ckprof_plugins.consumers.audit import read_file, unchanged
from ckprof_plugins.consumers.records import Reason, imported_attempt
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers.aiter.tables import Table
    from ckprof_plugins.consumers.records import AuditRequest, ConsumerFiles, ExportRequest, FileAudit


def _merge_remarks(tables: Iterable[tuple[FileAudit, Table]]) -> None:
    """Add what is found of tables that AITER merges: rows of one key, which end its start."""
    files = list(tables)
    all_columns = {name for _, table in files for name in table.header}
    groups: dict[tuple[str | int, ...], list[tuple[FileAudit, TunedRow]]] = {}
    for audit, table in files:
        wrong = {one.line for one in audit.findings if one.removable and one.reason is not Reason.DUPLICATE}
        for row in table.rows:
            if row.line not in wrong and row.line:
                groups.setdefault(_merge_key(table, row, all_columns), []).append((audit, row))
    for group in groups.values():
        if len(group) < 2:
            continue
        kept_in, kept = min(group, key=lambda one: time_order(one[1]))
        for audit, row in group:
            audit.findings[:] = [
                one for one in audit.findings if one.line != row.line or one.reason is not Reason.DUPLICATE
            ]
            if row is not kept:
                message = (
                    f"line {kept.line} of {kept_in.path} has the same key, and AITER merges these tables: "
                    "its start fails, and it rewrites the files with the row of the lowest time"
                )
                audit.find(Reason.CONFLICT, message, row.line, row.text[:160])


def _merge_key(table: Table, row: TunedRow, columns: set[str]) -> tuple[str | int, ...]:
    key: list[str | int] = []
    for name in (*table.kind.key, "_tag"):
        if name not in columns:
            continue
        cell = row.cells.get(name)
        if name == "gfx":
            cell = filled_gfx(row.cells)
        elif name == "_tag":
            # a column that some tables lack is 0 there, which differs from an empty cell
            cell = "0" if cell is None else "" if is_missing(cell) else cell
        try:
            key.append(key_cell(name, cell or ""))
        except WrongCellError:
            key.append(cell or "")
    return tuple(key)


class Aiter:
    """Tables of tuned matrix products, of both generations; times of its other tables."""

    id = "aiter"
    label = "AITER: CSV tables of tuned matrix products, with and without gfx"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file begins with the columns of such a table."""
        return kind_of(head) is not None

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as AITER's loader and generator read it.

        :raises InputError: the file is no table of AITER's, or the tree cannot be read.
        """
        if request.tree is not None:
            # a tree without lists is told once, whatever rows there are
            read_tree(request.tree)
        judge = TableJudge(request, read_table(request.path))
        judge.judge()
        return judge.audit

    def compare(self, audits: Sequence[FileAudit]) -> None:
        """Add what is found of tables that AITER merges when it starts: those of a name in one folder.

        :raises InputError: a file cannot be read any more.
        """
        groups: dict[tuple[Path, str], list[FileAudit]] = {}
        for audit in audits:
            merged = merged_as(audit.path)
            if merged is not None:
                groups.setdefault(merged, []).append(audit)
        for group in groups.values():
            if len(group) > 1:
                # the table in the folder itself comes first, as in the merge
                group.sort(key=lambda one: (one.path.parent.name == "model_configs", one.path.name))
                _merge_remarks((audit, read_table(audit.path)) for audit in group)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the table without wrong rows, with LF at the ends of lines.

        :raises InputError: the file cannot be read any more, or has changed since.
        """
        lines = unchanged(audit, read_file(audit.path)).split(b"\n")
        wrong = audit.removable
        kept = [line.rstrip(b"\r") for number, line in enumerate(lines, 1) if number not in wrong]
        return b"".join(line + b"\n" for line in kept if line.strip())

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return tables with rows for winners whose kernels the tree's lists have.

        :raises UsageError: there is no tree.
        :raises InputError: the tree has no lists.
        """
        return export(request)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield an attempt for each row in order; what is not is left to the audit.

        :raises InputError: the file cannot be read, or its rows are no plain products.
        """
        table = read_table(path)
        if "kernelId" not in table.kind.others or "M" not in table.key:
            label = table.kind.label
            raise InputError(f"is a table of {label}, whose rows are no products of one kernel", path)
        session = Session.of_file(path, path.read_bytes(), "AITER table", hints.tags)
        for sequence, row in enumerate(table.rows):
            cells = row.cells
            sizes = [integer(cells.get(name, "1")) or 0 for name in ("B", "M", "N", "K", "cu_num")]
            time_us = number(cells.get("us", ""))
            if row.problem or time_us is None or not math.isfinite(time_us) or time_us <= 0 or min(sizes) < 1:
                continue
            batch, m, n, k, units = sizes
            name = cells.get("kernelName") or f"kernel {cells['kernelId']}"
            share = number(cells.get("errRatio") or "0")
            wrong = share is not None and share > MOST_WRONG
            exponent = integer(cells.get("splitK", "0")) or 0
            # the beginning of a kernel's name says the type of its operands; other ones are of several types
            dtype = hints.dtype or (DataType.BF16 if name.startswith("bf16_") else None)
            yield imported_attempt(
                session,
                sequence,
                DeviceKey(
                    target=hints.target,
                    model=hints.device,
                    arch=hints.arch or next(iter(architectures(cells)), ""),
                    compute_units=units,
                ),
                "gemm",
                GemmProblem(m=m, n=n, k=k, batch=batch),
                name,
                dtype=dtype,
                spelled_type=dtype.value if dtype else "",
                # all products have A by rows and B by columns
                layout=hints.layout or "rcr",
                time_ms=time_us / 1e3,
                split_k=1 << min(max(exponent, 0), 20),
                wrong=f"{share:.1%} of the elements were wrong when it was tuned" if wrong else "",
            )
