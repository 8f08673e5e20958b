"""What rows of a store may hold: columns, types and limits of each table, and the digest of each row.

SQLite keeps whatever a cell is given, and a disk returns what it likes. Every row that is read is compared
with its type here and with the digest that was stored with it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from ckprof.model.outcome import Status
from ckprof.store.errors import DamagedRow
from ckprof.store.schema import table_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

_LARGEST: Final = sys.float_info.max
#: the year 10000: what calendars can show ends before it
_LAST_SECOND: Final = 253_402_300_799.0

Number = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
#: milliseconds
Time = Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
Finite = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
#: seconds since the epoch
Moment = Annotated[float, msgspec.Meta(ge=0, le=_LAST_SECOND)]


class InstanceRow(msgspec.Struct, array_like=True, frozen=True):
    """An instance."""

    id: Number
    key: str
    dtype: str
    layout: str
    body: str


class ContextRow(msgspec.Struct, array_like=True, frozen=True):
    """What all measurements of a ranking share."""

    id: Number
    operation_id: Number
    device_id: Number
    toolchain_id: Number
    method_id: Number
    dtype: str
    layout: str


class MeasurementRow(msgspec.Struct, array_like=True, frozen=True):
    """A measurement and the figures of its attempts."""

    id: Number
    context_id: Number
    problem_id: Number
    kernel_id: Number
    split_k: int
    status: Status
    attempts: Count
    ranked: Count
    pruned: Count
    time_ms: Time | None
    low_ms: Time | None
    high_ms: Time | None
    min_ms: Time | None


class AttemptRow(msgspec.Struct, array_like=True, frozen=True):
    """An attempt without its samples."""

    id: Number
    measurement_id: Number
    session_id: Number
    sequence: Count
    status: Status
    reason_id: Number | None
    requirements_id: Number | None
    split_chosen: int | None
    workspace_bytes: Count | None
    marks_id: Number | None
    time_ms: Time | None
    spread_ms: Amount | None
    min_ms: Time | None
    mean_ms: Time | None
    samples: Count | None
    stopped_by_id: Number | None
    max_error: Amount | None
    wrong_elements: Count | None
    tolerance_id: Number | None
    started: Moment
    round: Count
    position: Count
    wall_s: Amount | None
    load: Amount | None
    clock_mhz: Amount | None
    temperature_c: Finite | None
    extra: str | None


class BaselineRow(msgspec.Struct, array_like=True, frozen=True):
    """What became of a baseline, see :class:`~ckprof.store.baselines.BaselineAttempt`."""

    id: Number
    session_id: Number
    sequence: Count
    baseline: str
    description_id: Number | None
    operation_id: Number
    problem_id: Number
    device_id: Number
    method_id: Number
    dtype: str
    layout: str
    status: Status
    reason_id: Number | None
    time_ms: Time | None
    spread_ms: Amount | None
    max_error: Amount | None
    wrong_elements: Count | None
    started: Moment


#: a part of a key, or a text: its number and what it is
BodyRow: TypeAlias = tuple[Number, str]
#: a session: its number, its uid, when it began, and what else is known of it
SessionRow: TypeAlias = tuple[Number, str, Moment, str]
#: a kernel: its number, that of its instance, and the digest of the object that ran
KernelRow: TypeAlias = tuple[Number, Number, str]
#: number of an attempt, and its raw samples
SamplesRow: TypeAlias = tuple[Number, bytes]

#: table -> type of its rows, whose cells the digest covers; tables that others refer to come first
ROW_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("operations", "problems", "devices", "toolchains", "methods", "texts"), BodyRow),
    "sessions": SessionRow,
    "instances": InstanceRow,
    "kernels": KernelRow,
    "contexts": ContextRow,
    "measurements": MeasurementRow,
    "attempts": AttemptRow,
    "samples": SamplesRow,
    "baselines": BaselineRow,
}


@cache
def columns_of(table: str) -> tuple[str, ...]:
    """Return the names of the columns that the digest of a row covers, that of its number first."""
    return tuple(name for name in table_columns(table) if name != "digest")


def insertion(table: str) -> str:
    """Return the statement that adds a row with its digest."""
    names = (*columns_of(table), "digest")
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608


def selected(table: str, alias: str = "") -> str:
    """Return the columns of a row and its digest, as :func:`read_row` expects them, for a ``SELECT``."""
    prefix = f"{alias}." if alias else ""
    names = [f"{prefix}{name}" for name in columns_of(table)]
    return ", ".join([*names, f"{prefix}digest"])


_COLUMN: Final = re.compile(r" - at `\$\[(\d+)\]`$")


def read_row(table: str, cells: tuple[Any, ...]) -> Any:
    """Return a row, of the type that :data:`ROW_TYPES` has for the table.

    :param cells: those of :func:`selected`.
    :raises DamagedRow: a cell holds what its column cannot, or the row is not the one that was stored.
    """
    row = typed_row_of(table, cells)
    damage = digest_damage(table, cells)
    if damage is not None:
        raise damage
    return row


def typed_row_of(table: str, cells: tuple[Any, ...]) -> Any:
    """Return a row without comparing its digest.

    :param cells: those of :func:`selected`.
    :raises DamagedRow: a cell holds what its column cannot.
    """
    try:
        return msgspec.convert(cells[:-1], ROW_TYPES[table])
    except msgspec.ValidationError as exc:
        found = _COLUMN.search(str(exc))
        index = int(found[1]) if found else 0
        text = f"{_COLUMN.sub('', str(exc))}, found {cells[index]!r:.60}"
        raise DamagedRow(table, cells[0], columns_of(table)[index], text) from None


def digest_damage(table: str, cells: tuple[Any, ...]) -> DamagedRow | None:
    """Return what is wrong with the digest of a row, if anything.

    :param cells: those of :func:`selected`.
    """
    if cells[-1] is not None and cells[-1] == row_digest(table, cells[:-1]):
        return None
    return DamagedRow(table, cells[0], "", "is not what was stored: its digest differs")


def row_digest(table: str, cells: tuple[Any, ...]) -> int | None:
    """Return 64 bits over the name of a table and the cells of a row; ``None`` where these are no such cells.

    A digest of 64 bits overlooks a damaged row once in 2**64: it is against accidents, not against forgers.
    """
    try:
        data = msgspec.msgpack.encode((table, *cells))
    except ValueError:  # text that is not UTF-8
        return None
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def cells_of(row: AttemptRow) -> tuple[Any, ...]:
    """Return the cells of a row as SQLite will give them back."""
    cells = msgspec.structs.astuple(row)
    return tuple(cell.value if isinstance(cell, Status) else cell for cell in cells)


def store_digest(connection: sqlite3.Connection, table: str, number: int) -> None:
    """Store the digest of a row as it is now, if there is such a row."""
    names = columns_of(table)
    cells = connection.execute(
        f"SELECT {', '.join(names)} FROM {table} WHERE {names[0]} = ?",  # noqa: S608
        (number,),
    ).fetchone()
    if cells is None:
        return
    connection.execute(
        f"UPDATE {table} SET digest = ? WHERE {names[0]} = ?",  # noqa: S608
        (row_digest(table, cells), number),
    )


def store_digests(connection: sqlite3.Connection, after: Mapping[str, int]) -> None:
    """Store the digests of rows as they are now.

    :param after: table -> number of the row behind which this begins.
    """
    for table in ROW_TYPES:
        names = columns_of(table)
        first = after[table] + 1
        rows = connection.execute(
            f"SELECT {', '.join(names)} FROM main.{table} WHERE {names[0]} >= ?",  # noqa: S608
            (first,),
        ).fetchall()
        connection.executemany(
            f"UPDATE main.{table} SET digest = ? WHERE {names[0]} = ?",  # noqa: S608
            ((row_digest(table, cells), cells[0]) for cells in rows),
        )


def damaged_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield what is wrong with rows, each looked at on its own."""
    for table in ROW_TYPES:
        for cells in connection.execute(f"SELECT {selected(table)} FROM {table}"):  # noqa: S608
            try:
                read_row(table, cells)
            except DamagedRow as exc:
                yield exc
