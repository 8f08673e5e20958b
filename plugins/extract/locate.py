"""Finds the installed library: its include roots and its archive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ckprof.errors import InputError, ToolchainError
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.headers import FORWARD_FACTORY

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
    is_package: bool = False


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
    raise ToolchainError(_missing(environment))


def _usual_places(environment: Mapping[str, str]) -> list[Path]:
    named = [Path(environment[name]) for name in ("CK_ROOT", "ROCM_PATH") if environment.get(name)]
    versions = sorted(Path("/opt").glob("rocm*"), key=_version, reverse=True)
    return [*named, *versions, Path("/usr")]


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name))


def _missing(environment: Mapping[str, str]) -> str:
    def shown(name: str) -> str:
        return f"${name} ({environment.get(name) or 'unset'})"

    return (
        f"no Composable Kernel found: looked in {shown('CK_ROOT')}, {shown('ROCM_PATH')}, /opt/rocm*, /usr\n"
        f"  need include/{FORWARD_FACTORY}\n"
        "  install: apt-get install composablekernel-dev (AMD's repository) or libcomposable-kernel-dev "
        "(Debian experimental), or unpack a package and use --from DIR\n"
        "  the lists that ship with ckprof need none of this: ckprof list lists"
    )


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
        return Location(path=path, roots=(), archive=path, is_package=True)
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
    if not roots:
        return None
    return Location(path=prefix, roots=roots, archive=_archive(prefix))


def _archive(prefix: Path) -> Path | None:
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
