"""What can go wrong with a store, each with its remedy."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StoreError(InputError):
    """A store cannot be used; nothing that it held is lost. Exit code 3."""


class NotAStoreError(StoreError):
    """The file is something else."""


class NewerStoreError(StoreError):
    """The store was written by a newer ckprof."""


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


#: text in SQLite's message -> error and what to say; the first that fits
_TRANSLATIONS: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        "disk is full",
        StoreFullError,
        "the disk is full; what was stored before is kept: free some space and "
        "repeat the command, which goes on from there",
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
    ("locked", BusyStoreError, "another process writes the store; wait for it"),
    ("unable to open", StoreError, "the store cannot be opened; check the path and its permissions"),
)


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into errors of the store at ``path``.

    :raises StoreError: the one that fits the message.
    """
    try:
        yield
    except sqlite3.Error as exc:
        raise translate(exc, path) from exc


def translate(exc: sqlite3.Error, path: Path) -> StoreError:
    """Return the store's error for one of SQLite."""
    text = str(exc).lower()
    for part, kind, message in _TRANSLATIONS:
        if part in text:
            return kind(message, path)
    return DamagedStoreError(f"SQLite reports: {exc}; try 'ckprof results check'", path)
