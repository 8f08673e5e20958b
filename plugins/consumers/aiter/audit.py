"""Judges AITER's tables row by row, as its readers and the generators of its kernels read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

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
    number,
)
from ckprof_plugins.consumers.records import FileAudit, Reason, Severity

if TYPE_CHECKING:
    from ckprof_plugins.consumers.aiter.tables import Table
    from ckprof_plugins.consumers.records import AuditRequest


#: largest share of wrong elements that the tuner accepts
MOST_WRONG: Final = 0.05
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
#: files of these names have rows of listed libraries alone: the reader asserts it
_LISTED_ALONE: Final = "a8w8_blockscale_tuned_gemm"
_MOST_SPLITS: Final = 30
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]


class TableJudge:
    """Judges the rows of one table."""

    def __init__(self, request: AuditRequest, table: Table) -> None:
        self.audit = FileAudit(
            path=request.path, label=f"AITER table: {table.kind.label}", digest=table.digest
        )
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

    def _key(self, row: TunedRow) -> tuple[str | int, ...]:
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
        groups: dict[tuple[str | int, ...], list[TunedRow]] = {}
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
        late, time_us = time_order(row)
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
        if self._kind.counts == "first" and filled_gfx(cells):
            archs = (filled_gfx(cells),)
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
        if share is not None and share > MOST_WRONG:
            message = f"{share:.1%} of the elements were wrong; the tuner accepts {MOST_WRONG:.0%}"
            return Reason.WRONG_RESULT, message
        if share and doubtful is None:
            off = f"{100 * share:.2g}% of the elements"
            message = f"{off} were off by more than the tuner's tolerance, which accepts it"
            return Reason.LOSES_DIGITS, message
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
        if library not in _LISTED and _LISTED_ALONE in self._request.path.name:
            return Reason.MALFORMED_VALUE, f"libtype is {library!r}: the reader of the table ends there"
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


def time_order(row: TunedRow) -> tuple[bool, float]:
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
