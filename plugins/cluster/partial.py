"""Partial stores: what one of several processes has read of shards, for the store's owner to copy.

A partial store can be made again at any time, so nothing waits for its disk. It is complete, or it is thrown
away.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.store.attempt import Mark
from ckprof.store.baselines import add_baseline
from ckprof.store.errors import StoreError, store_errors
from ckprof.store.row_types import AttemptRow, BaselineRow, last_rows, store_digests
from ckprof.store.schema import PART_TABLES, Stored, create_tables, transaction
from ckprof.store.shard import BadLine, decode_lines
from ckprof.store.writer import AttemptRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.store.writer import StoreWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorbed:
    """What was added."""

    #: numbers that their rows have in the store: from the first one to before the end, maybe with gaps
    first: int
    end: int
    #: attempts that were new, and how many of them with raw samples
    stored: Stored
    #: attempts that the store had
    known: int

    @property
    def added(self) -> int:
        """Attempts that were new."""
        return self.stored.attempts


#: pages that a copy may keep in memory, in KiB
_CACHE_KIB: Final = 128 * 1024
#: columns of an attempt but for the numbers of itself, measurement and session
COLUMNS: Final = AttemptRow.__struct_fields__[3:]
#: columns that refer to texts
_TEXTS: Final = frozenset(name for name in COLUMNS if name.endswith("_id"))
#: table -> what a row of it is known by, but for the numbers of other rows; those that others refer to first
_KNOWN_BY: Final = {
    "texts": "body",
    "sessions": "uid",
    "instances": "key",
    **dict.fromkeys(PART_TABLES, "body"),
}


@contextmanager
def attached(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Have the tables of a partial store as those of ``part``.

    Rows are found by their numbers on both sides, so that nothing refers to a missing row: looking for each
    of them again would take half of the time.
    """
    connection.execute("ATTACH ? AS part", (str(path),))
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(f"PRAGMA main.cache_size = -{_CACHE_KIB}")
        yield
    finally:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DETACH part")


def copy_rows(connection: sqlite3.Connection) -> tuple[Absorbed, set[int]]:
    """Copy what the store does not have from the attached database, inside a transaction.

    :returns: and the measurements whose figures are not those of their attempts any more.
    """
    last = last_rows(connection)
    before = last["measurements"]
    for table, name in _KNOWN_BY.items():
        columns = _columns(connection, table)
        _copy(connection, table, f"SELECT {columns} FROM part.{table} p ORDER BY p.id")  # noqa: S608
        _number(connection, table, f"JOIN main.{table} m ON m.{name} = p.{name}")
    connection.execute(
        "INSERT OR IGNORE INTO main.tags SELECT s.new, t.tag FROM part.tags t "
        "JOIN temp.new_sessions s ON s.old = t.session_id"
    )
    _copy_by_parts(connection, "kernels", {"instance_id": "instances"}, ("object_digest",))
    parts = {f"{table[:-1]}_id": table for table in PART_TABLES if table != "problems"}
    _copy_by_parts(connection, "contexts", parts, ("dtype", "layout"))
    _copy_by_parts(
        connection,
        "measurements",
        {"context_id": "contexts", "problem_id": "problems", "kernel_id": "kernels"},
        ("split_k",),
        ("status", "attempts", "ranked", "median_ms", "min_ms"),
    )
    absorbed = _copy_attempts(connection)
    _copy_baselines(connection)
    # rows have other numbers here, and refer to others
    store_digests(connection, after=last)
    # what had attempts before, or was not copied as a whole
    changed = "SELECT new FROM temp.new_measurements"
    if not absorbed.known:
        changed += f" WHERE new <= {before}"
    rows = connection.execute(changed).fetchall() if absorbed.added or absorbed.known else []
    return absorbed, {row[0] for row in rows}


def _copy_attempts(connection: sqlite3.Connection) -> Absorbed:
    last = _last(connection, "attempts")
    (count,) = connection.execute("SELECT count(*) FROM part.attempts").fetchone()
    text = "(SELECT new FROM temp.new_texts WHERE old = a.{})"
    cells = ", ".join(text.format(name) if name in _TEXTS else f"a.{name}" for name in COLUMNS)
    added = connection.execute(
        f"INSERT INTO main.attempts (id, measurement_id, session_id, {', '.join(COLUMNS)}) "  # noqa: S608
        f"SELECT a.id + {last}, m.new, s.new, {cells} FROM part.attempts a "
        "CROSS JOIN temp.new_measurements m ON m.old = a.measurement_id "
        "CROSS JOIN temp.new_sessions s ON s.old = a.session_id "
        "WHERE NOT EXISTS (SELECT 1 FROM main.attempts o "
        "WHERE o.session_id = s.new AND o.sequence = a.sequence) ORDER BY a.id"
    ).rowcount
    samples = connection.execute(
        f"INSERT INTO main.samples (attempt_id, data) SELECT p.attempt_id + {last}, p.data "  # noqa: S608
        "FROM part.samples p "
        f"WHERE EXISTS (SELECT 1 FROM main.attempts a WHERE a.id = p.attempt_id + {last}) "
        "ORDER BY p.attempt_id"
    ).rowcount
    return Absorbed(
        first=last + 1,
        end=_last(connection, "attempts") + 1,
        stored=Stored(added, samples),
        known=count - added,
    )


