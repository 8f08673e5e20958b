"""Partial stores: what one of several processes has read of shards, for the store's owner to copy.

A partial store can be made again at any time, so nothing waits for its disk. It is complete, or it is thrown
away.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from ckprof.errors import ToolchainError, system_errors
from ckprof.kernels.units import available_cpus
from ckprof.private_folders import checked, private_folder
from ckprof.store.attempt import Mark
from ckprof.store.baselines import add_baseline
from ckprof.store.errors import StoreError, store_errors
from ckprof.store.row_types import ROW_TYPES, AttemptRow, BaselineRow, columns_of, store_digests
from ckprof.store.schema import PART_TABLES, create_tables, transaction
from ckprof.store.shard import BadLine
from ckprof.store.writer import AttemptRows
from ckprof_plugins.cluster.engines import Pool, Slot
from ckprof_plugins.cluster.local import LocalSession
from ckprof_plugins.cluster.messages import Loaded
from ckprof_plugins.cluster.pieces import decode_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckprof.store.attempt import Attempt
    from ckprof.store.writer import StoreWriter


@dataclass(slots=True, kw_only=True)
class Merged:
    """What a merge added."""

    added: list[Attempt] = field(default_factory=list)
    #: numbers in the store of what was copied from partial stores besides, with gaps; and how many that are
    copied: list[range] = field(default_factory=list)
    copied_count: int = 0
    #: attempts that the store had
    known: int = 0
    bad: list[BadLine] = field(default_factory=list)
    #: nothing was left when it ended
    complete: bool = True

    @property
    def new(self) -> int:
        """Attempts that the store did not have."""
        return len(self.added) + self.copied_count


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
def _attached(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
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


def _copy_rows(connection: sqlite3.Connection) -> tuple[Counter[str], int, set[int]]:
    """Copy what the store does not have from the attached database, inside a transaction.

    :returns: what is new, how many attempts are not, and the measurements whose figures are not those of
        their attempts any more.
    """
    last = _last_rows(connection)
    before = last["measurements"]
    for table, name in _KNOWN_BY.items():
        _copy_table(connection, table, (name,), {})
    connection.execute(
        "INSERT OR IGNORE INTO main.tags SELECT s.new, t.tag FROM part.tags t "
        "JOIN temp.new_sessions s ON s.old = t.session_id"
    )
    _copy_table(connection, "kernels", ("object_digest",), {"instance_id": "instances"})
    parts = {f"{table[:-1]}_id": table for table in PART_TABLES if table != "problems"}
    _copy_table(connection, "contexts", ("dtype", "layout"), parts)
    parts = {"context_id": "contexts", "problem_id": "problems", "kernel_id": "kernels"}
    _copy_table(connection, "measurements", ("split_k",), parts)
    stored, known = _copy_attempts(connection)
    _copy_baselines(connection)
    # rows have other numbers here, and refer to others
    store_digests(connection, after=last)
    # what had attempts before, or was not copied as a whole
    changed = "SELECT new FROM temp.new_measurements"
    if not known:
        changed += f" WHERE new <= {before}"
    rows = connection.execute(changed).fetchall() if stored["attempts"] or known else []
    return stored, known, {row[0] for row in rows}


def _copy_attempts(connection: sqlite3.Connection) -> tuple[Counter[str], int]:
    """Copy attempts with their samples; return what is new, and how many attempts are not."""
    last = _last_attempt(connection)
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
    return Counter(attempts=added, samples=samples), count - added


def _copy_baselines(connection: sqlite3.Connection) -> None:
    names = BaselineRow.__struct_fields__[1:]
    tables = {name: f"{name[:-3]}s" for name in names if name.endswith("_id")}
    tables |= dict.fromkeys(("description_id", "reason_id"), "texts")
    number = "(SELECT new FROM temp.new_{} WHERE old = p.{})"
    cells = (number.format(tables[name], name) if name in tables else f"p.{name}" for name in names)
    connection.execute(
        f"INSERT OR IGNORE INTO main.baselines ({', '.join(names)}) "  # noqa: S608
        f"SELECT {', '.join(cells)} FROM part.baselines p ORDER BY p.id"
    )


def _copy_table(
    connection: sqlite3.Connection, table: str, known_by: tuple[str, ...], parts: dict[str, str]
) -> None:
    """Copy the rows of a table, and note which number each has in the store.

    :param known_by: columns by which a row is known, besides the rows of other tables that it refers to.
    :param parts: column -> table that it refers to.
    """
    names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
    names = [name for name in names if name not in ("id", "digest")]
    joins = " ".join(
        f"CROSS JOIN temp.new_{other} {name} ON {name}.old = p.{name}" for name, other in parts.items()
    )
    cells = ", ".join(f"{name}.new" if name in parts else f"p.{name}" for name in names)
    connection.execute(
        f"INSERT OR IGNORE INTO main.{table} ({', '.join(names)}) "  # noqa: S608
        f"SELECT {cells} FROM part.{table} p {joins} ORDER BY p.id"
    )
    connection.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS new_{table} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)"
    )
    connection.execute(f"DELETE FROM temp.new_{table}")  # noqa: S608
    same = [*(f"m.{name} = {name}.new" for name in parts), *(f"m.{name} = p.{name}" for name in known_by)]
    connection.execute(
        f"INSERT INTO temp.new_{table} SELECT p.id, m.id FROM part.{table} p {joins} "  # noqa: S608
        f"CROSS JOIN main.{table} m ON {' AND '.join(same)}"
    )


def _last_attempt(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM main.attempts").fetchone()[0])


#: shard -> two of its bytes, between which its complete lines are meant; the first is where a line begins
Pieces: TypeAlias = "Mapping[str, tuple[int, int]]"


class Partial(msgspec.Struct, frozen=True, kw_only=True):
    """A partial store, and what it does not hold itself."""

    path: str
    #: session, sequence and mark, in the order of the lines
    marks: tuple[tuple[str, int, Mark], ...] = ()
    bad: tuple[BadLine, ...] = ()
    #: shard -> where the complete lines that were read end
    ends: dict[str, int] = {}


def write_partial(path: Path, pieces: Pieces) -> Partial:
    """Make a partial store of pieces of shards.

    :raises StoreError: a shard cannot be read, or the file cannot be written.
    """
    marks: list[tuple[str, int, Mark]] = []
    bad: list[BadLine] = []
    ends: dict[str, int] = {}
    path.unlink(missing_ok=True)
    with store_errors(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            create_tables(connection)
            rows = AttemptRows(connection)
            with transaction(connection):
                for shard, (start, end) in pieces.items():
                    data = _read(Path(shard), start, end)
                    ends[shard] = start + len(data)
                    for line in decode_lines(data, Path(shard), start):
                        if isinstance(line, BadLine):
                            bad.append(line)
                        elif line.attempt is not None:
                            rows.add(line.attempt)
                        elif line.baseline is not None:
                            add_baseline(connection, rows.parts, line.baseline)
                        elif line.mark is not None:
                            marks.append((line.mark.session, line.mark.sequence, line.mark.mark))
                rows.sum_up_changed()
    return Partial(path=str(path), marks=tuple(marks), bad=tuple(bad), ends=ends)


def absorb(writer: StoreWriter, partial: Partial, merged: Merged) -> None:
    """Add a partial store to a store, and to what a merge adds; doing it again adds nothing.

    :raises StoreError: the store cannot be written; the next call adds what is missing.
    """
    connection = writer.connection
    with store_errors(writer.path), _attached(connection, Path(partial.path)):
        with writer.transaction() as rows:
            first = _last_attempt(connection) + 1
            stored, known, changed = _copy_rows(connection)
            rows.changed |= changed
            rows.added += stored
            merged.copied.append(range(first, _last_attempt(connection) + 1))
    if partial.marks:
        writer.add_marks(partial.marks)
    merged.copied_count += stored["attempts"]
    merged.known += known
    merged.bad += partial.bad


def _read(shard: Path, start: int, end: int) -> bytes:
    with system_errors(StoreError, "cannot be read", shard):
        with shard.open("rb") as stream:
            stream.seek(start)
            data = stream.read(end - start)
    # a line that its writer is at, or was killed in, is left to the next piece
    return data[: data.rfind(b"\n") + 1]


#: bytes of shards that wait before others are asked to read them: a few seconds of one process
LEAST_BYTES: Final = 64 * 2**20
#: bytes of shards for one partial store: about 10,000 outcomes, which are copied in a tenth of a second
PARTIAL_BYTES: Final = 24 * 2**20
#: processes at most, unless settings say otherwise: one writer cannot copy what more of them read
MOST_PROCESSES: Final = 32
#: partial stores that each process may be ahead
_AHEAD: Final = 2
#: processes that may be lost in a row before none is used any more
_MOST_LOST: Final = 3
#: seconds in which a partial store is waited for
_WAIT_S: Final = 0.05
_HANDLER: Final = "ckprof_plugins.cluster.partial:handle"


class ReadTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is asked to read."""

    target: str
    pieces: dict[str, tuple[int, int]]
    #: by what its problems and kernels may be known
    loaded: Loaded = Loaded()


