"""AITER as a consumer of tuned results: its tables, judged row by row, and their times as measurements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof_plugins.consumers.aiter.export import export
from ckprof_plugins.consumers.aiter.kernel_lists import TreeLists, prefix_of, read_tree
from ckprof_plugins.consumers.aiter.tables import (
    DEVICES,
    FALLBACK_TAG,
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
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.records import FileAudit, Reason, Severity, imported_attempt
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers.aiter.tables import Table
    from ckprof_plugins.consumers.records import AuditRequest, ConsumerFiles, ExportRequest


#: largest share of wrong elements that the tuner accepts
_MOST_WRONG: Final = 0.05
#: architecture -> how torch calls its fp8 type, as the key spells it
_FP8: Final = {
    "gfx942": "torch.float8_e4m3fnuz",
    **dict.fromkeys(("gfx950", "gfx1250"), "torch.float8_e4m3fn"),
}
#: what a name says of its kernel: block and tile, tile alone, pipeline
_TILE: Final = re.compile(r"_(?:\d+x)?\d+x\d+x(?P<k>\d+)_")
_BLOCK_AND_TILE: Final = re.compile(r"_\d+x\d+x\d+x(?P<k>\d+)_")
#: kernels that are written in assembler have mangled names
_MANGLED: Final = "_ZN"
#: libraries whose kernels lists of the tree have
_LISTED: Final = ("ck", "cktile", "")
#: beginnings of the names of kernels to which modules pass on how often rows divide the reduction
_DIVIDING: Final = (
    *("a8w8_rowwise", "a8w8_bpreshuffle", "a8w8_bpreshuffle_cktile", "a8w8_blockscale"),
    *("a8w8_blockscale_cktile", "a4w4_blockscale"),
)
#: files of these names have kernels of other ones, and pass nothing on
_UNDIVIDED: Final = "a8w8_blockscale_bpreshuffle"
#: kernels of experts that lists of the tree have
_EXPERTS: Final = ("moe_ck2stages_", "moe_cktile2stages_")
_MOST_SPLITS: Final = 30
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]
Key = tuple[str | int, ...]


class _TableJudge:
    """Judges the rows of one table."""

    def __init__(self, request: AuditRequest, table: Table) -> None:
        self.audit = FileAudit(path=request.path, label=f"AITER table: {table.kind.label}")
        self._request = request
        self._table = table
        self._kind = table.kind
        self._trees: dict[str, TreeLists] = {}
        #: columns of the key with a cell that makes texts of all -> its line
        self._poisoned: dict[str, int] = {}
        #: lists that rows of this table would be looked up in
        self._unreadable: dict[str, None] = {}

    def judge(self) -> None:
        """Judge all rows: each by itself, then those of one key among rows that stay."""
        rows = self._table.rows
        remarks = {row.line: self._remark(row) for row in rows}
        sound = [row for row in rows if not _removes(remarks[row.line])]
        for row, remark in self._shadowed(sound):
            remarks[row.line] = remark
        for row in rows:
            self.audit.find(*remarks[row.line], row.line, row.text[:160])
        name = self._request.path.name
        for column, line in self._poisoned.items():
            message = f"line {line} has no number in column {column}: pandas reads the column as texts"
            self.audit.find(Reason.NEVER_HIT, f"{message}, and no row is hit", text=name)
        if "gfx" in self._kind.key and "gfx" not in self._table.key and "bias" in self._table.key:
            message = "no column gfx, which AITER of 2026 needs: it cannot read the table"
            self.audit.find(Reason.OTHER_VERSION, message, text=name)
        for message in self._unreadable:
            self.audit.find(Reason.UNREADABLE_LIST, message, text=name)
        self.audit.entries = len(rows)

    def _remark(self, row: TunedRow) -> Remark:
        """Return what is wrong with a row by itself."""
        if row.problem:
            return Reason.MALFORMED_ROW, row.problem
        try:
            self._key(row)
        except WrongCellError as exc:
            if exc.poisons:
                self._poisoned.setdefault(exc.column, row.line)
            return Reason.MALFORMED_KEY, str(exc)
        cells = row.cells
        wrong = self._key_remark(cells) or self._figures_remark(cells)
        if wrong is not None and _removes(wrong):
            return wrong
        if cells.get("_tag") == FALLBACK_TAG:
            return None, f"rows of {FALLBACK_TAG}, which the reader of experts passes over"
        judged = self._kernels_remark(cells)
        return wrong if wrong is not None and judged[0] is None else judged

    def _key(self, row: TunedRow) -> Key:
        """Return the key of a row.

        :raises WrongCellError: no lookup has it.
        """
        if self._kind.as_texts:
            return tuple(row.cells.get(name, "").strip() for name in self._table.key)
        cells = row.cells
        if self._kind.counts == "first":
            # readers of experts fill in the architecture
            cells = {**cells, "gfx": filled_gfx(cells) or "the running device"}
        return tuple(key_cell(name, cells[name]) for name in self._table.key)

    def _shadowed(self, rows: Sequence[TunedRow]) -> Iterator[tuple[TunedRow, Remark]]:
        """Yield the rows that are not used because of another one of their key, or that end the reader."""
        groups: dict[Key, list[TunedRow]] = {}
        for row in rows:
            if row.cells.get("_tag") != FALLBACK_TAG:
                groups.setdefault(self._key(row), []).append(row)
        for group in groups.values():
            used = group[0] if self._kind.counts == "first" else min(group, key=self._time_order)
            for row in group:
                if row is used:
                    continue
                message = f"line {used.line} has the same key"
                if self._kind.counts == "fastest":
                    yield row, (None, "slower rows of keys whose fastest row is used")
                elif self._kind.counts == "first":
                    yield row, (Reason.DUPLICATE, f"{message} and comes first")
                elif any(other.text == row.text and other.line < row.line for other in group) or (
                    used.text == row.text
                ):
                    yield row, (Reason.DUPLICATE, message)
                else:
                    message += " and another content: pandas rejects the whole table (index must be unique)"
                    yield row, (Reason.CONFLICT, message)

    def _time_order(self, row: TunedRow) -> tuple[bool, float]:
        late, time_us = _time_order(row)
        # the one reader that looks at times takes a missing one for 0
        return late and self._kind.counts != "fastest", time_us

    def _key_remark(self, cells: Mapping[str, str]) -> Remark | None:
        request, columns = self._request, self._table.key
        units = integer(cells.get("cu_num", "")) or 0
        sizes = [integer(cells[name]) for name in columns if len(name) == 1]
        if any(size is None or size < 1 for size in sizes) or ("cu_num" in columns and units < 1):
            return Reason.NEVER_HIT, "no product has a size, and no device compute units, below 1"
        if request.compute_units and units not in (0, request.compute_units):
            message = (
                f"the row is of {units} compute units, lookups on the device have {request.compute_units}"
            )
            return Reason.WRONG_DEVICE, message
        archs = architectures(cells)
        if request.arch and archs and request.arch not in archs:
            return Reason.WRONG_DEVICE, f"the row is of {' or '.join(archs)}, not {request.arch}"
        if _of_another_device(archs, units):
            owners = " and ".join(DEVICES[units])
            return Reason.WRONG_DEVICE, f"{archs[0]} with {units} compute units, which {owners} has"
        spelled = cells.get("q_dtype_w", "") if "kernelName" in self._kind.kernels else ""
        if "q_dtype_w" in columns and spelled:
            if not spelled.startswith("torch."):
                return Reason.NEVER_HIT, f"q_dtype_w is {spelled!r}; lookups have torch.NAME"
            expected = [_FP8.get(arch, spelled) for arch in archs]
            if "float8" in spelled and expected and spelled not in expected:
                return (
                    Reason.NEVER_HIT,
                    f"q_dtype_w is {spelled}; lookups on {archs[0]} have {expected[0]}",
                )
        return None

    def _figures_remark(self, cells: Mapping[str, str]) -> Remark | None:
        share = number(cells.get("errRatio") or "0")
        doubtful = None
        for column in self._kind.times:
            cell = cells.get(column, "")
            if is_missing(cell):
                if column == "us":
                    doubtful = Reason.DOUBTFUL_TIME, "no time: lookups use the row, merges put it last"
                continue
            time_us = number(cell)
            if time_us is None:
                return Reason.MALFORMED_VALUE, f"{column} is {cell!r}, expected a time"
            if not math.isfinite(time_us) or time_us < 0:
                return Reason.WRONG_TIME, f"{column} is {cell}"
            if time_us == 0 and column == "us":
                doubtful = (
                    Reason.DOUBTFUL_TIME,
                    "a time of 0 stands for none: lookups use the row, merges put it first",
                )
        if share is not None and share > _MOST_WRONG:
            message = f"{share:.1%} of the elements were wrong; the tuner accepts {_MOST_WRONG:.0%}"
            return Reason.WRONG_RESULT, message
        return doubtful

    def _kernels_remark(self, cells: Mapping[str, str]) -> Remark:
        if self._kind.kernels == ("kernelName",):
            return self._kernel_remark(cells)
        names = [cells.get(column, "").strip() for column in self._kind.kernels]
        looked_up = [name for name in names if name.startswith(_EXPERTS)]
        if not looked_up:
            return None, "keys and times in order; kernels of other libraries, not judged"
        judged: Remark = None, ""
        for name in looked_up:
            judged = self._listed_remark(cells, name, None)
            if judged[0] is not None:
                return judged
        return judged

    def _kernel_remark(self, cells: Mapping[str, str]) -> Remark:
        name, library = cells.get("kernelName", ""), cells.get("libtype", "").strip()
        if library not in _LISTED or (name.startswith(_MANGLED) and not library):
            return None, f"keys and times in order; kernels of {library or 'assembler'}, not judged"
        if name.startswith(_MANGLED) or "kernelId" not in cells:
            return None, "keys and times in order; kernels of other libraries, not judged"
        id_ = integer(cells["kernelId"])
        if id_ is None:
            return Reason.MALFORMED_VALUE, f"kernelId is {cells['kernelId']!r}, expected a number"
        exponent, splits = 0, ""
        if prefix_of(name) in _DIVIDING and _UNDIVIDED not in self._request.path.name:
            exponent, splits = _splits(cells, name)
        if splits:
            return Reason.WRONG_SPLIT, splits
        reason, message = self._listed_remark(cells, name, id_)
        unmet = "" if reason else _unmet(cells, name, exponent)
        return (Reason.UNSUPPORTED, unmet) if unmet and self._request.tree else (reason, message)

    def _listed_remark(self, cells: Mapping[str, str], name: str, id_: int | None) -> Remark:
        """Return what lists of the tree say of a kernel.

        :param id_: the row's number; ``None`` where rows have none.
        """
        if self._request.tree is None:
            return None, "key and figures are in order; no --tree with lists of kernels"
        if is_missing(name):
            return Reason.MALFORMED_VALUE, "no kernelName"
        arch = next(iter(architectures(cells)), "")
        if arch not in self._trees:
            self._trees[arch] = read_tree(self._request.tree, arch)
        lists, unreadable = self._trees[arch]
        prefix = prefix_of(name)
        found = next((one for one in lists if one.prefix == prefix), None)
        if found is None and unreadable:
            self._unreadable |= dict.fromkeys(str(error) for error in unreadable)
            return None, "kernels that no list has which could be read: not judged"
        if found is None:
            return Reason.UNKNOWN_KERNEL, f"no list of the tree has kernels called {prefix}..."
        file, of_arch = found.path.name, f" for {arch}" if arch else ""
        if found.by_name or id_ is None:
            if found.has(name):
                return None, "the tree has the kernel of the name"
            return Reason.UNKNOWN_KERNEL, f"{file} has no kernel of this name{of_arch}"
        listed = found.names.get(id_)
        if listed == name:
            return None, "number and name are those of the tree"
        place = next((one for one, other in found.names.items() if other == name), None)
        if listed is None:
            where = f"; the name is number {place}" if place is not None else ", nor the name"
            return Reason.UNKNOWN_KERNEL, f"{file} has no number {id_}{where}"
        if place is None:
            return Reason.UNKNOWN_KERNEL, f"{file} has no kernel of this name; {id_} is {listed}"
        return Reason.ID_MISMATCH, f"number {id_} is {listed}; the name is number {place}"


def _removes(remark: Remark) -> bool:
    """Say whether a row with this remark is no longer there in a clean file."""
    return remark[0] is not None and remark[0].severity is not Severity.NOTE


def _time_order(row: TunedRow) -> tuple[bool, float]:
    """Return by what rows of one key are ordered: a time that is not there comes last."""
    time_us = number(row.cells.get("us", ""))
    is_late = time_us is None or math.isnan(time_us)
    return is_late, 0.0 if is_late else time_us or 0.0


def _of_another_device(archs: Sequence[str], units: int) -> bool:
    """Say whether compute units are those of whole devices of other architectures alone.

    Partitions of a device have a part of its units, so that other numbers prove nothing.
    """
    if len(archs) != 1 or units not in DEVICES or archs[0] in DEVICES[units]:
        return False
    own = [whole for whole, owners in DEVICES.items() if archs[0] in owners]
    return bool(own) and not any(whole % units == 0 for whole in own)


def _splits(cells: Mapping[str, str], name: str) -> tuple[int, str]:
    """Return the exponent of the number of splits, and what is wrong with it."""
    cell = cells.get("splitK", "")
    if is_missing(cell):
        return 0, ""
    exponent = integer(cell)
    if exponent is None or not 0 <= exponent <= _MOST_SPLITS:
        return 0, f"splitK is {cell!r}, expected the exponent of the number of splits, 0 to {_MOST_SPLITS}"
    step, length = _step(name), integer(cells["K"])
    if step and length and exponent and 1 << exponent > -(-length // step):
        return exponent, f"{1 << exponent} splits of {-(-length // step)} steps along K"
    return exponent, ""


def _step(name: str) -> int:
    """Return the length of a kernel's tile along K; 0 if its name does not say it."""
    tile = _BLOCK_AND_TILE.search(name) or _TILE.search(name)
    return int(tile["k"]) if tile and len(tile["k"]) < 10 else 0


