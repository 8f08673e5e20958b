"""Rows of AITER's tables of tuned kernels: columns, keys, and what pandas makes of cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: integers, as pandas reads a column of numbers
_INTEGER: Final = re.compile(r"[ \t]*[+-]?\d{1,18}[ \t]*")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
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
    Layout(
        label="fused experts",
        key=_MOE,
        needed=(*_MOE, "us"),
        times=("us", "us1", "us2"),
        has_kernel=False,
        texts=("act_type", "dtype", "q_dtype_a", "q_dtype_w", "q_type"),
    ),
    Layout(
        label="products of several libraries",
        key=_PLAIN,
        needed=(*_PLAIN, "us"),
        has_kernel=False,
        texts=("bias", "dtype", "outdtype", "scaleAB"),
    ),
    Layout(
        label="products, with gfx",
        key=("gfx", "cu_num", *_SIZES),
        needed=("gfx", "cu_num", *_SIZES, "kernelId", "us"),
        texts=("gfx",),
    ),
    Layout(
        label="preshuffled products",
        key=("cu_num", *_SIZES, "q_dtype_w"),
        needed=("cu_num", *_SIZES, "q_dtype_w", "kernelId", "us"),
        texts=("q_dtype_w",),
    ),
    Layout(
        label="batched products",
        key=("cu_num", "B", *_SIZES),
        needed=("cu_num", "B", *_SIZES, "kernelId", "us"),
    ),
    Layout(label="products", key=("cu_num", *_SIZES), needed=("cu_num", *_SIZES, "kernelId", "us")),
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

    layout: Layout
    header: tuple[str, ...]
    rows: tuple[TunedRow, ...]


def layout_of(header: tuple[str, ...]) -> Layout | None:
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