def _copy_baselines(connection: sqlite3.Connection) -> None:
    tables = {
        name: "texts" if name in ("description_id", "reason_id") else f"{name[:-3]}s"
        for name in BaselineRow.__struct_fields__[1:]
        if name.endswith("_id")
    }
    number = "(SELECT new FROM temp.new_{} WHERE old = p.{})"
    names = BaselineRow.__struct_fields__[1:]
    cells = (number.format(tables[name], name) if name in tables else f"p.{name}" for name in names)
    rows = f"SELECT {', '.join(cells)} FROM part.baselines p ORDER BY p.id"  # noqa: S608
    _copy(connection, "baselines", rows, ", ".join(names))


def _copy_by_parts(
    connection: sqlite3.Connection,
    table: str,
    parts: dict[str, str],
    own: tuple[str, ...],
    further: tuple[str, ...] = (),
) -> None:
    """Copy rows that are known by the numbers of others and by some cells of their own.

    :param parts: column -> table.
    """
    new = {name: f"temp.new_{other}" for name, other in parts.items()}
    joins = " ".join(f"CROSS JOIN {other} {name} ON {name}.old = p.{name}" for name, other in new.items())
    cells = ", ".join([*(f"{name}.new" for name in new), *(f"p.{name}" for name in (*own, *further))])
    columns = ", ".join([*new, *own, *further])
    _copy(connection, table, f"SELECT {cells} FROM part.{table} p {joins} ORDER BY p.id", columns)  # noqa: S608
    same = [*(f"m.{name} = {name}.new" for name in new), *(f"m.{name} = p.{name}" for name in own)]
    _number(connection, table, f"{joins} CROSS JOIN main.{table} m ON {' AND '.join(same)}")


def _copy(connection: sqlite3.Connection, table: str, rows: str, columns: str = "") -> None:
    names = columns or _columns(connection, table)
    connection.execute(f"INSERT OR IGNORE INTO main.{table} ({names}) {rows}")


def _number(connection: sqlite3.Connection, table: str, joins: str) -> None:
    """Note which number each row has in the store."""
    connection.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS new_{table} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)"
    )
    connection.execute(f"DELETE FROM temp.new_{table}")  # noqa: S608
    connection.execute(f"INSERT INTO temp.new_{table} SELECT p.id, m.id FROM part.{table} p {joins}")  # noqa: S608


def _columns(connection: sqlite3.Connection, table: str) -> str:
    """Return the columns of a table but for the number and the digest of the row."""
    names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
    return ", ".join(name for name in names if name not in ("id", "digest"))


def _last(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT coalesce(max(id), 0) FROM main.{table}").fetchone()[0])  # noqa: S608


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """The complete lines of a shard between two of its bytes; the first is where a line begins."""

    shard: str
    start: int
    end: int


class PartialContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a partial store does not hold itself."""

    #: session, sequence and mark, in the order of the lines
    marks: tuple[tuple[str, int, Mark], ...] = ()
    bad: tuple[BadLine, ...] = ()
    #: where the complete lines of each piece end
    ends: tuple[int, ...] = ()


def write_partial(path: Path, pieces: Sequence[Piece]) -> PartialContent:
    """Make a partial store of pieces of shards.

    :raises StoreError: a shard cannot be read, or the file cannot be written.
    """
    marks: list[tuple[str, int, Mark]] = []
    bad: list[BadLine] = []
    ends: list[int] = []
    path.unlink(missing_ok=True)
    with store_errors(path):
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            create_tables(connection)
            rows = AttemptRows(connection)
            with transaction(connection):
                for piece in pieces:
                    data = _read(piece)
                    ends.append(piece.start + len(data))
                    for line in decode_lines(data, Path(piece.shard), piece.start):
                        if isinstance(line, BadLine):
                            bad.append(line)
                        elif line.attempt is not None:
                            rows.add(line.attempt)
                        elif line.baseline is not None:
                            add_baseline(connection, rows.parts, line.baseline)
                        elif line.mark is not None:
                            marks.append((line.mark.session, line.mark.sequence, line.mark.mark))
                rows.sum_up_changed()
        finally:
            connection.close()
    return PartialContent(marks=tuple(marks), bad=tuple(bad), ends=tuple(ends))


def absorb(writer: StoreWriter, path: Path, content: PartialContent) -> Absorbed:
    """Add a partial store to a store; doing it again adds nothing.

    :raises StoreError: the store cannot be written; the next call adds what is missing.
    """
    with store_errors(writer.path), attached(writer.connection, path):
        with writer.transaction() as rows:
            absorbed, changed = copy_rows(writer.connection)
            rows.changed |= changed
            rows.added = rows.added.plus(absorbed.stored)
    if content.marks:
        writer.add_marks(content.marks)
    return absorbed


def _read(piece: Piece) -> bytes:
    try:
        with Path(piece.shard).open("rb") as stream:
            stream.seek(piece.start)
            data = stream.read(piece.end - piece.start)
    except OSError as exc:
        raise StoreError(f"cannot be read: {exc.strerror}", Path(piece.shard)) from None
    # a line that its writer is at, or was killed in, is left to the next piece
    return data[: data.rfind(b"\n") + 1]
