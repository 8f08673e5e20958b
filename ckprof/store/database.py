"""Where a store may lie, and opening its database: for one writer, or for any number of readers.

SQLite reads a write-ahead log up to the first frame whose checksum is wrong, takes the rest for the remains
of an earlier use, and removes the log when the last reader has gone. Outcomes behind one damaged byte would
vanish without a word: what SQLite would drop is found here before it is asked.
https://sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
from array import array
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
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
from ckprof.store.schema import create_tables, schema_findings, stored_version
from ckprof.store.writer_lock import is_being_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_HEADER: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_MAGIC: Final = 0x377F0682
_MASK: Final = 0xFFFFFFFF
#: where the index of the log beside it has the number of frames and the salts; two copies of 48 bytes
_INDEX_BYTES: Final = 48


#: number of a page, pages of the database after a commit (0 where the frame ends none), salt, and the page
_Frame = tuple[int, int, tuple[int, int], bytes]


def write_image(store: Path, frames: Sequence[_Frame], image: Path) -> None:
    """Write the database as it was after the last commit, with the frames that SQLite would drop."""
    data = bytearray(store.read_bytes())
    ends = [index for index, (_, size, _, _) in enumerate(frames) if size]
    for page, _, _, content in frames[: ends[-1] + 1 if ends else 0]:
        start = (page - 1) * len(content)
        if len(data) < start:
            data.extend(bytes(start - len(data)))
        data[start : start + len(content)] = content
    if ends:
        _, size, _, content = frames[ends[-1]]
        del data[size * len(content) :]
    image.write_bytes(data)


def check_log(store: Path, *, locked: bool = False) -> None:
    """Reject a store whose log SQLite would read in part only, and then remove.

    :param locked: the caller has the writer's lock.
    :raises DamagedStoreError: so it is.
    """
    _, dropped, _ = read_log(store, locked=locked)
    if dropped:
        raise DamagedStoreError(
            f"its write-ahead log {_path(store).name} is damaged: SQLite would drop {dropped} commits; "
            "save them with 'ckprof results recover', and leave the log next to the store until then",
            store,
        )


def read_log(store: Path, *, locked: bool = False) -> tuple[Sequence[_Frame], int, bool]:
    """Return what is in the log of a store that no process writes.

    :param locked: the caller has the writer's lock.
    :returns: the whole frames of the present use, as far as their headers say so; how many commits are behind
        those that SQLite reads, and would be dropped; and whether the last frames are missing. A frame that
        its writer was killed in is no commit: the index does not have it.
    """
    path = _path(store)
    if not path.is_file() or (not locked and is_being_written(store)):
        return (), 0, False
    data = path.read_bytes()
    if len(data) < _HEADER.size:
        return (), 0, False
    header = _HEADER.unpack_from(data)
    words = "big" if header[0] & 1 else "little"
    sums = _checksum(data[:24], (0, 0), words)
    sound = header[0] & ~1 == _MAGIC and sums == header[6:8]
    page_bytes = header[2] if sound else _page_bytes(store)
    frames = [
        (fields[0], fields[1], fields[2:4], data[start + _FRAME.size : start + _FRAME.size + page_bytes])
        for start in range(_HEADER.size, len(data) - _FRAME.size - page_bytes + 1, _FRAME.size + page_bytes)
        for fields in [_FRAME.unpack_from(data, start)]
    ]
    salt = header[4:6] if sound else _salt_of(frames)
    read = _valid_frames(data, page_bytes, salt, sums, words) if sound else 0
    present, said = _present(frames, salt), _frames_in_index(store, salt)
    return (
        [frame for frame in present if frame[2] == salt and 0 < frame[0] < 2**31],
        sum(1 for _, size, own, _ in present[read:said] if size and own == salt),
        (len(data) - _HEADER.size) % (_FRAME.size + page_bytes) > 0 or (said or 0) > len(frames),
    )


def _present(frames: Sequence[_Frame], salt: tuple[int, int]) -> Sequence[_Frame]:
    """Return the frames up to the last one of the present use; those behind it are of earlier ones."""
    last = max((index for index, frame in enumerate(frames) if frame[2] == salt), default=-1)
    return frames[: last + 1]


def _salt_of(frames: Sequence[_Frame]) -> tuple[int, int]:
    """Return the salts of the present use, whose frames come first, where the header does not say them."""
    salts = [salt for _, _, salt, _ in frames]
    return next((salt for salt in salts if salts.count(salt) > 1), salts[0] if salts else (0, 0))


def _valid_frames(
    data: bytes, page_bytes: int, salt: tuple[int, int], sums: tuple[int, int], words: str
) -> int:
    """Return how many frames SQLite reads."""
    count, start = 0, _HEADER.size
    while start + _FRAME.size + page_bytes <= len(data):
        fields = _FRAME.unpack_from(data, start)
        content = start + _FRAME.size
        sums = _checksum(data[start : start + 8], sums, words)
        sums = _checksum(data[content : content + page_bytes], sums, words)
        if fields[2:4] != salt or fields[4:6] != sums:
            break
        count, start = count + 1, content + page_bytes
    return count


def _checksum(data: bytes, sums: tuple[int, int], words: str) -> tuple[int, int]:
    values = array("I", data)
    if words != sys.byteorder:
        values.byteswap()
    first, second = sums
    numbers = iter(values)
    for even, odd in zip(numbers, numbers, strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second


def _page_bytes(store: Path) -> int:
    with store.open("rb") as stream:
        size = int.from_bytes(stream.read(18)[16:], "big")
    return 65_536 if size == 1 else max(size, 512)


def _frames_in_index(store: Path, salt: tuple[int, int]) -> int | None:
    """Return how many frames were committed by the log's index; ``None`` where that does not say it."""
    try:
        index = _path(store, "shm").read_bytes()[: 2 * _INDEX_BYTES]
    except OSError:
        return None
    whole = len(index) == 2 * _INDEX_BYTES and index[:_INDEX_BYTES] == index[_INDEX_BYTES:]
    if not whole or struct.unpack_from(">2I", index, 32) != salt:
        return None
    return int.from_bytes(index[16:20], sys.byteorder)


