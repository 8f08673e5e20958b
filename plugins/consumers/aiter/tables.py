"""AITER's tables of tuned kernels: their kinds, rows and keys, as its own readers have them.

Most readers are pandas: a missing last cell is NaN, one text in a column of numbers makes texts of all cells,
rows that are alike in all cells are one, and different rows of one key end the reader. Tables of a name that
lie in ``configs`` and ``model_configs`` are merged first; then rows of one key end the start.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers.audit import digest_of, read_file

if TYPE_CHECKING:
    from pathlib import Path

_BOM: Final = b"\xef\xbb\xbf"
#: a number as pandas reads it; more digits make a column of texts
_NUMBER: Final = re.compile(r"[ \t]*[+-]?(?:\d{1,18}\.?\d{0,18}|\.\d{1,18})(?:[eE][+-]?\d{1,3})?[ \t]*")
_ENDLESS: Final = re.compile(r"[ \t]*[+-]?inf(?:inity)?[ \t]*", re.IGNORECASE)
_BOOLEANS: Final = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
#: cells that pandas takes for missing ones
_MISSING: Final = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)
#: columns of keys that hold texts, and those that hold True or False
_TEXTS: Final = frozenset(
    ("gfx", "act_type", "dtype", "outdtype", "q_dtype_a", "q_dtype_w", "q_type", "gate_mode")
)
_FLAGS: Final = frozenset(("bias", "scaleAB", "bpreshuffle"))
#: compute units of whole devices -> architectures that have them
DEVICES: Final[Mapping[int, tuple[str, ...]]] = {
    **{304: ("gfx942",), 228: ("gfx942",), 80: ("gfx942",)},
    **{256: ("gfx950", "gfx1250"), 128: ("gfx950",), 96: ("gfx1250",)},
    **{104: ("gfx90a",), 110: ("gfx90a",)},
}
#: compute units -> architecture that readers fill in where a row of them has none
_FILLED: Final = {256: "gfx950", 304: "gfx942", 80: "gfx942"}
#: what readers of experts pass over: rows for another use, by their tag
FALLBACK_TAG: Final = "flydsl_fallback"


@dataclass(frozen=True, slots=True)
class TableKind:
    """One kind of tables."""

    label: str
    #: columns of the reader's key; of ``optional`` ones those that a table has
    key: tuple[str, ...]
    optional: tuple[str, ...] = ("gfx",)
    #: columns of times, in microseconds
    times: tuple[str, ...] = ("us",)
    #: columns of the names of kernels
    kernels: tuple[str, ...] = ("kernelName",)
    #: columns that the table must have besides
    others: tuple[str, ...] = ("us", "kernelId")
    #: the row of several with one key that counts: ``first``, ``fastest``, or none, and the table is rejected
    counts: str = ""
    #: keys are compared as texts, and cells that are empty fit every lookup
    as_texts: bool = False

    def columns(self, header: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of the key that a table has."""
        return tuple(name for name in self.key if name in header or name not in self.optional)

    def fits(self, header: set[str]) -> bool:
        """Say whether a table of these columns is of this kind."""
        return {*self.key, *self.others}.difference(self.optional) <= header


_DEVICE: Final = ("gfx", "cu_num")
_SIZES: Final = ("M", "N", "K")
_EXPERTS: Final = (*_DEVICE, "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype")
_EXPERTS_TYPED: Final = (*_EXPERTS, "q_dtype_a", "q_dtype_w", "q_type")
_FMOE: Final = (*_EXPERTS_TYPED, "use_g1u1", "doweight_stage1")
_STAGES: Final = ("kernelName1", "kernelName2")
#: kinds of tables, those with more columns first
_KINDS: Final = (
    TableKind(
        "fused experts with shared ones",
        (*_FMOE, "shared_expert_id", "hidden_pad", "intermediate_pad", "gate_mode"),
        times=(),
        kernels=_STAGES,
        others=_STAGES,
    ),
    TableKind(
        "grouped experts",
        _EXPERTS_TYPED,
        kernels=_STAGES,
        others=("us", "tile_m", *_STAGES),
        counts="fastest",
        as_texts=True,
    ),
    TableKind("fused experts", _FMOE, ("gfx",), ("us", "us1", "us2"), _STAGES, ("us",), "first"),
    TableKind(
        "products of several libraries",
        (*_DEVICE, *_SIZES, "bias", "dtype", "outdtype", "scaleAB", "bpreshuffle"),
        ("gfx", "bpreshuffle"),
        others=("us",),
    ),
    TableKind("batched products of scaled blocks", ("gfx", "b", "m", "n", "k"), ()),
    TableKind("preshuffled products", (*_DEVICE, *_SIZES, "q_dtype_w")),
    TableKind("batched products", (*_DEVICE, "B", *_SIZES)),
    TableKind("products", (*_DEVICE, *_SIZES)),
)
#: parts of file names by which AITER finds the tables that it reads as one
_NAMES: Final = (
    *("a8w8_tuned_gemm", "a8w8_bpreshuffle_tuned_gemm", "a8w8_blockscale_tuned_gemm", "bf16_tuned_gemm"),
    *("a8w8_blockscale_bpreshuffle_tuned_gemm", "a4w4_blockscale_tuned_gemm", "a8w8_tuned_batched_gemm"),
    *("bf16_tuned_batched_gemm", "tuned_fmoe", "tuned_fhmoe", "tuned_grouped_fmoe"),
)


