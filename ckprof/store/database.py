"""Where a store may lie, and opening its database: for one writer, or for any number of readers."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ckprof.store.errors import (
    DamagedStoreError,
    NetworkStoreError,
    NotAStoreError,
    OlderStoreError,
    ReadOnlyStoreError,
    StoreError,
    store_errors,
    translate,
)
from ckprof.store.row_types import ROW_TYPES
from ckprof.store.schema import (
    create_tables,
    schema_findings,
    stored_version,
)
from ckprof.store.write_ahead_log import check_log

#: seconds that a reader waits for the moment in which a writer reorganises the file
_BUSY_S: Final = 10.0


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a store; make it if it does not exist.

    The caller holds the writer's lock. Every commit is on the disk when it returns.

    :raises StoreError: it cannot be used.
    """
    check_log(path, locked=True)
    with store_errors(path):
        connection = _connect(path, "rwc")
        try:
            version = stored_version(connection, str(path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if version == 0:
                create_tables(connection)
            _check_schema(connection, path)
            # A read-only database opens without complaint and would fail at the first outcome.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a store that exists, also while another process writes it.

    :raises StoreError: it does not exist, is something else, or of another version.
    """
    if not path.is_file():
        raise StoreError(
            "there is no such store; 'ckprof sweep --store' and 'ckprof results import' make one", path
        )
    check_log(path)
    with store_errors(path):
        connection = _connect(path, _reading_mode(path))
        try:
            connection.execute("PRAGMA query_only = ON")
            if stored_version(connection, str(path)) == 0:
                raise StoreError("the file is empty, it holds no store", path)
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a store whose tables are not those of a store, or that changes what is written.

    :raises DamagedStoreError: so it is.
    """
    findings = schema_findings(connection)
    if findings:
        raise DamagedStoreError(
            f"{'; '.join(findings)}; or save what is readable with 'ckprof results recover'", path
        )


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
            with suppress(DamagedStoreError, OlderStoreError):  # the version may be what is damaged
                stored_version(connection, str(path))
            _reject_views(connection, path)
            # fails where the tables themselves cannot be found
            connection.execute("SELECT 1 FROM attempts, measurements, sessions LIMIT 0").fetchall()
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError) as exc:
        if isinstance(exc, sqlite3.Error) and isinstance(translate(exc, path), NotAStoreError):
            raise translate(exc, path) from exc
        raise DamagedStoreError(
            f"nothing of the store can be read: the pages that say where its tables are are damaged ({exc}); "
            "use a copy of the file, or merge the shards or exports that it was made of",
            path,
        ) from exc
    return connection


def _reject_views(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a store with a view in the place of a table: it may have any number of rows, without end.

    :raises DamagedStoreError: so it is.
    """
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    if found := sorted(names & {*ROW_TYPES, "meta"}):
        raise DamagedStoreError(
            f"nothing of the store can be trusted: the table {found[0]} is a view; use a copy of the file",
            path,
        )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=_BUSY_S, check_same_thread=False
    )
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    """Return a text; bytes that are not UTF-8 become surrogates, which no stored text has."""
    return data.decode("utf-8", "surrogateescape")


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


#: File systems on which several machines, or a machine and its guest, see the same files: locks and shared
#: memory of SQLite do not work there.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        *(
            "nfs",
            "nfs3",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "afs",
            "auristorfs",
            "coda",
            "ncpfs",
        ),
        *("lustre", "gpfs", "beegfs", "ceph", "glusterfs", "panfs", "pvfs2", "orangefs", "wekafs", "vastnfs"),
        *("ocfs2", "gfs2", "9p", "virtiofs", "davfs", "acfs", "quobyte", "daos", "dvs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs", "fuse.s3fs", "fuse.gcsfuse"),
        *("fuse.rclone", "fuse.dfuse", "fuse.mfs", "fuse.davfs"),
    }
)


def file_system_of(path: Path) -> str:
    """Return the type of the file system that a path lies on, empty where the system does not say."""
    import psutil

    resolved = path.resolve()
    kind, depth = "", -1
    for partition in psutil.disk_partitions(all=True):
        mount = type(resolved)(partition.mountpoint)
        # the last of several on one mount point is the one that is seen
        if len(mount.parts) >= depth and (mount == resolved or mount in resolved.parents):
            kind, depth = partition.fstype, len(mount.parts)
    return kind


def check_location(path: Path) -> None:
    """Reject a store on a network file system.

    :raises NetworkStoreError: it lies on one; the message names the remedy.
    """
    kind = file_system_of(path.parent)
    if kind in NETWORK_FILE_SYSTEMS:
        raise NetworkStoreError(
            f"the store lies on a network file system ({kind}), where several writers damage databases; "
            "put it on a local disk, and let jobs on other machines write shards: --store DIRECTORY/ there, "
            "'ckprof results merge' where the store is",
            path,
        )
