"""Keeps what was read from an archive or a package, so that a second run need not read it again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from pathlib import Path
from typing import Final

import msgspec

from ckprof.paths import cache_dir
from ckprof_converters.extract.symbols import ArchiveSymbols

#: of what is kept; another number is read again
_VERSION: Final = 4
_LEVEL: Final = 1
#: beginning of an archive that is part of its identity: the index, which knows the place of every member
_INDEX_BYTES: Final = 1 << 22


class CachedLibrary(msgspec.Struct, kw_only=True):
    """What is kept of one archive or package."""

    version: int = _VERSION
    #: name of the archive; empty if a package has none
    archive: str = ""
    symbols: ArchiveSymbols | None = None
    #: mangled name -> class and arguments
    readable: dict[str, list[str]] = {}
    #: name and version of a package
    package: str = ""
    #: headers of a package
    headers: dict[str, str] = {}


def archive_digest(path: Path) -> str:
    """Return what identifies an archive: its size, its time, and the beginning of its index."""
    status = path.stat()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    with path.open("rb") as file:
        digest.update(file.read(_INDEX_BYTES))
    return digest.hexdigest()


def cache_path(digest: str) -> Path:
    """Return the file that keeps a library."""
    return cache_dir() / "extract" / f"{digest}.bin"


def load(digest: str) -> CachedLibrary | None:
    """Return what is kept under a digest; ``None`` if there is nothing that can be used."""
    try:
        data = cache_path(digest).read_bytes()
    except OSError:
        return None
    try:
        found = msgspec.msgpack.decode(zlib.decompress(data), type=CachedLibrary)
    except (zlib.error, msgspec.DecodeError):
        return None
    return found if found.version == _VERSION else None


def save(digest: str, library: CachedLibrary) -> None:
    """Keep a library; a cache that cannot be written is no error."""
    path = cache_path(digest)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(zlib.compress(msgspec.msgpack.encode(library), _LEVEL))
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
