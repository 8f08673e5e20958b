"""Opening the database of a store: for one writer, or for any number of readers."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ckprof.store.errors import (
    DamagedStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    store_errors,
    translate,
)
from ckprof.store.location import NETWORK_FILE_SYSTEMS, check_location, file_system_of
from ckprof.store.schema import MIGRATIONS, SCHEMA_VERSION, create_tables, migrate, stored_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.store.schema import Migration

#: seconds that a reader waits for the moment in which a writer reorganises the file
_BUSY_S: Final = 10.0


def open_for_writing(
    path: Path, *, migrations: Mapping[int, Migration] = MIGRATIONS, newest: int = SCHEMA_VERSION
) -> sqlite3.Connection:
    """Open a store, make it if it does not exist, and bring it to the newest version after a backup.

    The caller holds the writer's lock. Every commit is on the disk when it returns.

    :raises StoreError: it cannot be used.
    """
    with store_errors(path):
        connection = _connect(path, "rwc")
        try:
            version = stored_version(connection, str(path), newest)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if version == 0:
                create_tables(connection)
            elif version < newest:
                _back_up(connection, path, version)
                migrate(connection, version, migrations, newest)
            # A read-only database opens without complaint and would fail at the first outcome.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a store that exists, also while another process writes it.

    :raises StoreError: it does not exist, is something else, is newer, or is older and has to be migrated by
        a writer first.
    """
    if not path.is_file():
        raise StoreError(
            "there is no such store; 'ckprof sweep --store' and 'ckprof results import' make one", path
        )
    with store_errors(path):
        connection = _connect(path, _reading_mode(path))
        try:
            connection.execute("PRAGMA query_only = ON")
            version = stored_version(connection, str(path))
        except BaseException:
            connection.close()
            raise
        if version == 0:
            connection.close()
            raise StoreError("the file is empty, it holds no store", path)
        if version < SCHEMA_VERSION:
            connection.close()
            raise StoreError(
                f"the store has version {version}, this ckprof reads version {SCHEMA_VERSION}; "
                "'ckprof results check --upgrade' brings it up to date, and keeps a backup",
                path,
            )
    return connection


def open_for_salvage(path: Path) -> sqlite3.Connection:
    """Open a damaged store to read what is readable: also one that was cut off.

    :raises StoreError: it does not exist, is something else or newer, or nothing of it can be read.
    """
    if not path.is_file():
        raise StoreError("there is no such file", path)
    try:
        connection = _connect(path, "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1")
        try:
            # whoever says this to SQLite is taken to know that the file may be inconsistent
            connection.execute("PRAGMA writable_schema = ON")
            version = stored_version(connection, str(path))
            # fails where the tables themselves cannot be found
            connection.execute("SELECT 1 FROM attempts, measurements, sessions LIMIT 0").fetchall()
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as exc:
        if isinstance(translate(exc, path), NotAStoreError):
            raise translate(exc, path) from exc
        raise DamagedStoreError(
            f"nothing of the store can be read: the pages that say where its tables are are damaged ({exc}); "
            "use a copy of the file, or merge the shards or exports that it was made of",
            path,
        ) from exc
    if version < SCHEMA_VERSION:
        connection.close()
        raise StoreError(
            f"the store has version {version}, this ckprof recovers version {SCHEMA_VERSION}", path
        )
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S, check_same_thread=False)


def _reading_mode(path: Path) -> str:
    """Return how a reader opens the file.

    Usually it takes part in the shared memory of writers, and the last one tidies up. Where nothing can be
    written, or on a network file system, the file is read as it lies, which is right as long as nothing waits
    in the write-ahead log.

    :raises ReadOnlyStoreError: something does.
    """
    log = path.with_name(f"{path.name}-wal")
    network = file_system_of(path.parent) in NETWORK_FILE_SYSTEMS
    if not network and os.access(path.parent, os.W_OK):
        return "rw" if os.access(path, os.W_OK) else "ro"
    if log.exists() and log.stat().st_size > 0:
        if network:
            check_location(path)
        if path.with_name(f"{path.name}-shm").exists() and os.access(path, os.R_OK):
            return "ro"
        raise ReadOnlyStoreError(
            f"outcomes wait in {log.name}, which cannot be read in a read-only folder; copy both files to "
            "where you may write",
            path,
        )
    return "ro&immutable=1"


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Copy the store before it is migrated; an earlier backup of that version stays."""
    backup = path.with_name(f"{path.name}.v{version}.bak")
    if backup.exists():
        return
    temporary = backup.with_name(f"{backup.name}.tmp")
    temporary.unlink(missing_ok=True)
    copy = sqlite3.connect(temporary)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    temporary.replace(backup)
