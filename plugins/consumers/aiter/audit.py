"""Judges AITER's tables row by row."""

from __future__ import annotations

import math
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers.aiter.consumer import DEVICES, MOST_WRONG, TEXTS, integer, number, read_table
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.consumers.records import FileAudit, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.consumers.aiter.consumer import TableLayout, TunedRow
    from ckprof_plugins.consumers.records import AuditRequest

#: architecture -> how torch calls its fp8 type, as the key spells it
_FP8: Final = {"gfx942": "torch.float8_e4m3fnuz", "gfx950": "torch.float8_e4m3fn"}
#: what a name says of its kernel: block and tile, pipeline
_TILE: Final = re.compile(r"_(?P<block>\d+)x(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_")
#: kernels that are written in assembler have mangled names
_MANGLED: Final = "_ZN"
#: a finding without its place
Remark = tuple[Reason, str]


def audit(request: AuditRequest) -> FileAudit:
    """Judge a table.

    :raises InputError: the file is no table of AITER's, or the tree cannot be read.
    """
    layout, rows = read_table(request.path)
    judge = _TableJudge(request, layout)
    for row in rows:
        remark = judge.remark(row)
        if remark is not None:
            judge.audit.find(*remark, row.line, row.text[:160])
    for column, line in judge.poisoned.items():
        message = f"line {line} has no number in column {column}: pandas reads the column as texts"
        judge.audit.find(Reason.NEVER_HIT, f"{message}, and no row is hit", text=request.path.name)
    judge.audit.entries = len(rows)
    return judge.audit


