"""AITER as a consumer of tuned results: its tables, and their times as measurements."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.records import imported_attempt
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers.records import AuditRequest, ConsumerFiles, ExportRequest, FileAudit


#: compute units of whole devices -> architecture
DEVICES: Final = {304: "gfx942", 80: "gfx942", 228: "gfx942", 256: "gfx950", 104: "gfx90a", 110: "gfx90a"}
#: largest share of wrong elements that the tuner accepts
MOST_WRONG: Final = 0.05
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
TEXTS: Final = frozenset(
    ("act_type", "dtype", "q_dtype_a", "q_dtype_w", "q_type", "bias", "outdtype", "scaleAB", "gfx")
)
#: kinds of tables, those with more columns of the key first
LAYOUTS: Final = (
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
    return next((layout for layout in LAYOUTS if layout.needed <= set(header)), None), header


def read_table(path: Path) -> tuple[TableLayout, list[TunedRow]]:
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
        if len(cells) > len(header):
            problem = f"{len(cells)} cells, the header has {len(header)}: pandas rejects the whole table"
        elif len(cells) < len(header):
            problem = f"{len(cells)} cells, the header has {len(header)}"
        yield TunedRow(number, dict(zip(header, cells, strict=False)), stripped, problem)


def integer(text: str) -> int | None:
    """Return a cell as pandas reads it in a column of integers; ``None`` if it is none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def number(text: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        return None


#: id of the operation
_PRODUCT: Final = "gemm"
#: all products have A by rows and B by columns
_LAYOUT: Final = "rcr"
#: beginning of a kernel's name -> type of its operands
_TYPES: Final = {"bf16_": DataType.BF16}


class Aiter:
    """Tables of tuned matrix products, of both generations; times of its other tables."""

    id = "aiter"
    label = "AITER: CSV tables of tuned matrix products, with and without gfx"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file begins with the columns of such a table."""
        return _kind_of(head)[0] is not None

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as AITER's loader and generator read it.

        :raises InputError: the file cannot be read, or the tree has no lists.
        """
        from ckprof_plugins.consumers.aiter.audit import audit

        return audit(request)

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
        from ckprof_plugins.consumers.aiter.kernel_lists import export

        return export(request)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield an attempt for each row in order; what is not is left to the audit.

        :raises InputError: the file cannot be read, or its rows are no plain products.
        """
        layout, rows = read_table(path)
        if not layout.has_kernel:
            raise InputError(f"is a table of {layout.label}, whose rows are no products of one kernel", path)
        session = Session.of_file(path, path.read_bytes(), "AITER table", hints.tags)
        for sequence, row in enumerate(rows):
            cells = row.cells
            sizes = [integer(cells.get(name, "1")) or 0 for name in ("B", "M", "N", "K", "cu_num")]
            time_us = number(cells.get("us", ""))
            if row.problem or time_us is None or not math.isfinite(time_us) or time_us <= 0 or min(sizes) < 1:
                continue
            batch, m, n, k, units = sizes
            name = cells.get("kernelName") or f"kernel {cells['kernelId']}"
            share = number(cells.get("errRatio", "0"))
            wrong = share is not None and share > MOST_WRONG
            exponent = integer(cells.get("splitK", "0")) or 0
            dtype = hints.dtype or next(
                (one for start, one in _TYPES.items() if name.startswith(start)), None
            )
            yield imported_attempt(
                session,
                sequence,
                DeviceKey(
                    target=hints.target,
                    model=hints.device,
                    arch=hints.arch or cells.get("gfx", "") or DEVICES.get(units, ""),
                    compute_units=units,
                ),
                _PRODUCT,
                GemmProblem(m=m, n=n, k=k, batch=batch),
                name,
                dtype=dtype,
                spelled_type=dtype.value if dtype else "",
                layout=hints.layout or _LAYOUT,
                time_ms=time_us / 1e3,
                split_k=1 << min(max(exponent, 0), 20),
                wrong=f"{share:.1%} of the elements were wrong when it was tuned" if wrong else "",
            )