@dataclass(slots=True)
class TunedRow:
    """One row."""

    line: int
    #: name of a column -> cell; empty where the row ends before
    cells: Mapping[str, str]
    text: str
    #: why it is no row of its table
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """One file."""

    kind: TableKind
    #: columns of the key
    key: tuple[str, ...]
    header: tuple[str, ...]
    rows: Sequence[TunedRow]
    #: of the file's content
    digest: str


def _header(data: bytes) -> tuple[str, ...]:
    line = data.removeprefix(_BOM).partition(b"\n")[0].decode("utf-8", errors="replace")
    return tuple(line.rstrip("\r").split(","))


def kind_of(data: bytes) -> TableKind | None:
    """Return the kind of a table; ``None`` for another file."""
    header = set(_header(data))
    return next((kind for kind in _KINDS if kind.fits(header)), None)


def read_table(path: Path) -> Table:
    """Return a table.

    :raises InputError: the file cannot be read, or is no such table.
    """
    data = read_file(path)
    kind, header = kind_of(data), _header(data)
    if kind is None:
        raise InputError("has not the columns of a table of tuned kernels", path, 1)
    text = data.removeprefix(_BOM).decode("utf-8", errors="replace")
    return Table(kind, kind.columns(header), header, list(_rows(text, header)), digest_of(data))


def _rows(text: str, header: Sequence[str]) -> Iterator[TunedRow]:
    for number, line in enumerate(text.split("\n")[1:], 2):
        stripped = line.rstrip("\r")
        if not stripped.strip():
            continue
        try:
            cells = stripped.split(",")
            if '"' in stripped:
                (cells,) = csv.reader(io.StringIO(stripped.replace("\r", " ")), strict=True)
        except (csv.Error, ValueError):
            yield TunedRow(number, {}, stripped, "the row cannot be read as CSV")
            continue
        problem = ""
        if len(cells) > len(header):
            problem = f"{len(cells)} cells, the header has {len(header)}: pandas rejects the whole table"
        cells += [""] * (len(header) - len(cells))
        yield TunedRow(number, dict(zip(header, cells, strict=False)), stripped, problem)


def merged_as(path: Path) -> tuple[Path, str] | None:
    """Return folder and name of what AITER reads a table as part of; ``None`` for a table by itself."""
    if "untuned" in path.name:
        return None
    name = next((one for one in _NAMES if one in path.stem), "")
    folder = path.absolute().parent
    folder = folder.parent if folder.name == "model_configs" else folder
    return (folder, name) if name else None


def number(text: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        return None


@lru_cache(maxsize=1 << 14)
def integer(text: str) -> int | None:
    """Return a cell as pandas reads it in a column of integers; ``None`` if it is none."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value) or value != int(value):
        return None
    # more digits than a float has
    return int(text) if text.strip().lstrip("+-").isdigit() else int(value)


def is_missing(text: str) -> bool:
    """Say whether pandas takes a cell for a missing one."""
    return text in _MISSING


class WrongCellError(Exception):
    """A cell of a key that no lookup has."""

    def __init__(self, column: str, message: str, *, poisons: bool) -> None:
        super().__init__(f"{column} {message}")
        self.column = column
        #: pandas reads all cells of the column as texts because of it
        self.poisons = poisons


def key_cell(column: str, text: str) -> str | int:
    """Return a cell of a key as pandas reads it in a column like those of shipped tables.

    :raises WrongCellError: no lookup has it.
    """
    if is_missing(text):
        raise WrongCellError(column, "is empty", poisons=False)
    if column in _TEXTS:
        return text
    if column in _FLAGS:
        if text not in _BOOLEANS:
            raise WrongCellError(column, f"is {text!r}, expected True or False", poisons=True)
        return _BOOLEANS[text]
    value = integer(text)
    if value is None:
        is_number = _NUMBER.fullmatch(text) or _ENDLESS.fullmatch(text)
        raise WrongCellError(column, f"is {text!r}, expected an integer", poisons=not is_number)
    return value


def architectures(cells: Mapping[str, str]) -> tuple[str, ...]:
    """Return the architectures that a row can be of."""
    named = cells.get("gfx", "").strip()
    if not is_missing(named) and named != "0":
        return (named,)
    return DEVICES.get(integer(cells.get("cu_num", "")) or 0, ())


def filled_gfx(cells: Mapping[str, str]) -> str:
    """Return the architecture that merges and readers of experts give a row; empty: the running device's."""
    named = cells.get("gfx", "")
    if not is_missing(named) and named != "0":
        return named
    return _FILLED.get(integer(cells.get("cu_num", "")) or 0, "")
