"""Opens an installed library: reads its archive, or takes what an earlier run kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError, ToolchainError
from ckprof_converters.extract.ar import members
from ckprof_converters.extract.cache import CachedLibrary, archive_digest, load, save
from ckprof_converters.extract.debian import identify_package, read_package
from ckprof_converters.extract.headers import FORWARD_FACTORY, FolderHeaders, TextHeaders
from ckprof_converters.extract.library import Archive, Library
from ckprof_converters.extract.symbols import collect

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_converters.extract.locate import Location


@dataclass(slots=True, kw_only=True)
class OpenedLibrary:
    """A library, and what is to be kept of it."""

    library: Library
    digest: str
    _kept: CachedLibrary
    #: readable names when it was opened
    _known: int
    _is_kept: bool

    def keep(self) -> None:
        """Keep what was read of it for later runs."""
        if self.digest and (not self._is_kept or len(self._kept.readable) != self._known):
            save(self.digest, self._kept)


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
        return OpenedLibrary(
            library=Library(headers, None, str(location.path)),
            digest="",
            _kept=CachedLibrary(),
            _known=0,
            _is_kept=True,
        )
    digest = archive_digest(path)
    kept = load(digest)
    is_kept = kept is not None and kept.symbols is not None
    if kept is None or kept.symbols is None:
        kept = _read_archive(path)
    return _opened(Library(headers, _archive(kept, digest, path), str(location.path)), kept, digest, is_kept)


def _read_archive(path: Path) -> CachedLibrary:
    try:
        with path.open("rb") as file:
            symbols = collect(members(file, str(path)), str(path))
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from exc
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
    archive = _archive(kept, digest, path) if with_archive and kept.symbols is not None else None
    return _opened(
        Library(TextHeaders(kept.headers), archive, str(path), kept.package), kept, digest, is_kept
    )


def _archive(kept: CachedLibrary, digest: str, path: Path) -> Archive | None:
    if kept.symbols is None:
        return None
    return Archive(path=str(path), digest=digest, symbols=kept.symbols, readable=kept.readable)


def _opened(library: Library, kept: CachedLibrary, digest: str, is_kept: bool) -> OpenedLibrary:
    return OpenedLibrary(
        library=library, digest=digest, _kept=kept, _known=len(kept.readable), _is_kept=is_kept
    )