def _path(store: Path, kind: str = "wal") -> Path:
    return Path(f"{store}-{kind}")


#: seconds that a reader waits for the moment in which a writer reorganises the file
_BUSY_S: Final = 10.0


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a store; make it if it does not exist.

    The caller holds the writer's lock. Every commit is on the disk when it returns.

    :raises StoreError: it cannot be used.
    """
    check_log(path, locked=True)
    with store_errors(path):
        with _connected(path, "rwc") as connection:
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
        with _connected(path, _reading_mode(path)) as connection:
            connection.execute("PRAGMA query_only = ON")
            if stored_version(connection, str(path)) == 0:
                raise StoreError("the file is empty, it holds no store", path)
            _check_schema(connection, path)
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a store whose tables are not those of a store, or that changes what is written."""
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
        mode = "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
        with _connected(path, mode) as connection:
            # whoever says this to SQLite is taken to know that the file may be inconsistent
            connection.execute("PRAGMA writable_schema = ON")
            with suppress(DamagedStoreError, OlderStoreError):  # the version may be what is damaged
                stored_version(connection, str(path))
            _reject_views(connection, path)
            # fails where the tables themselves cannot be found
            connection.execute("SELECT 1 FROM attempts, measurements, sessions LIMIT 0").fetchall()
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
    """Reject a store with a view in the place of a table: it may have any number of rows, without end."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    if found := sorted(names & {*ROW_TYPES, "meta"}):
        raise DamagedStoreError(
            f"nothing of the store can be trusted: the table {found[0]} is a view; use a copy of the file",
            path,
        )


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a file; it is closed if the block raises."""
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=_BUSY_S, check_same_thread=False
    )
    # bytes that are not UTF-8 become surrogates, which no stored text has
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _reading_mode(path: Path) -> str:
    """Return how a reader opens the file.

    Usually it takes part in the shared memory of writers, and the last one tidies up. Where nothing can be
    written, or on a network file system, the file is read as it lies, which is right as long as nothing waits
    in the write-ahead log.

    :raises ReadOnlyStoreError: something does.
    """
    log = _path(path)
    network = file_system_of(path.parent) in NETWORK_FILE_SYSTEMS
    if not network and os.access(path.parent, os.W_OK):
        return "rw" if os.access(path, os.W_OK) else "ro"
    if log.exists() and log.stat().st_size > 0:
        if network:
            check_location(path)
        if _path(path, "shm").exists() and os.access(path, os.R_OK):
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
        *("nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3"),
        *("smbfs", "afs", "auristorfs", "coda", "ncpfs"),
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
