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
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.model.types import DataType
from ckprof.store.attempt import Attempt, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.formats import ImportHints
    from ckprof_plugins.consumers.records import AuditRequest, ConsumerFiles, ExportRequest, FileAudit


#: compute units of whole devices -> architecture
DEVICES: Final = {304: "gfx942", 80: "gfx942", 228: "gfx942", 256: "gfx950", 104: "gfx90a", 110: "gfx90a"}
#: largest share of wrong elements that the tuner accepts
MOST_WRONG: Final = 0.05
#: integers, as pandas reads a column of numbers
_INTEGER: Final = re.compile(r"[ \t]*[+-]?\d{1,18}[ \t]*")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """Columns of one kind of tables."""

    label: str
    #: columns of the key by which rows are looked up, in order
    key: tuple[str, ...]
    #: columns without which the table is not of this kind
    needed: tuple[str, ...]
    #: columns of times, in microseconds
    times: tuple[str, ...] = ("us",)
    #: true if rows name kernels of the lists by number and name
    has_kernel: bool = True
    #: columns of the key that hold texts
    texts: tuple[str, ...] = ()


_SIZES: Final = ("M", "N", "K")
_MOE: Final = (
    *("cu_num", "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype"),
    *("q_dtype_a", "q_dtype_w", "q_type", "use_g1u1", "doweight_stage1"),
)
_PLAIN: Final = ("M", "N", "K", "bias", "dtype", "outdtype", "scaleAB", "cu_num")
#: kinds of tables, those with more columns of the key first
LAYOUTS: Final = (
    TableLayout(
        label="fused experts",
        key=_MOE,
        needed=(*_MOE, "us"),
        times=("us", "us1", "us2"),
        has_kernel=False,
        texts=("act_type", "dtype", "q_dtype_a", "q_dtype_w", "q_type"),
    ),
    TableLayout(
        label="products of several libraries",
        key=_PLAIN,
        needed=(*_PLAIN, "us"),
        has_kernel=False,
        texts=("bias", "dtype", "outdtype", "scaleAB"),
    ),
    TableLayout(
        label="products, with gfx",
        key=("gfx", "cu_num", *_SIZES),
        needed=("gfx", "cu_num", *_SIZES, "kernelId", "us"),
        texts=("gfx",),
    ),
    TableLayout(
        label="preshuffled products",
        key=("cu_num", *_SIZES, "q_dtype_w"),
        needed=("cu_num", *_SIZES, "q_dtype_w", "kernelId", "us"),
        texts=("q_dtype_w",),
    ),
    TableLayout(
        label="batched products",
        key=("cu_num", "B", *_SIZES),
        needed=("cu_num", "B", *_SIZES, "kernelId", "us"),
    ),
    TableLayout(label="products", key=("cu_num", *_SIZES), needed=("cu_num", *_SIZES, "kernelId", "us")),
)


@dataclass(frozen=True, slots=True)
class TunedRow:
    """One row."""

    line: int
    cells: Mapping[str, str]
    text: str
    #: why it is no row of its table
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TunedTable:
    """A table with its rows."""

    layout: TableLayout
    header: tuple[str, ...]
    rows: tuple[TunedRow, ...]


def layout_of(header: tuple[str, ...]) -> TableLayout | None:
    """Return the kind of a table; ``None`` for another one."""
    names = set(header)
    return next((layout for layout in LAYOUTS if names.issuperset(layout.needed)), None)


def header_of(data: bytes) -> tuple[str, ...]:
    """Return the names of the columns."""
    line = data.removeprefix(_BOM).partition(b"\n")[0].decode("utf-8", errors="replace")
    return tuple(line.rstrip("\r").split(","))


def read_table(path: Path) -> TunedTable:
    """Return the rows of a table.

    :raises InputError: the file cannot be read, or is no such table.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    header = header_of(data)
    layout = layout_of(header)
    if layout is None:
        raise InputError("has not the columns of a table of tuned kernels", path, 1)
    text = data.removeprefix(_BOM).decode("utf-8", errors="replace")
    return TunedTable(layout, header, tuple(_rows(text, header)))


def _rows(text: str, header: tuple[str, ...]) -> Iterator[TunedRow]:
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


def measurements(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield an attempt for each row in order; what is not is left to the audit.

    :raises InputError: the file cannot be read, or its rows are no plain products.
    """
    table = read_table(path)
    if not table.layout.has_kernel:
        raise InputError(
            f"is a table of {table.layout.label}, whose rows are no products of one kernel", path
        )
    session = Session.of_file(path, path.read_bytes(), "AITER table", hints.tags)
    for sequence, row in enumerate(table.rows):
        sizes = {name: integer(row.cells.get(name, "1")) for name in ("B", "M", "N", "K", "cu_num")}
        time_us = number(row.cells.get("us", ""))
        if row.problem or time_us is None or not math.isfinite(time_us) or time_us <= 0:
            continue
        if any(size is None or size < 1 for size in sizes.values()):
            continue
        yield _attempt(row.cells, sizes, time_us / 1e3, hints, session, sequence)


def _attempt(
    cells: Mapping[str, str],
    sizes: Mapping[str, int | None],
    time_ms: float,
    hints: ImportHints,
    session: Session,
    sequence: int,
) -> Attempt:
    name = cells.get("kernelName") or f"kernel {cells['kernelId']}"
    units = sizes["cu_num"] or 0
    share = number(cells.get("errRatio", "0"))
    wrong = share is not None and share > MOST_WRONG
    exponent = integer(cells.get("splitK", "0")) or 0
    dtype = hints.dtype or next((one for start, one in _TYPES.items() if name.startswith(start)), None)
    measurement = Measurement(
        median_ms=time_ms, spread_ms=0.0, min_ms=time_ms, mean_ms=time_ms, samples=1, stopped_by=""
    )
    problem = GemmProblem(m=sizes["M"] or 1, n=sizes["N"] or 1, k=sizes["K"] or 1, batch=sizes["B"] or 1)
    return Attempt(
        key=MeasurementKey(
            operation=OperationKey(direction=_PRODUCT),
            problem=problem,
            split_k=1 << min(max(exponent, 0), 20),
            kernel=KernelKey(instance=f"name:{name} {dtype.value if dtype else ''}"),
            device=DeviceKey(
                target=hints.target,
                model=hints.device,
                arch=hints.arch or cells.get("gfx", "") or DEVICES.get(units, ""),
                compute_units=units,
            ),
            toolchain=ToolchainKey(),
            method=MethodKey(clock="", version=0, cache=""),
        ),
        session=session,
        sequence=sequence,
        kernel=KernelRef(name=name, dtype=dtype, layout=hints.layout or _LAYOUT),
        status=Status.WRONG_RESULT if wrong else Status.OK,
        reason=f"{share:.1%} of the elements were wrong when it was tuned" if wrong else "",
        measurement=None if wrong else measurement,
        conditions=Conditions(started=session.started, order=sequence),
    )


class Aiter:
    """Tables of tuned matrix products, of both generations; times of its other tables."""

    id = "aiter"
    label = "AITER: CSV tables of tuned matrix products, with and without gfx"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file begins with the columns of such a table."""
        return layout_of(header_of(head)) is not None

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
        try:
            lines = audit.path.read_bytes().split(b"\n")
        except OSError as exc:
            raise InputError(f"cannot be read: {exc.strerror}", audit.path) from None
        wrong = {finding.line for finding in audit.findings if finding.removable}
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
        """Yield the times of a table.

        :raises InputError: the file cannot be read, or its rows are no plain products.
        """
        return measurements(path, hints)
