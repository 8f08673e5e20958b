"""Rows of MIOpen's databases, as the library reads them: text line by line, SQLite table by table."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.store.schema import APPLICATION_ID
from ckprof_plugins.consumers.miopen.keys import (
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    MiopenKey,
    WrongKeyError,
    of_columns,
)
from ckprof_plugins.consumers.miopen.solvers import algorithm_parts

if TYPE_CHECKING:
    from pathlib import Path

SQLITE_MAGIC: Final = b"SQLite format 3\0"
#: how keys of both kinds begin
_TEXT_HEAD: Final = re.compile(rb"\d+[-x]\d+[-x]\d+[-x]\d+[^=\n]*=[\w<>,-]+:")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a row says of one solver."""

    #: position in its row, from 0
    number: int
    #: as it stands in the file
    text: str
    solver: str
    values: str
    #: why the library skips it
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TextRow:
    """One line of a database in text form."""

    line: int
    text: str
    key: str
    contents: str
    #: why the library skips it
    problem: str = ""

    def entries(self) -> Iterator[Entry]:
        """Yield the entries, those that the library skips included."""
        pieces = self.contents.split(";")
        if pieces and not pieces[-1]:
            pieces.pop()
        seen: set[str] = set()
        for number, text in enumerate(pieces):
            solver, colon, values = text.partition(":")
            problem = "" if colon else "no solver in front of ':'"
            if colon and algorithm_parts(solver)[0]:
                # of the first version: the algorithm in front, and two texts behind
                parts = values.split(",")
                if len(parts) < 4:
                    problem = "an entry of the old form lacks values: solver, time, workspace"
                else:
                    solver, values = parts[0], f"{parts[1]},{parts[2]},{solver}"
            if not problem and solver in seen:
                problem = f"the solver {solver} stands in this row already; the first entry counts"
            seen.add(solver)
            yield Entry(number, text, solver, values, problem)


def looks_like_text(head: bytes) -> bool:
    """Say whether a file begins like a database in text form."""
    return _TEXT_HEAD.match(head) is not None


def is_database(head: bytes) -> bool:
    """Say whether a file begins like a SQLite database that is no store of ours."""
    return head.startswith(SQLITE_MAGIC) and head[68:72] != APPLICATION_ID.to_bytes(4, "big")


def has_tables(head: bytes) -> bool:
    """Say whether a SQLite database has the table of parameters: its first page names all tables."""
    return is_database(head) and b"perf_db" in head


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    :raises InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None


def text_rows(data: bytes) -> Iterator[TextRow]:
    """Yield each line that is not empty. Any byte is a character."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        text = line.decode("latin-1")
        key, equals, contents = text.partition("=")
        problem = ""
        if not equals or not key:
            problem = "no key in front of '='"
        elif not contents:
            problem = "nothing after the key"
        yield TextRow(number, text, key, contents, problem)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of the table ``perf_db`` of a SQLite database."""

    number: int
    solver: str
    values: str
    #: ``None``: there is no usable row ``config`` for it
    key: MiopenKey | None
    problem: str = ""


def table_rows(path: Path) -> Iterator[TableRow]:
    """Yield the rows in the order of their numbers.

    :raises InputError: the file is no such database.
    """
    columns = ", ".join(f"c.{name}" for name in (*TEXT_COLUMNS, *NUMBER_COLUMNS))
    query = (
        f"SELECT p.id, p.solver, p.params, p.config, c.id, {columns} "  # noqa: S608 - names of columns
        "FROM perf_db p LEFT JOIN config c ON c.id = p.config ORDER BY p.id"
    )
    names = (*TEXT_COLUMNS, *NUMBER_COLUMNS)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            keys: dict[int, MiopenKey | str] = {}
            for cells in connection.execute(query):
                number, solver, values, config, found = cells[:5]
                if not isinstance(number, int):
                    continue
                if found is None:
                    yield TableRow(number, str(solver), str(values), None, f"there is no config {config}")
                    continue
                if found not in keys:
                    try:
                        keys[found] = of_columns(dict(zip(names, cells[5:], strict=True)))
                    except WrongKeyError as exc:
                        keys[found] = str(exc)
                key = keys[found]
                if isinstance(key, str):
                    yield TableRow(number, str(solver), str(values), None, key)
                else:
                    yield TableRow(number, str(solver), str(values), key)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as exc:
        raise InputError(f"cannot be read as MIOpen's performance database: {exc}", path) from None