class _TableJudge:
    """Judges the rows of one table."""

    def __init__(self, request: AuditRequest, layout: TableLayout) -> None:
        self.audit = FileAudit(path=request.path, label=f"AITER table: {layout.label}")
        #: columns of the key with a cell that is no number: pandas makes texts of all cells
        self.poisoned: dict[str, int] = {}
        self._request = request
        self._layout = layout
        self._lists = read_tree(request.tree) if request.tree is not None else ()
        self._keys: dict[tuple[str | int, ...], TunedRow] = {}

    def remark(self, row: TunedRow) -> Remark | None:
        """Return what is wrong with a row."""
        if row.problem:
            return Reason.MALFORMED_ROW, row.problem
        key: list[str | int] = []
        for column in self._layout.key:
            cell = row.cells[column]
            value: str | int | None = cell if column in TEXTS else integer(cell)
            if value is None:
                self.poisoned.setdefault(column, row.line)
                return Reason.MALFORMED_KEY, f"{column} is {cell!r}, expected an integer"
            key.append(value)
        known = self._keys.setdefault(tuple(key), row)
        if known is not row:
            message = f"line {known.line} has the same key"
            if known.text == row.text:
                return Reason.DUPLICATE, message
            message += " and another content: pandas rejects the whole table (index must be unique)"
            return Reason.CONFLICT, message
        wrong = self._key_remark(row.cells) or self._figures_remark(row.cells)
        if wrong is not None:
            return wrong
        if self._layout.has_kernel:
            return self._kernel_remark(row.cells)
        self.audit.judged["times and keys are in order; kernels are of several libraries"] += 1
        return None

    def _key_remark(self, cells: Mapping[str, str]) -> Remark | None:
        request = self._request
        units = integer(cells["cu_num"]) or 0
        sizes = [integer(cells[name]) for name in ("B", "M", "N", "K") if name in self._layout.key]
        if any(size is None or size < 1 for size in sizes) or units < 1:
            return Reason.NEVER_HIT, "no product has a size, and no device compute units, below 1"
        arch = cells.get("gfx", "") or DEVICES.get(units, "")
        if request.compute_units and units != request.compute_units:
            message = (
                f"the row is of {units} compute units, lookups on the device have {request.compute_units}"
            )
            return Reason.WRONG_DEVICE, message
        if request.arch and arch and arch != request.arch:
            return Reason.WRONG_DEVICE, f"the row is of {arch}, not {request.arch}"
        if "gfx" in cells and DEVICES.get(units, arch) != arch and units not in (32, 64, 128):
            return (
                Reason.WRONG_DEVICE,
                f"{cells['gfx']} with {units} compute units, which {DEVICES[units]} has",
            )
        spelled = cells.get("q_dtype_w", "")
        if spelled and self._layout.has_kernel:
            expected = _FP8.get(arch)
            if not spelled.startswith("torch."):
                return Reason.NEVER_HIT, f"q_dtype_w is {spelled!r}; lookups have torch.NAME"
            if "float8" in spelled and expected and spelled != expected:
                return Reason.NEVER_HIT, f"q_dtype_w is {spelled}; lookups on {arch} have {expected}"
        return None

    def _figures_remark(self, cells: Mapping[str, str]) -> Remark | None:
        for column in self._layout.times:
            if column not in cells:
                continue
            time_us = number(cells[column])
            if time_us is None:
                return Reason.MALFORMED_VALUE, f"{column} is {cells[column]!r}, expected a time"
            if not math.isfinite(time_us) or time_us < 0 or (time_us == 0 and column == "us"):
                return Reason.WRONG_TIME, f"{column} is {cells[column]}"
        share = number(cells.get("errRatio", "0"))
        if share is not None and share > MOST_WRONG:
            message = f"{share:.1%} of the elements were wrong; the tuner accepts {MOST_WRONG:.0%}"
            return Reason.WRONG_RESULT, message
        return None

    def _kernel_remark(self, cells: Mapping[str, str]) -> Remark | None:
        id_, name = integer(cells["kernelId"]), cells.get("kernelName", "")
        if id_ is None:
            return Reason.MALFORMED_VALUE, f"kernelId is {cells['kernelId']!r}, expected a number"
        if name.startswith(_MANGLED) or cells.get("libtype", "ck") not in ("ck", ""):
            judged = "a kernel in assembler or of another library: number and name not looked up"
            self.audit.judged[judged] += 1
            return None
        splits = _split_problem(cells, name)
        if splits:
            return Reason.WRONG_SPLIT, splits
        if not self._lists:
            self.audit.judged["key and figures are in order; no --tree with lists of kernels"] += 1
            return None
        prefix = "_".join(takewhile(lambda word: not word[:1].isdigit(), name.split("_")))
        found = next((one for one in self._lists if one.prefix == prefix), None)
        if found is None and not name:
            return Reason.MALFORMED_VALUE, "no kernelName"
        if found is None:
            return Reason.UNKNOWN_KERNEL, f"no list of the tree has kernels called {prefix}..."
        listed, file = found.names.get(id_), found.path.name
        if listed == name:
            unmet = _unmet(cells, name)
            if unmet:
                return Reason.UNSUPPORTED, unmet
            self.audit.judged["number and name are those of the tree"] += 1
            return None
        place = next((one for one, other in found.names.items() if other == name), None)
        if listed is None:
            where = f"; the name is number {place}" if place is not None else ", nor the name"
            return Reason.UNKNOWN_KERNEL, f"{file} has no number {id_}{where}"
        if place is None:
            return Reason.UNKNOWN_KERNEL, f"{file} has no kernel of this name; {id_} is {listed}"
        return Reason.ID_MISMATCH, f"number {id_} is {listed}; the name is number {place}"


def _split_problem(cells: Mapping[str, str], name: str) -> str:
    if "splitK" not in cells:
        return ""
    exponent = integer(cells["splitK"])
    if exponent is None or not 0 <= exponent <= 30:
        return f"splitK is {cells['splitK']!r}, expected the exponent of the number of splits"
    tile, length = _TILE.search(name), integer(cells["K"])
    if tile is None or length is None or exponent == 0:
        return ""
    steps = -(-length // int(tile["k"]))
    if 1 << exponent > steps:
        return f"{1 << exponent} splits of {steps} steps along K"
    return ""


def _unmet(cells: Mapping[str, str], name: str) -> str:
    """Return the condition of the kernel that sizes do not meet: of its pipeline, which reads steps ahead."""
    tile, length = _TILE.search(name), integer(cells["K"])
    exponent = integer(cells.get("splitK", "0")) or 0
    stages = {"v3": 2, "v4": 3, "v5": 3}.get(name.rpartition("_")[2], 0)
    if tile is None or length is None or not stages:
        return ""
    step = int(tile["k"])
    steps = -(-length // (step << exponent))
    if steps <= stages:
        return f"the pipeline reads {stages} steps of {step} ahead and needs more: K = {length} has {steps}"
    return ""
