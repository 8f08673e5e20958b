"""Finds an installed library and opens it: reads its archive, or takes what an earlier run kept of it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from ckprof.errors import InputError, ToolchainError
from ckprof.files import write_atomically
from ckprof.paths import cache_dir
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.archives import (
    ArchiveSymbols,
    CompiledFunctions,
    collect,
    identify_package,
    members,
    read_package,
)
from ckprof_plugins.extract.headers import FORWARD_FACTORY, HeaderTree, words_digest
from ckprof_plugins.extract.library import InstalledLibrary

#: folders that hold headers, below what a user names: include root, prefix, Debian's tree, source tree
_INCLUDE: Final = (".", "include", "usr/include", "library/include")
_KINDS: Final = "an include root, a prefix, a source tree, an archive (.a) or a package (.deb)"
_LIBRARIES: Final = ("lib", "lib64", "usr/lib", "lib/*", "usr/lib/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a library is."""

    #: as the user named it, or the place where it was found
    path: Path
    #: include roots; empty for a package, which holds its headers itself
    roots: tuple[Path, ...]
    #: an archive, or a package; ``None`` where there are only headers
    archive: Path | None


def locate(given: Path | None, environment: Mapping[str, str]) -> Location:
    """Find a library.

    :param given: include root, prefix, source tree, archive or Debian package; ``None`` searches
        ``$CK_ROOT``, ``$ROCM_PATH``, ``/opt/rocm*`` from the newest on, and ``/usr``.
    :raises ToolchainError: there is none.
    :raises InputError: the path does not exist or is something else.
    """
    if given is not None:
        return _named(given)
    for folder in _usual_places(environment):
        location = _below(folder)
        if location is not None:
            return location
    looked = ", ".join(f"${name} ({environment.get(name) or 'unset'})" for name in ("CK_ROOT", "ROCM_PATH"))
    raise ToolchainError(
        f"no Composable Kernel found: looked in {looked}, /opt/rocm*, /usr\n"
        f"  need include/{FORWARD_FACTORY}\n"
        "  install: apt-get install composablekernel-dev (AMD's repository) or libcomposable-kernel-dev "
        "(Debian experimental), or unpack a package and use --from DIR\n"
        "  the lists that ship with ckprof need none of this: ckprof list lists"
    )


def _usual_places(environment: Mapping[str, str]) -> list[Path]:
    named = [Path(environment[name]) for name in ("CK_ROOT", "ROCM_PATH") if environment.get(name)]
    return [*named, *sorted(Path("/opt").glob("rocm*"), key=_version, reverse=True), Path("/usr")]


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name))


def _named(given: Path) -> Location:
    path = given.expanduser()
    if path.is_dir():
        location = _below(path)
        if location is not None:
            return location
        raise ToolchainError(_incomplete(path))
    if not path.exists():
        target = f"a link to {path.readlink()}, which does not exist" if path.is_symlink() else ""
        raise InputError(target or "there is no such file or folder", given)
    if not path.is_file():
        raise InputError(f"is neither a file nor a folder, expected {_KINDS}", given)
    if path.suffix == ".deb":
        return Location(path=path, roots=(), archive=path)
    if path.suffix != ".a":
        raise InputError(f"expected {_KINDS}", given)
    for folder in path.absolute().parents:
        roots = _roots(folder)
        if roots:
            return Location(path=path, roots=roots, archive=path)
    raise ToolchainError(
        f"{given}: the headers of this archive were not found in the folders above it; "
        f"need include/{FORWARD_FACTORY}; put the archive below the prefix "
        "that has them and use --from PREFIX"
    )


def _incomplete(path: Path) -> str:
    tiles = any((path / below / "ck_tile").is_dir() for below in _INCLUDE)
    plain = any((path / below / "ck").is_dir() for below in _INCLUDE)
    reason = f"no {FORWARD_FACTORY} below it"
    if tiles or plain:
        what = "CK Tile" if tiles and not plain else "Composable Kernel"
        reason = (
            f"the headers of {what} are here, but not those of its instance library (ck/library): "
            "this installation can give no lists"
        )
    return f"{path}: {reason}\n  give {_KINDS}"


