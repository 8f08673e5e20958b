"""Opens an installed library: reads its archive, or takes what an earlier run kept of it."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, ToolchainError
from ckprof.files import write_atomically
from ckprof.paths import cache_dir
from ckprof_plugins.extract.ar import members
from ckprof_plugins.extract.debian import identify_package, read_package
from ckprof_plugins.extract.headers import FORWARD_FACTORY, FolderHeaders, TextHeaders
from ckprof_plugins.extract.library import Archive, Library
from ckprof_plugins.extract.symbols import ArchiveSymbols, collect
from ckprof_plugins.extract.vocabulary import words_digest

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.extract.locate import Location

#: of what is kept; another number is read again
_VERSION: Final = 5
_LEVEL: Final = 1
#: beginning of an archive that is part of its identity: the index, which knows the place of every member
_INDEX_BYTES: Final = 1 << 22

_WITHOUT_ARCHIVE: Final = "--no-archive reads the headers alone"


class CachedLibrary(msgspec.Struct, kw_only=True):
    """What is kept of one archive or package."""

    version: int = _VERSION
    #: name of the archive; empty if a package has none
    archive: str = ""
    symbols: ArchiveSymbols | None = None
    #: mangled name -> class and arguments
    readable: dict[str, list[str]] = {}
    #: digest of the words that arguments are printed with
    words: str = ""
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
        library = msgspec.msgpack.decode(zlib.decompress(data), type=CachedLibrary)
    except (zlib.error, msgspec.DecodeError):
        return None
    if library.version != _VERSION:
        return None
    if library.words != words_digest():
        library.readable = {}
    return library


def save(digest: str, library: CachedLibrary) -> None:
    """Keep a library; a cache that cannot be written is no error."""
    path = cache_path(digest)
    library.words = words_digest()
    with contextlib.suppress(OSError):
        write_atomically(path, zlib.compress(msgspec.msgpack.encode(library), _LEVEL))


class OpenedLibrary:
    """A library, and what is to be kept of it.

    :param digest: what it is kept under; empty for headers alone, which are not kept.
    :param cached: what is kept.
    :param is_kept: it is already.
    """

    def __init__(self, library: Library, digest: str, cached: CachedLibrary, *, is_kept: bool) -> None:
        self.library = library
        self._digest = digest
        self._cached = cached
        #: readable names that are kept
        self._names = len(cached.readable) if is_kept else -1

    def keep(self) -> None:
        """Keep what was read of it for later runs."""
        if self._digest and len(self._cached.readable) != self._names:
            save(self._digest, self._cached)


def open_library(location: Location, *, with_archive: bool = True) -> OpenedLibrary:
    """Open a library.

    :param with_archive: read its archive; without, uses come from recipes.
    :raises InputError: a damaged or foreign archive or package.
    :raises ToolchainError: something that reading it requires is not installed, or the package has no
        instance headers.
    """
    path = location.archive
    if location.is_package and path is not None:
        return _open_package(path, with_archive=with_archive)
    headers = FolderHeaders(location.roots)
    if path is None or not with_archive:
        return OpenedLibrary(Library(headers, None, str(location.path)), "", CachedLibrary(), is_kept=True)
    try:
        digest = archive_digest(path)
        kept = load(digest)
        is_kept = kept is not None and kept.symbols is not None
        if kept is None or kept.symbols is None:
            kept = _read_archive(path)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}; {_WITHOUT_ARCHIVE}", path) from exc
    library = Library(headers, _archive(kept, path), str(location.path))
    return OpenedLibrary(library, digest, kept, is_kept=is_kept)


def _read_archive(path: Path) -> CachedLibrary:
    with path.open("rb") as file:
        symbols = collect(members(file, str(path)), str(path))
    return CachedLibrary(archive=path.name, symbols=symbols)


def _open_package(path: Path, *, with_archive: bool) -> OpenedLibrary:
    try:
        identity = identify_package(path)
        digest = identity.digest
        kept = load(digest)
        is_kept = kept is not None and (kept.symbols is not None or not (with_archive and kept.archive))
        if kept is None or not is_kept:
            contents = read_package(path, with_archive=with_archive)
            kept = CachedLibrary(
                archive=contents.archive,
                symbols=contents.symbols,
                package=identity.label,
                headers=contents.headers,
            )
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from exc
    if FORWARD_FACTORY not in kept.headers:
        raise ToolchainError(
            f"{path}: no {FORWARD_FACTORY} in this package; expected composablekernel-dev or "
            "libcomposable-kernel-dev"
        )
    archive = _archive(kept, path) if with_archive else None
    library = Library(TextHeaders(kept.headers), archive, str(path), kept.package)
    return OpenedLibrary(library, digest, kept, is_kept=is_kept)


def _archive(kept: CachedLibrary, path: Path) -> Archive | None:
    if kept.symbols is None:
        return None
    return Archive(path=str(path), symbols=kept.symbols, readable=kept.readable)
