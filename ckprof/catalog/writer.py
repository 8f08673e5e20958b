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


def write_catalog(path: Path, catalog: Catalog) -> bool:
    """Write the catalog file unless it holds these bytes already.

    :returns: whether the file was written.
    :raises InputError: the file or its directory cannot be written.
    """
    return write_atomically(path, render_catalog(catalog))


def write_atomically(path: Path, text: str) -> bool:
    """Write ``text`` beside ``path`` and rename it, so that no reader ever sees half of it.

    Nothing is touched if the file holds the same bytes already. Directories are made as needed.

    :returns: whether the file was written.
    :raises InputError: the file or its directory cannot be written.
    """
    data = text.encode()
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as exc:
        raise InputError(f"cannot write: {exc.strerror}", path) from None
    return True