def _unmet(cells: Mapping[str, str], name: str, exponent: int) -> str:
    """Return the condition of the kernel that sizes do not meet: of its pipeline, which reads steps ahead."""
    step, length = _step(name), integer(cells["K"])
    stages = {"v3": 2, "v4": 3, "v5": 3}.get(name.rpartition("_")[2], 0)
    if not step or length is None or not stages:
        return ""
    steps = -(-length // (step << exponent))
    if steps <= stages:
        return f"the pipeline reads {stages} steps of {step} ahead and needs more: K = {length} has {steps}"
    return ""


def _merge_remarks(tables: Iterable[tuple[FileAudit, Table]]) -> None:
    """Add what is found of tables that AITER merges: rows of one key, which end its start."""
    files = list(tables)
    all_columns = {name for _, table in files for name in table.header}
    groups: dict[Key, list[tuple[FileAudit, TunedRow]]] = {}
    for audit, table in files:
        wrong = {one.line for one in audit.findings if one.removable and one.reason is not Reason.DUPLICATE}
        for row in table.rows:
            if row.line not in wrong and row.line:
                groups.setdefault(_merge_key(table, row, all_columns), []).append((audit, row))
    for group in groups.values():
        if len(group) < 2:
            continue
        kept_in, kept = min(group, key=lambda one: _time_order(one[1]))
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


def _merge_key(table: Table, row: TunedRow, columns: set[str]) -> Key:
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
        judge = _TableJudge(request, read_table(request.path))
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

        :raises InputError: the file cannot be read any more.
        """
        lines = read_file(audit.path).split(b"\n")
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
            wrong = share is not None and share > _MOST_WRONG
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
