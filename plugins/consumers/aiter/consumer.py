"""AITER as a consumer of tuned results: its tables, judged row by row, and their times as measurements."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof_plugins.consumers.aiter.kernel_lists import export, read_tree
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.records import FileAudit, Reason, imported_attempt
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers.records import AuditRequest, ConsumerFiles, ExportRequest


#: compute units of whole devices -> architecture
_DEVICES: Final = {304: "gfx942", 80: "gfx942", 228: "gfx942", 256: "gfx950", 104: "gfx90a", 110: "gfx90a"}
#: largest share of wrong elements that the tuner accepts
_MOST_WRONG: Final = 0.05
#: integers, as pandas reads a column of numbers
_INTEGER: Final = re.compile(r"[ \t]*[+-]?\d{1,18}[ \t]*")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Columns of one kind of tables."""

    label: str
    #: columns of the key by which rows are looked up, in order
    key: tuple[str, ...]
    #: columns of times, in microseconds
    times: tuple[str, ...] = ("us",)
    #: true if rows name kernels of the lists by number and name
    has_kernel: bool = True

    @property
    def needed(self) -> set[str]:
        """Columns without which the table is not of this kind."""
        return {*self.key, "us", *(["kernelId"] if self.has_kernel else [])}


_SIZES: Final = ("M", "N", "K")
_MOE: Final = (
    *("cu_num", "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype"),
    *("q_dtype_a", "q_dtype_w", "q_type", "use_g1u1", "doweight_stage1"),
)
_PLAIN: Final = ("M", "N", "K", "bias", "dtype", "outdtype", "scaleAB", "cu_num")
#: columns of keys that hold texts
_TEXTS: Final = frozenset(
    ("act_type", "dtype", "q_dtype_a", "q_dtype_w", "q_type", "bias", "outdtype", "scaleAB", "gfx")
)
#: kinds of tables, those with more columns of the key first
_LAYOUTS: Final = (
    TableLayout("fused experts", _MOE, ("us", "us1", "us2"), has_kernel=False),
    TableLayout("products of several libraries", _PLAIN, has_kernel=False),
    TableLayout("products, with gfx", ("gfx", "cu_num", *_SIZES)),
    TableLayout("preshuffled products", ("cu_num", *_SIZES, "q_dtype_w")),
    TableLayout("batched products", ("cu_num", "B", *_SIZES)),
    TableLayout("products", ("cu_num", *_SIZES)),
)


@dataclass(frozen=True, slots=True)
class TunedRow:
    """One row."""

    line: int
    cells: Mapping[str, str]
    text: str
    #: why it is no row of its table
    problem: str = ""


def _kind_of(data: bytes) -> tuple[TableLayout | None, list[str]]:
    """Return the kind of a table, ``None`` for another one, and the names of its columns."""
    line = data.removeprefix(_BOM).partition(b"\n")[0].decode("utf-8", errors="replace")
    header = line.rstrip("\r").split(",")
    return next((layout for layout in _LAYOUTS if layout.needed <= set(header)), None), header


def _read_table(path: Path) -> tuple[TableLayout, list[TunedRow]]:
    """Return the columns and the rows of a table.

    :raises InputError: the file cannot be read, or is no such table.
    """
    data = read_file(path)
    layout, header = _kind_of(data)
    if layout is None:
        raise InputError("has not the columns of a table of tuned kernels", path, 1)
    text = data.removeprefix(_BOM).decode("utf-8", errors="replace")
    return layout, list(_rows(text, header))


def _rows(text: str, header: list[str]) -> Iterator[TunedRow]:
    lines = text.split("\n")
    for number, line in enumerate(lines[1:], 2):
        stripped = line.rstrip("\r")
        if not stripped.strip():
            continue
        try:
            (cells,) = csv.reader(io.StringIO(stripped.replace("\r", " ")))
        except (csv.Error, ValueError):
            yield TunedRow(number, {}, stripped, "the row cannot be read as CSV")
            continue
        problem = ""
        if len(cells) != len(header):
            problem = f"{len(cells)} cells, the header has {len(header)}"
            problem += ": pandas rejects the whole table" if len(cells) > len(header) else ""
        yield TunedRow(number, dict(zip(header, cells, strict=False)), stripped, problem)


