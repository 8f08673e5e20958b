"""Judges AITER's tables row by row."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers.aiter.consumer import DEVICES, MOST_WRONG, integer, number, read_table
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.consumers.records import AuditFinding, FileAudit, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.consumers.aiter.consumer import TableLayout, TunedRow
    from ckprof_plugins.consumers.aiter.kernel_lists import KernelsOfFile
    from ckprof_plugins.consumers.records import AuditRequest

#: architecture -> how torch calls its fp8 type, as the key spells it
_FP8: Final = {"gfx942": "torch.float8_e4m3fnuz", "gfx950": "torch.float8_e4m3fn"}
#: what a name says of its kernel: block and tile, pipeline
_TILE: Final = re.compile(r"_(?P<block>\d+)x(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_")
#: kernels that are written in assembler have mangled names
_MANGLED: Final = "_ZN"


@dataclass(slots=True)
class _TableAudit:
    """A table while it is judged."""

    request: AuditRequest
    layout: TableLayout
    lists: tuple[KernelsOfFile, ...]
    findings: list[AuditFinding] = field(default_factory=list)
    judged: Counter[str] = field(default_factory=Counter)
    keys: dict[tuple[str | int, ...], TunedRow] = field(default_factory=dict)
    #: columns of the key with a cell that is no number: pandas makes texts of all cells
    poisoned: dict[str, int] = field(default_factory=dict)

    def find(self, reason: Reason, message: str, row: TunedRow | None) -> None:
        """Note a finding of a row, or of the whole table."""
        line, text = (row.line, row.text[:160]) if row is not None else (0, self.request.path.name)
        self.findings.append(AuditFinding(reason=reason, message=message, line=line, text=text))


def audit(request: AuditRequest) -> FileAudit:
    """Judge a table.

    :raises InputError: the file is no table of AITER's, or the tree cannot be read.
    """
    table = read_table(request.path)
    lists = read_tree(request.tree) if request.tree is not None else ()
    judging = _TableAudit(request, table.layout, lists)
    for row in table.rows:
        _judge(judging, row)
    for column, line in judging.poisoned.items():
        judging.find(
            Reason.NEVER_HIT,
            f"line {line} has no number in column {column}: pandas reads the column as texts, and no row "
            "is hit",
            None,
        )
    return FileAudit(
        path=request.path,
        label=f"AITER table: {table.layout.label}",
        entries=len(table.rows),
        judged=dict(judging.judged.most_common()),
        findings=tuple(judging.findings),
    )


def _judge(judging: _TableAudit, row: TunedRow) -> None:
    if row.problem:
        judging.find(Reason.MALFORMED_ROW, row.problem, row)
        return
    key: list[str | int] = []
    for column in judging.layout.key:
        cell = row.cells[column]
        value: str | int | None = cell if column in judging.layout.texts else integer(cell)
        if value is None:
            judging.poisoned.setdefault(column, row.line)
            judging.find(Reason.MALFORMED_KEY, f"{column} is {cell!r}, expected an integer", row)
            return
        key.append(value)
    known = judging.keys.setdefault(tuple(key), row)
    if known is not row:
        same = known.text == row.text
        judging.find(
            Reason.DUPLICATE if same else Reason.CONFLICT,
            f"line {known.line} has the same key"
            + ("" if same else " and another content: pandas rejects the whole table (index must be unique)"),
            row,
        )
        return
    if not _judge_key(judging, row) or not _judge_figures(judging, row):
        return
    if judging.layout.has_kernel:
        _judge_kernel(judging, row)
    else:
        judging.judged["times and keys are in order; kernels are of several libraries"] += 1


def _judge_key(judging: _TableAudit, row: TunedRow) -> bool:
    cells, request = row.cells, judging.request
    units = integer(cells["cu_num"]) or 0
    sizes = {name: integer(cells[name]) for name in ("B", "M", "N", "K") if name in judging.layout.key}
    if any(size is None or size < 1 for size in sizes.values()) or units < 1:
        judging.find(Reason.NEVER_HIT, "no product has a size, and no device compute units, below 1", row)
        return False
    arch = cells.get("gfx", "") or DEVICES.get(units, "")
    if request.compute_units and units != request.compute_units:
        judging.find(
            Reason.WRONG_DEVICE,
            f"the row is of {units} compute units, lookups on the device have {request.compute_units}",
            row,
        )
        return False
    if request.arch and arch and arch != request.arch:
        judging.find(Reason.WRONG_DEVICE, f"the row is of {arch}, not {request.arch}", row)
        return False
    if "gfx" in cells and DEVICES.get(units, arch) != arch and units not in (32, 64, 128):
        judging.find(
            Reason.WRONG_DEVICE, f"{cells['gfx']} with {units} compute units, which {DEVICES[units]} has", row
        )
        return False
    spelled = cells.get("q_dtype_w", "")
    if spelled and judging.layout.has_kernel:
        expected = _FP8.get(arch)
        if not spelled.startswith("torch."):
            judging.find(Reason.NEVER_HIT, f"q_dtype_w is {spelled!r}; lookups have torch.NAME", row)
            return False
        if "float8" in spelled and expected and spelled != expected:
            judging.find(Reason.NEVER_HIT, f"q_dtype_w is {spelled}; lookups on {arch} have {expected}", row)
            return False
    return True


def _judge_figures(judging: _TableAudit, row: TunedRow) -> bool:
    for column in judging.layout.times:
        if column not in row.cells:
            continue
        time_us = number(row.cells[column])
        if time_us is None:
            judging.find(Reason.MALFORMED_VALUE, f"{column} is {row.cells[column]!r}, expected a time", row)
            return False
        if not math.isfinite(time_us) or time_us < 0 or (time_us == 0 and column == "us"):
            judging.find(Reason.WRONG_TIME, f"{column} is {row.cells[column]}", row)
            return False
    share = number(row.cells.get("errRatio", "0"))
    if share is not None and share > MOST_WRONG:
        judging.find(
            Reason.WRONG_RESULT,
            f"{share:.1%} of the elements were wrong; the tuner accepts {MOST_WRONG:.0%}",
            row,
        )
        return False
    return True


def _judge_kernel(judging: _TableAudit, row: TunedRow) -> None:
    cells = row.cells
    id_, name = integer(cells["kernelId"]), cells.get("kernelName", "")
    if id_ is None:
        judging.find(Reason.MALFORMED_VALUE, f"kernelId is {cells['kernelId']!r}, expected a number", row)
        return
    if name.startswith(_MANGLED) or cells.get("libtype", "ck") not in ("ck", ""):
        judging.judged["a kernel in assembler or of another library: number and name not looked up"] += 1
        return
    splits = _split_problem(cells, name)
    if splits:
        judging.find(Reason.WRONG_SPLIT, splits, row)
        return
    if not judging.lists:
        judging.judged["key and figures are in order; no --tree with lists of kernels"] += 1
        return
    prefix = _prefix(name)
    found = next((one for one in judging.lists if one.prefix == prefix), None)
    if found is None:
        if not name:
            judging.find(Reason.MALFORMED_VALUE, "no kernelName", row)
        else:
            judging.find(Reason.UNKNOWN_KERNEL, f"no list of the tree has kernels called {prefix}...", row)
        return
    listed = found.names.get(id_)
    if listed == name:
        unmet = _unmet(cells, name)
        if unmet:
            judging.find(Reason.UNSUPPORTED, unmet, row)
        else:
            judging.judged["number and name are those of the tree"] += 1
        return
    place = found.number_of(name)
    if listed is None:
        where = f"; the name is number {place}" if place is not None else ", nor the name"
        judging.find(Reason.UNKNOWN_KERNEL, f"{found.path.name} has no number {id_}{where}", row)
    elif place is None:
        judging.find(
            Reason.UNKNOWN_KERNEL, f"{found.path.name} has no kernel of this name; {id_} is {listed}", row
        )
    else:
        judging.find(Reason.ID_MISMATCH, f"number {id_} is {listed}; the name is number {place}", row)


def _prefix(name: str) -> str:
    words = []
    for word in name.split("_"):
        if word[:1].isdigit():
            break
        words.append(word)
    return "_".join(words)


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
