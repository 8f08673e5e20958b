"""Writing catalogs, byte for byte as upstream's converter does."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import msgspec

from ckprof.catalog.schema import to_document
from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.catalog import Catalog


def render_catalog(catalog: Catalog) -> str:
    """Return the text of the catalog file: two-space indent, ASCII, no newline at the end."""
    document = to_document(catalog)
    packed = msgspec.json.encode(document)
    if packed.isascii():
        return msgspec.json.format(packed, indent=2).decode()
    # Only the standard library escapes other characters the way upstream's files have them.
    return json.dumps(msgspec.to_builtins(document), indent=2)


def write_catalog(path: Path, catalog: Catalog, *, within: Path | None = None) -> bool:
    """Write the catalog file unless it holds these bytes already; see :func:`write_atomically`."""
    return write_atomically(path, render_catalog(catalog), within=within)


def write_atomically(path: Path, text: str, *, within: Path | None = None) -> bool:
    """Write ``text`` beside ``path`` and rename it, so that no reader ever sees half of it.

    Nothing is touched if the file holds the same bytes already. Directories are made as needed. A symbolic
    link stays, and the file that it names is written; so is a device or a pipe, directly.

    :param within: a folder that the file must lie in, symbolic links resolved.
    :returns: whether the file was written.
    :raises InputError: the file or its directory cannot be written, or a link leads out of ``within``.
    """
    data = text.encode()
    try:
        target = resolved(path, within)
        if target.exists() and not (target.is_file() or target.is_dir()):
            target.write_bytes(data)
            return True
        if target.is_file() and target.read_bytes() == data:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot write: {path.parent} is no folder", path) from None
    except OSError as exc:
        raise InputError(f"cannot write: {exc.strerror}", path) from None
    return True


def resolved(path: Path, within: Path | None = None) -> Path:
    """Return the file that ``path`` names, through symbolic links, whether it exists or not.

    :raises InputError: a link leads out of the folder ``within``, or links go round in a circle.
    """
    try:
        target = path.resolve()
        root = within.resolve() if within else None
    except (OSError, RuntimeError):
        raise InputError("cannot follow: the symbolic links go round in a circle", path) from None
    if root is not None and not target.is_relative_to(root):
        raise InputError(f"a symbolic link leads out of the output folder, to {target}", path)
    return target