def _integer(text: str) -> int | None:
    """Return a cell as pandas reads it in a column of integers; ``None`` if it is none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def _number(text: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        return None


#: architecture -> how torch calls its fp8 type, as the key spells it
_FP8: Final = {"gfx942": "torch.float8_e4m3fnuz", "gfx950": "torch.float8_e4m3fn"}
#: what a name says of its kernel: block and tile, pipeline
_TILE: Final = re.compile(r"_(?P<block>\d+)x(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_")
#: kernels that are written in assembler have mangled names
_MANGLED: Final = "_ZN"
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]


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

    def remark(self, row: TunedRow) -> Remark:
        """Return what is wrong with a row."""
        if row.problem:
            return Reason.MALFORMED_ROW, row.problem
        key: list[str | int] = []
        for column in self._layout.key:
            cell = row.cells[column]
            value: str | int | None = cell if column in _TEXTS else _integer(cell)
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
        return None, "times and keys are in order; kernels are of several libraries"

    def _key_remark(self, cells: Mapping[str, str]) -> Remark | None:
        request = self._request
        units = _integer(cells["cu_num"]) or 0
        sizes = [_integer(cells[name]) for name in ("B", "M", "N", "K") if name in self._layout.key]
        if any(size is None or size < 1 for size in sizes) or units < 1:
            return Reason.NEVER_HIT, "no product has a size, and no device compute units, below 1"
        arch = cells.get("gfx", "") or _DEVICES.get(units, "")
        if request.compute_units and units != request.compute_units:
            message = (
                f"the row is of {units} compute units, lookups on the device have {request.compute_units}"
            )
            return Reason.WRONG_DEVICE, message
        if request.arch and arch and arch != request.arch:
            return Reason.WRONG_DEVICE, f"the row is of {arch}, not {request.arch}"
        if "gfx" in cells and _DEVICES.get(units, arch) != arch and units not in (32, 64, 128):
            return (
                Reason.WRONG_DEVICE,
                f"{cells['gfx']} with {units} compute units, which {_DEVICES[units]} has",
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
            time_us = _number(cells[column])
            if time_us is None:
                return Reason.MALFORMED_VALUE, f"{column} is {cells[column]!r}, expected a time"
            if not math.isfinite(time_us) or time_us < 0 or (time_us == 0 and column == "us"):
                return Reason.WRONG_TIME, f"{column} is {cells[column]}"
        share = _number(cells.get("errRatio", "0"))
        if share is not None and share > _MOST_WRONG:
            message = f"{share:.1%} of the elements were wrong; the tuner accepts {_MOST_WRONG:.0%}"
            return Reason.WRONG_RESULT, message
        return None

    def _kernel_remark(self, cells: Mapping[str, str]) -> Remark:
        id_, name = _integer(cells["kernelId"]), cells.get("kernelName", "")
        if id_ is None:
            return Reason.MALFORMED_VALUE, f"kernelId is {cells['kernelId']!r}, expected a number"
        if name.startswith(_MANGLED) or cells.get("libtype", "ck") not in ("ck", ""):
            return None, "a kernel in assembler or of another library: number and name not looked up"
        splits = _split_problem(cells, name)
        if splits:
            return Reason.WRONG_SPLIT, splits
        if not self._lists:
            return None, "key and figures are in order; no --tree with lists of kernels"
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
            return None, "number and name are those of the tree"
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
    exponent = _integer(cells["splitK"])
    if exponent is None or not 0 <= exponent <= 30:
        return f"splitK is {cells['splitK']!r}, expected the exponent of the number of splits"
    tile, length = _TILE.search(name), _integer(cells["K"])
    if tile is None or length is None or exponent == 0:
        return ""
    steps = -(-length // int(tile["k"]))
    if 1 << exponent > steps:
        return f"{1 << exponent} splits of {steps} steps along K"
    return ""


def _unmet(cells: Mapping[str, str], name: str) -> str:
    """Return the condition of the kernel that sizes do not meet: of its pipeline, which reads steps ahead."""
    tile, length = _TILE.search(name), _integer(cells["K"])
    exponent = _integer(cells.get("splitK", "0")) or 0
    stages = {"v3": 2, "v4": 3, "v5": 3}.get(name.rpartition("_")[2], 0)
    if tile is None or length is None or not stages:
        return ""
    step = int(tile["k"])
    steps = -(-length // (step << exponent))
    if steps <= stages:
        return f"the pipeline reads {stages} steps of {step} ahead and needs more: K = {length} has {steps}"
    return ""


class Aiter:
    """Tables of tuned matrix products, of both generations; times of its other tables."""

    id = "aiter"
    label = "AITER: CSV tables of tuned matrix products, with and without gfx"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file begins with the columns of such a table."""
        return _kind_of(head)[0] is not None

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as AITER's loader and generator read it.

        :raises InputError: the file is no table of AITER's, or the tree cannot be read.
        """
        layout, rows = _read_table(request.path)
        judge = _TableJudge(request, layout)
        for row in rows:
            judge.audit.find(*judge.remark(row), row.line, row.text[:160])
        for column, line in judge.poisoned.items():
            message = f"line {line} has no number in column {column}: pandas reads the column as texts"
            judge.audit.find(Reason.NEVER_HIT, f"{message}, and no row is hit", text=request.path.name)
        judge.audit.entries = len(rows)
        return judge.audit

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
        layout, rows = _read_table(path)
        if not layout.has_kernel:
            raise InputError(f"is a table of {layout.label}, whose rows are no products of one kernel", path)
        session = Session.of_file(path, path.read_bytes(), "AITER table", hints.tags)
        for sequence, row in enumerate(rows):
            cells = row.cells
            sizes = [_integer(cells.get(name, "1")) or 0 for name in ("B", "M", "N", "K", "cu_num")]
            time_us = _number(cells.get("us", ""))
            if row.problem or time_us is None or not math.isfinite(time_us) or time_us <= 0 or min(sizes) < 1:
                continue
            batch, m, n, k, units = sizes
            name = cells.get("kernelName") or f"kernel {cells['kernelId']}"
            share = _number(cells.get("errRatio", "0"))
            wrong = share is not None and share > _MOST_WRONG
            exponent = _integer(cells.get("splitK", "0")) or 0
            # the beginning of a kernel's name says the type of its operands; other ones are of several types
            dtype = hints.dtype or (DataType.BF16 if name.startswith("bf16_") else None)
            yield imported_attempt(
                session,
                sequence,
                DeviceKey(
                    target=hints.target,
                    model=hints.device,
                    arch=hints.arch or cells.get("gfx", "") or _DEVICES.get(units, ""),
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