#: what a process has loaded is not loaded again
_load: Final = lru_cache(maxsize=1)(Loaded.load)


def handle(payload: bytes, slot: Slot) -> bytes:
    """Make a partial store; runs in a process of the pool."""
    del slot
    task = msgspec.json.decode(payload, type=ReadTask)
    _load(task.loaded)
    return msgspec.json.encode(write_partial(Path(task.target), task.pieces))


def default_processes() -> int:
    """Return how many processes may read shards on this machine: all CPUs but the one that copies."""
    return min(MOST_PROCESSES, available_cpus() - 1)


class MergePool:
    """Reads shards in other processes, which start when they are first needed. A context manager.

    :param folder: for partial stores, on a local disk; made again, and removed in the end.
    :param processes: at least 1.
    :param loaded: see :class:`ReadTask`.
    """

    def __init__(self, folder: Path, processes: int, loaded: Loaded) -> None:
        self._folder, self._processes, self._loaded = folder, processes, loaded
        self._session: LocalSession | None = None
        self._reading: dict[Future[bytes], ReadTask] = {}
        self._numbers = count()
        self._lost = 0
        # what a process that was killed has left
        shutil.rmtree(checked(folder), ignore_errors=True)

    def __enter__(self) -> MergePool:
        return self

    @property
    def is_busy(self) -> bool:
        """Whether anything is being read, or was read and not taken."""
        return bool(self._reading)

    @property
    def has_room(self) -> bool:
        """Whether a process would have nothing to do soon."""
        return self._lost < _MOST_LOST and len(self._reading) < _AHEAD * self._processes

    def read(self, shards: Pieces) -> None:
        """Have read what is new in shards, if it is much.

        :param shards: what was not merged of each.
        """
        taken = {shard for task in self._reading.values() for shard in task.pieces}
        left = {name: ends for name, ends in shards.items() if ends[1] > ends[0] and name not in taken}
        if sum(end - start for start, end in left.values()) < LEAST_BYTES:
            return
        pieces: dict[str, tuple[int, int]] = {}
        held = 0
        for name, (start, size) in left.items():
            end = min(size, start + PARTIAL_BYTES)
            pieces[name] = start, end
            held += end - start
            if held >= PARTIAL_BYTES:
                self._submit(pieces)
                pieces, held = {}, 0
                if not self.has_room:
                    return
        if pieces:
            self._submit(pieces)

    def take(self) -> Partial | None:
        """Return a partial store that is complete, or ``None`` if there is none in a moment."""
        done = wait(self._reading, timeout=_WAIT_S, return_when=FIRST_COMPLETED).done
        # in their order: the unfinished line of a shard is read again and again while others are not taken
        future = next((future for future in self._reading if future in done), None)
        if future is None:
            return None
        task = self._reading.pop(future)
        try:
            partial = msgspec.json.decode(future.result(), type=Partial)
        except Exception:
            # whatever it was, what it read is read again, in the end by the process that asks
            self._lost += 1
            Path(task.target).unlink(missing_ok=True)
            return None
        self._lost = 0
        return partial

    def __exit__(self, *error: object) -> None:
        session, self._session = self._session, None
        self._reading.clear()
        if session is not None:
            session.close(now=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _submit(self, pieces: dict[str, tuple[int, int]]) -> None:
        """Have a process read something; one that cannot be had is done without."""
        try:
            private_folder(self._folder)
        except OSError:
            self._lost = _MOST_LOST
            return
        if self._session is None:
            slots = [Slot(device=0, label=str(number)) for number in range(self._processes)]
            try:
                self._session = LocalSession(_HANDLER, slots)
            except ToolchainError:
                self._lost = _MOST_LOST
                return
        task = ReadTask(
            target=str(self._folder / f"{next(self._numbers)}.db"),
            pieces=pieces,
            loaded=self._loaded,
        )
        self._reading[self._session.submit(Pool.RUN, msgspec.json.encode(task))] = task


def _last_rows(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of the last row of each table, 0 for an empty one."""
    texts = {
        table: f"SELECT ifnull(max({columns_of(table)[0]}), 0) FROM main.{table}"  # noqa: S608
        for table in ROW_TYPES
    }
    return {table: int(connection.execute(text).fetchone()[0]) for table, text in texts.items()}
