"""The list of what a source tree holds, written with the sources, and the record of how its files looked.

The list carries what each kernel is, so that nothing has to be read out of file names, and it is the only
authority on which files of an earlier tree may be removed. A tree that is up to date is left alone; without
the record everything is compared instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

import ckprof
from ckprof.errors import InputError, system_errors
from ckprof.files import create, read_own, write_if_changed
from ckprof.kernels.keys import KernelFolder, KernelSources
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir


def write_source(path: Path, text: str) -> bool:
    """Write ``text`` unless the file holds it already, and say whether it was written.

    :raises InputError: the file cannot be written.
    """
    with system_errors(InputError, "cannot write the file", path):
        return create(path, text.encode()) or write_if_changed(path, text)


RECORD_FILE: Final = ".ckprof-tree.json"

#: Files of the generator that decide what it writes.
_DECIDING: Final = frozenset({".py", ".j2", ".json", ".h", ".hpp", ".cpp"})


#: name, device marker and weight of kernels, in order
Kernels: TypeAlias = "Sequence[tuple[str, str, int]]"
#: the record: digest of everything that the tree was written from, its kernels, and path below the root ->
#: size in bytes and time of the last change in ns
_Record: TypeAlias = tuple[str, list[tuple[str, str, int]], dict[str, tuple[int, int]]]


def request_digest(parts: Iterable[str], packages: Iterable[str]) -> str:
    """Return the digest of a request for a tree.

    :param parts: everything that is asked for.
    :param packages: import names of the packages that take part in writing, beside ckprof.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (*parts, *_generator(packages)):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def up_to_date(root: Path, digest: str) -> Kernels | None:
    """Return the kernels if the tree was written from the same request and nobody has touched it since."""
    try:
        written, kernels, files = msgspec.json.decode(read_own(root / RECORD_FILE), type=_Record)
    except (OSError, msgspec.DecodeError):
        return None
    return kernels if written == digest and _looks(root, files) == files else None


def remember(root: Path, digest: str, kernels: Kernels, files: Iterable[str]) -> None:
    """Record how the files look."""
    looks = _looks(root, dict.fromkeys(files, (0, 0)))
    write_source(root / RECORD_FILE, msgspec.json.encode((digest, kernels, looks)).decode())


def forget(root: Path) -> None:
    """Remove the record, before the tree is changed."""
    # whatever is in the way is reported by what writes the tree
    with contextlib.suppress(OSError):
        (root / RECORD_FILE).unlink(missing_ok=True)


def _looks(root: Path, files: Mapping[str, object]) -> dict[str, tuple[int, int]]:
    """Return size and time of those files that exist."""
    looks: dict[str, tuple[int, int]] = {}
    base = f"{root}{os.sep}"
    for name in files:
        try:
            status = os.stat(base + name)  # noqa: PTH116 - of thousands of files
        except OSError:
            continue
        looks[name] = (status.st_size, status.st_mtime_ns)
    return looks


def _generator(packages: Iterable[str]) -> list[str]:
    """Return size and time of every file that decides what is written."""
    folders = {Path(ckprof.__path__[0])}
    for name in packages:
        module = sys.modules.get(name)
        folders.update(Path(folder) for folder in getattr(module, "__path__", ()))
        if module is not None and not hasattr(module, "__path__") and module.__file__:
            folders.add(Path(module.__file__))
    looks = []
    for folder in sorted(folders):
        paths = [folder] if folder.is_file() else sorted(_deciding_files(str(folder)))
        for path in paths:
            status = os.stat(path)  # noqa: PTH116 - as above
            looks.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return looks


def _deciding_files(folder: str) -> Iterable[str]:
    for path, _, names in os.walk(folder):
        for name in names:
            if os.path.splitext(name)[1] in _DECIDING:  # noqa: PTH122 - as above
                yield os.path.join(path, name)  # noqa: PTH118 - as above


FILE = "manifest.json"
SCHEMA = "ckprof-source-tree"
VERSION = 1


def render(build_dir: BuildDir, kernels: Sequence[Mapping[str, object]], files: Sequence[str]) -> str:
    """Return the text of the manifest of a tree.

    :param kernels: per kernel ``name``, ``key``, ``symbol``, ``id``, ``instance``, ``instance_string`` and
        ``files``, the latter relative to the root of the tree.
    :param files: further files of the tree.
    """
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "generator": __version__,
        "library": build_dir.direction.interface.library,
        "direction": build_dir.direction.id,
        "arch": build_dir.arch,
        "api_level": build_dir.recipe.api_level,
        "target": build_dir.recipe.target,
        "files": files,
        # kernels per registration source, if the tree has any
        "chunk_size": build_dir.chunk_size,
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

    direction: str
    arch: str
    api_level: str
    #: id of the target that it was built for
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
            **{name: str(content[name]) for name in ("direction", "arch", "api_level", "target")},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"damaged: {error!r}", root / FILE) from None


def _kernel(root: Path, kernel: Mapping[str, Any]) -> KernelSources:
    header, entry = (str(name) for name in kernel["files"])
    if not (_is_below_root(header) and _is_below_root(entry)):
        raise ValueError("a file is not below the folder")
    return KernelSources(
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
        content = json.loads(read_own(root / FILE))
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
