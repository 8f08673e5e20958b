"""The list of what a source tree holds, written beside the sources.

It carries what each kernel is, so that nothing has to be read out of file names, and it is the only authority
on which files of an earlier tree may be removed.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

FILE = "manifest.json"
SCHEMA = "ckprof-source-tree"
VERSION = 1


def render(
    *,
    library: str,
    direction: str,
    arch: str,
    api_level: str,
    kernels: Sequence[Mapping[str, object]],
    files: Sequence[str] = (),
    chunk_size: int | None = None,
) -> str:
    """Return the text of a manifest.

    :param kernels: per kernel ``name``, ``key``, ``symbol``, ``id``, ``instance``, ``instance_string`` and
        ``files``, the latter relative to the root of the tree.
    :param files: further files of the tree.
    :param chunk_size: kernels per registration source, if the tree has any.
    """
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "generator": __version__,
        "library": library,
        "direction": direction,
        "arch": arch,
        "api_level": api_level,
        "files": files,
        "chunk_size": chunk_size,
        "kernels": kernels,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def remove_stale(root: Path, kept: Container[str]) -> tuple[Path, ...]:
    """Remove the files that the manifest on disk lists and the new tree lacks, and return them.

    :param kept: the files of the tree that is being written.
    """
    removed = []
    for name in _listed_files(root / FILE):
        path = root / name
        if name not in kept and path.is_file():
            path.unlink()
            removed.append(path)
    return tuple(removed)


def built_for(root: Path) -> tuple[str, str] | None:
    """Return architecture and API level that a tree was generated for; ``None`` if nothing says it."""
    try:
        content = json.loads((root / FILE).read_bytes())
        if content["schema"] != SCHEMA or content["version"] != VERSION:
            return None
        return str(content["arch"]), str(content["api_level"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def direction_of(root: Path) -> str | None:
    """Return the direction of the tree on disk, if there is one."""
    try:
        content = json.loads((root / FILE).read_bytes())
        return str(content["direction"]) if content["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def chunk_size_of(root: Path) -> int | None:
    """Return how many kernels the registration sources of the tree on disk have, if it has any."""
    try:
        size = json.loads((root / FILE).read_bytes())["chunk_size"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return size if isinstance(size, int) and size > 0 else None


def _listed_files(path: Path) -> list[str]:
    """Return the files that a manifest lists; none if it is missing, unreadable or not one of ours."""
    try:
        content = json.loads(path.read_bytes())
        if content["schema"] != SCHEMA or content["version"] != VERSION:
            return []
        names = [str(name) for kernel in content["kernels"] for name in kernel["files"]]
        names += [str(name) for name in content.get("files", ())]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in names if _is_below_root(name)]


def _is_below_root(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