def _roots(prefix: Path) -> tuple[Path, ...]:
    """Return the include roots of a folder; empty if it has no instance library."""
    folders = tuple(prefix / name for name in _INCLUDE)
    first = next((folder for folder in folders if (folder / FORWARD_FACTORY).is_file()), None)
    if first is None:
        return ()
    if first.parent.name == "library":
        # A source tree keeps the device classes in a second root.
        return (first, first.parent.parent / "include")
    return (first,)


def _below(prefix: Path) -> Location | None:
    roots = _roots(prefix)
    return Location(path=prefix, roots=roots, archive=_archive_below(prefix)) if roots else None


def _archive_below(prefix: Path) -> Path | None:
    bases = (prefix, prefix.parent) if prefix.name == "include" else (prefix,)
    for base in bases:
        for name in known_lists().archives:
            for folder in _LIBRARIES:
                archives = (place / name for place in sorted(base.glob(folder)))
                # a link that leads nowhere is found, too: reading it says so
                found = next((path for path in archives if path.exists() or path.is_symlink()), None)
                if found is not None:
                    return found
    return None


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
    with contextlib.suppress(OSError, zlib.error, msgspec.DecodeError):
        data = zlib.decompress(cache_path(digest).read_bytes())
        library = msgspec.msgpack.decode(data, type=CachedLibrary)
        if library.version == _VERSION:
            if library.words != words_digest():
                library.readable = {}
            return library
    return None


def save(digest: str, library: CachedLibrary) -> None:
    """Keep a library; a cache that cannot be written is no error."""
    path = cache_path(digest)
    library.words = words_digest()
    with contextlib.suppress(OSError):
        write_atomically(path, zlib.compress(msgspec.msgpack.encode(library), _LEVEL))


def open_library(
    location: Location, *, with_archive: bool = True
) -> tuple[InstalledLibrary, Callable[[], None]]:
    """Open a library; return it, and what keeps what was read of it for later runs.

    :param with_archive: read its archive; without, uses come from recipes.
    :raises InputError: a damaged or foreign archive or package.
    :raises ToolchainError: something that reading it requires is not installed, or the package has no
        instance headers.
    """
    path, is_package = location.archive, not location.roots
    if path is None or not (with_archive or is_package):
        return InstalledLibrary(HeaderTree(location.roots), None, str(location.path)), lambda: None
    try:
        digest, label = identify_package(path) if is_package else (archive_digest(path), "")
        kept = load(digest)
        is_kept = kept is not None and (kept.symbols is not None or not (with_archive and kept.archive))
        if kept is None or not is_kept:
            if is_package:
                headers, archive, symbols = read_package(path, with_archive=with_archive)
            else:
                headers, archive, symbols = {}, path.name, _archive_symbols(path)
            kept = CachedLibrary(archive=archive, symbols=symbols, package=label, headers=headers)
    except OSError as exc:
        hint = "" if is_package else f"; {_WITHOUT_ARCHIVE}"
        raise InputError(f"cannot be read: {exc.strerror}{hint}", path) from exc
    if is_package and FORWARD_FACTORY not in kept.headers:
        raise ToolchainError(
            f"{path}: no {FORWARD_FACTORY} in this package; expected composablekernel-dev or "
            "libcomposable-kernel-dev"
        )
    compiled = None
    if with_archive and kept.symbols is not None:
        compiled = CompiledFunctions(kept.symbols, str(path), kept.readable)
    names = len(kept.readable) if is_kept else -1

    def keep() -> None:
        if len(kept.readable) != names:
            save(digest, kept)

    tree = HeaderTree(location.roots, kept.headers)
    return InstalledLibrary(tree, compiled, str(location.path), kept.package), keep


def _archive_symbols(path: Path) -> ArchiveSymbols:
    with path.open("rb") as file:
        return collect(members(file, str(path)), str(path))
