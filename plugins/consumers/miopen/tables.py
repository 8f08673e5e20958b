"""MIOpen's performance databases in SQLite's format.

They are read from a copy, made by one connection under its lock: what was written last may still lie in a log
beside the file. The library makes two plain tables. Views, generated columns and triggers are refused by
name, since reading and changing them would run what somebody else wrote.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, input_errors
from ckprof.private_folders import temporary_folder
from ckprof_plugins.consumers.audit import digest_of, unchanged
from ckprof_plugins.consumers.miopen.keys import COLUMNS, MiopenKey, WrongKeyError, of_columns

if TYPE_CHECKING:
    from ckprof_plugins.consumers.records import FileAudit

#: tables -> columns that the library asks for
_TABLES: Final = {"config": ("id", *COLUMNS), "perf_db": ("id", "solver", "config", "params")}
#: values of ``hidden`` of a column that is generated
_GENERATED: Final = (2, 3)
#: bytes of the longest cell that is read
_CELL_MOST: Final = 1 << 20
#: seconds to wait for another process that writes
_PATIENCE: Final = 5.0


def _readable(path: Path) -> AbstractContextManager[None]:
    damaged = (sqlite3.Error, OverflowError, UnicodeDecodeError, OSError)
    return input_errors(damaged, "cannot be read as MIOpen's performance database", path)


@contextmanager
def snapshot(path: Path) -> Iterator[Path]:
    """Give a copy of a database, with what lies in its write-ahead log, which nobody changes.

    :raises InputError: it cannot be read, or another process has it locked.
    """
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        copy = Path(folder, "database")
        with _readable(path):
            uri = f"{path.resolve().as_uri()}?mode=ro"
            with (
                closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)) as source,
                closing(sqlite3.connect(copy, isolation_level=None)) as target,
            ):
                # a lock under which nobody else writes; without it, a copy waits for others without end
                source.execute("BEGIN")
                source.execute("SELECT 1 FROM sqlite_master").fetchone()
                # the copy need not survive that the machine stops
                target.execute("PRAGMA synchronous = OFF")
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
        yield copy


class TableRows:
    """The rows of a database's copy."""

    def __init__(self, path: Path, copy: Path) -> None:
        self._path = path
        #: why the database is not read; empty if it is
        self.refused = ""
        #: what runs when rows change
        self.triggers: list[str] = []
        self.digest = digest_of(copy.read_bytes())
        self._copy = copy
        with _readable(path), closing(sqlite3.connect(copy)) as connection:
            self.triggers = [
                f"{name} on {table}"
                for name, table in connection.execute(
                    "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"
                )
            ]
            self.refused = next(filter(None, (_refusal(connection, name) for name in _TABLES)), "")

    def __iter__(self) -> Iterator[tuple[int, str, MiopenKey | str, str, str]]:
        """Yield rowid, what is odd about ids, key, solver and parameters, the last rows first.

        In place of a key stands why there is no usable row ``config``; it is empty where there are several.

        :raises InputError: the file is damaged.
        """
        with _readable(self._path), closing(sqlite3.connect(self._copy)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            if sys.version_info >= (3, 11):
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_MOST)
            keys: dict[object, MiopenKey | str] = {}
            columns = ", ".join(COLUMNS)
            for id_, *cells in connection.execute(f"SELECT id, {columns} FROM config"):  # noqa: S608 - names
                number = _number(id_)
                keys[number] = "" if number in keys else _key_of(cells)
            seen: set[object] = set()
            query = "SELECT rowid, id, solver, config, params FROM perf_db ORDER BY rowid DESC"
            for rowid, id_, solver, config, params in connection.execute(query):
                odd = ""
                if not isinstance(id_, int):
                    odd = f"the id is {id_!r}, expected a number"
                elif id_ in seen:
                    odd = f"another row has the id {id_} as well"
                seen.add(id_)
                key = keys.get(_number(config), f"there is no config {config}")
                if key == "":
                    odd = f"several rows of config have the id {config}"
                yield rowid, odd, key, _text(solver), _text(params)


def _refusal(connection: sqlite3.Connection, table: str) -> str:
    """Return why a table is none that the library makes; empty if it is one."""
    query = "SELECT type, sql FROM sqlite_master WHERE lower(name) = ? AND type IN ('table', 'view')"
    found = connection.execute(query, (table,)).fetchone()
    if found is None:
        return f"has no table {table}"
    kind, sql = found
    if kind == "view" or str(sql).lower().startswith("create virtual"):
        return f"{table} is a {'view' if kind == 'view' else 'virtual table'}, the library makes a table"
    columns = {row[1]: row[6] for row in connection.execute(f"PRAGMA table_xinfo({table})")}
    generated = [name for name, hidden in columns.items() if hidden in _GENERATED]
    if generated:
        return f"column {generated[0]} of {table} is generated, the library makes plain columns"
    missing = [name for name in _TABLES[table] if name not in columns]
    return f"table {table} has no column {missing[0]}" if missing else ""


def _number(value: object) -> object:
    """Return an id as comparisons take it: texts of numbers are numbers; missing ones fit nothing."""
    text = str(value).strip()
    if value is None:
        return object()
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else value


def _key_of(cells: list[object]) -> MiopenKey | str:
    try:
        return of_columns(dict(zip(COLUMNS, cells, strict=True)))
    except WrongKeyError as exc:
        return str(exc)


def _text(value: Any) -> str:
    """Return a cell as the library reads it: a text of C, which ends at the first NUL."""
    if value is None:
        return "NULL"
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
    return text.partition("\0")[0]


def cleaned_table(path: Path, wrong: Iterable[int], audit: FileAudit) -> bytes:
    """Return a database without some rows, without triggers, and without a log beside it.

    :param wrong: their rowids; 0 stands for triggers.
    :raises InputError: the database cannot be read, or has changed since it was judged.
    """
    with snapshot(path) as copy, input_errors((sqlite3.Error, UnicodeDecodeError), "cannot be cleaned", path):
        unchanged(audit, copy.read_bytes())
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise InputError(f"cannot be cleaned: the database is damaged ({fault})", path)
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in names:
                quoted = name.replace('"', '""')
                connection.execute(f'DROP TRIGGER "{quoted}"')
            connection.executemany(
                "DELETE FROM perf_db WHERE rowid = ?", [(number,) for number in wrong if number]
            )
            connection.execute("DELETE FROM config WHERE id NOT IN (SELECT config FROM perf_db)")
            connection.commit()
        return copy.read_bytes()


def new_table(fill: Callable[[sqlite3.Connection], None]) -> bytes:
    """Return a new database in SQLite's format."""
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        path = Path(folder, "database")
        with closing(sqlite3.connect(path)) as connection:
            fill(connection)
            connection.commit()
        return path.read_bytes()
