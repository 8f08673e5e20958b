"""The list of what a source tree holds, written beside the sources.

It carries what each kernel is, so that nothing has to be read out of file names, and it is the only authority
on which files of an earlier tree may be removed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from ckprof.errors import InputError
from ckprof.kernels.build.sources import KernelFolder, MarkedSources
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.source.source_tree import TreeRequest

FILE = "manifest.json"
SCHEMA = "ckprof-source-tree"
VERSION = 1


def render(request: TreeRequest, kernels: Sequence[Mapping[str, object]], files: Sequence[str]) -> str:
    """Return the text of the manifest of a tree.

    :param kernels: per kernel ``name``, ``key``, ``symbol``, ``id``, ``instance``, ``instance_string`` and
        ``files``, the latter relative to the root of the tree.
    :param files: further files of the tree.
    """
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "generator": __version__,
        "library": request.library_name,
        "direction": request.direction.id,
        "arch": request.arch,
        "api_level": request.api_level,
        "target": request.target,
        "files": files,
        # kernels per registration source, if the tree has any
        "chunk_size": request.embedding.chunk_size if request.embedding else None,
        "kernels": kernels,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def remove_stale(root: Path, kept: Container[str]) -> tuple[Path, ...]:
    """Remove the files that the manifest on disk lists and the new tree lacks, and return them.

    :param kept: the files of the tree that is being written.
    """
    removed = []
    for name in _listed_files(root):
        path = root / name
        if name not in kept and path.is_file():
            path.unlink()
            removed.append(path)
    return tuple(removed)


def built_for(root: Path) -> tuple[str, str] | None:
    """Return architecture and API level that a tree was generated for; ``None`` if nothing says it."""
    content = _content(root)
    if content.get("version") != VERSION or "arch" not in content or "api_level" not in content:
        return None
    return str(content["arch"]), str(content["api_level"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTree(KernelFolder):
    """A source tree on disk, as its manifest describes it."""

    kernels: tuple[MarkedSources, ...]
    direction: str
    arch: str
    api_level: str
    #: id of the target that it was built for; empty in trees of earlier versions
    target: str


def read_tree(root: Path) -> StoredTree | None:
    """Return the tree on disk; ``None`` if there is no manifest of one.

    :raises InputError: the manifest is damaged, or names files outside of the folder.
    """
    content = _content(root)
    if not content:
        return None
    if content.get("version") != VERSION:
        raise InputError(f"expected schema {SCHEMA} version {VERSION}", root / FILE)
    try:
        return StoredTree(
            root=root.absolute(),
            library_name=str(content["library"]),
            kernels=tuple(_kernel(root.absolute(), kernel) for kernel in content["kernels"]),
            **{name: str(content.get(name, "")) for name in ("direction", "arch", "api_level", "target")},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"damaged: {error!r}", root / FILE) from None


def _kernel(root: Path, kernel: Mapping[str, Any]) -> MarkedSources:
    header, entry = (str(name) for name in kernel["files"])
    if not (_is_below_root(header) and _is_below_root(entry)):
        raise ValueError("a file is not below the folder")
    return MarkedSources(
        header=root / header,
        entry=root / entry,
        key=str(kernel["key"]),
        name=str(kernel["name"]),
        symbol=str(kernel["symbol"]),
        device_marker=str(kernel["device_marker"]),
    )


def direction_of(root: Path) -> str | None:
    """Return the direction of the tree on disk, if there is one."""
    direction = _content(root).get("direction")
    return None if direction is None else str(direction)


def chunk_size_of(root: Path) -> int | None:
    """Return how many kernels the registration sources of the tree on disk have, if it has any."""
    size = _content(root).get("chunk_size")
    return size if isinstance(size, int) and size > 0 else None


def _content(root: Path) -> dict[str, Any]:
    """Return a manifest; nothing if it is missing, unreadable or not one of ours."""
    try:
        content = json.loads((root / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and content.get("schema") == SCHEMA else {}


def _listed_files(root: Path) -> list[str]:
    """Return the files below the root that its manifest lists."""
    content = _content(root)
    if content.get("version") != VERSION:
        return []
    try:
        names = [str(name) for kernel in content["kernels"] for name in kernel["files"]]
        names += [str(name) for name in content.get("files", ())]
    except (KeyError, TypeError):
        return []
    return [name for name in names if _is_below_root(name)]


def _is_below_root(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
