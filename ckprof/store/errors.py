"""What can go wrong with a store, each with its remedy."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


class StoreError(InputError):
    """A store cannot be used; nothing that it held is lost. Exit code 3."""


class NotAStoreError(StoreError):
    """The file is something else."""


class NewerStoreError(StoreError):
    """The store was written by a newer ckprof."""


class OlderStoreError(StoreError):
    """The store was written by an earlier ckprof, whose tables are not read any more."""


class DamagedStoreError(StoreError):
    """The file is damaged."""


class ReadOnlyStoreError(StoreError):
    """The store cannot be written."""


class StoreFullError(StoreError):
    """The disk is full."""


class BusyStoreError(StoreError):
    """Another process writes the store."""


class NetworkStoreError(StoreError):
    """The store lies on a network file system."""


def require_one_origin(origins: Collection[str], path: Path | str) -> None:
    """Refuse times of several :attr:`origins <ckprof.store.key.MeasurementKey.origin>` in one place.

    :param path: of the store, or what is compared.
    :raises StoreError: there are several.
    """
    if len(origins) > 1:
        raise StoreError(f"{' and '.join(sorted(origins))} do not mix: name another store", path)


class DamagedRow(sqlite3.DatabaseError):
    """A row holds what it cannot: raised where rows are read, a :class:`DamagedStoreError` outside.

    :param column: empty where it is not known.
    """

    def __init__(self, table: str, row: object, column: str, what: str) -> None:
        self.column, self.what = column, what
        where = f"table {table}, row {row}"
        super().__init__(f"{where}, column {column}: {what}" if column else f"{where}: {what}")


#: what reading a damaged file raises; the module cannot decode messages with names that are not UTF-8
UNREADABLE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)

#: text in SQLite's message -> error and what to say; the first that fits
_TRANSLATIONS: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        "disk is full",
        StoreFullError,
        "the disk is full; what was stored before is kept: free some space and "
        "rerun the same command to resume",
    ),
    ("readonly", ReadOnlyStoreError, "the store or its folder is read-only; copy it to where you may write"),
    ("not a database", NotAStoreError, "this is not a result store (not an SQLite database)"),
    (
        "malformed",
        DamagedStoreError,
        "the store is damaged; see what can be read with "
        "'ckprof results check', save it with 'ckprof results recover'",
    ),
    (
        "disk i/o error",
        DamagedStoreError,
        "the store cannot be read or written (input/output error): the disk fails, or files may not grow "
        "any more; check both, then 'ckprof results check'",
    ),
    ("closed database", StoreError, "the store was closed: open it again to read it"),
    ("locked", BusyStoreError, "another process writes the store; wait for it"),
    ("unable to open", StoreError, "the store cannot be opened; check the path and its permissions"),
)


@contextmanager
def store_errors(path: Path, connection: sqlite3.Connection | None = None) -> Iterator[None]:
    """Turn errors of SQLite into errors of the store at ``path``.

    :param connection: looked through for the row that an error does not name.
    :raises StoreError: the one that fits the message.
    """
    try:
        yield
    except sqlite3.Error as exc:
        raise translate(_located(exc, connection), path) from exc
    except UnicodeDecodeError as exc:
        raise translate(sqlite3.DatabaseError("malformed"), path) from exc


def _located(exc: sqlite3.Error, connection: sqlite3.Connection | None) -> sqlite3.Error:
    """Return what is wrong with the first damaged part where a condition of SQL could not read JSON."""
    if connection is None or "malformed JSON" not in str(exc):
        return exc
    for table in ("operations", "devices"):
        found = connection.execute(f"SELECT id FROM {table} WHERE NOT json_valid(body)").fetchone()  # noqa: S608
        if found is not None:
            return DamagedRow(table, found[0], "body", "is no JSON")
    return exc


def translate(exc: sqlite3.Error, path: Path) -> StoreError:
    """Return the store's error for one of SQLite."""
    if isinstance(exc, DamagedRow):
        return DamagedStoreError(
            f"{exc}; see what else is damaged with 'ckprof results check', save what is readable with "
            "'ckprof results recover'",
            path,
        )
    text = str(exc).lower()
    for part, kind, message in _TRANSLATIONS:
        if part in text:
            return kind(message, path)
    return DamagedStoreError(f"SQLite reports: {exc}; try 'ckprof results check'", path)
