"""Writing catalogs, byte for byte as upstream's converter does."""

from __future__ import annotations

import filecmp
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.catalog.schema import to_document
from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ckprof.model.catalog import Catalog

#: records whose text is held at once
_RECORDS_AT_ONCE: Final = 10_000


def render_catalog(catalog: Catalog) -> str:
    """Return the text of the catalog file: two-space indent, ASCII, no newline at the end."""
    document = to_document(catalog)
    packed = msgspec.json.encode(document)
    if packed.isascii():
        return msgspec.json.format(packed, indent=2).decode()
    # Only the standard library escapes other characters the way upstream's files have them.
    return json.dumps(msgspec.to_builtins(document), indent=2)


def write_catalog(path: Path, catalog: Catalog) -> bool:
    """Write the catalog file unless it holds these bytes already; see :func:`write_atomically`."""
    if len(catalog.records) <= _RECORDS_AT_ONCE:
        return write_atomically(path, render_catalog(catalog))
    return _write(path, _pieces(catalog))


def write_atomically(path: Path, text: str | bytes) -> bool:
    """Write ``text`` beside ``path`` and rename it, so that no reader ever sees half of it.

    Nothing is touched if the file holds the same bytes already. Directories are made as needed. A symbolic
    link stays, and the file that it names is written; so is a device or a pipe, directly.

    :returns: whether the file was written.
    :raises InputError: the file or its directory cannot be written.
    """
    return _write(path, (text.encode() if isinstance(text, str) else text,))


def _write(path: Path, pieces: Iterable[bytes]) -> bool:
    try:
        target = resolved(path)
        # What is held in memory is compared first, so that an unchanged file needs no writable folder.
        if isinstance(pieces, tuple) and _holds(target, b"".join(pieces)):
            return False
        if target.exists() and not (target.is_file() or target.is_dir()):
            _fill(target, pieces)
            return True
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            _fill(beside, pieces)
            if target.is_file() and filecmp.cmp(beside, target, shallow=False):
                return False
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot write: {path.parent} is no folder", path) from None
    except OSError as exc:
        raise InputError(f"cannot write: {exc.strerror}", path) from None
    return True


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _fill(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as stream:
        stream.writelines(pieces)


def _pieces(catalog: Catalog) -> Iterator[bytes]:
    """Yield the text of a catalog of any length, some records at a time."""
    head, tail = render_catalog(replace(catalog, records=())).rsplit("[]", 1)
    yield f"{head}[".encode()
    for start in range(0, len(catalog.records), _RECORDS_AT_ONCE):
        part = render_catalog(replace(catalog, records=catalog.records[start : start + _RECORDS_AT_ONCE]))
        records = part[len(head) + 1 : part.rindex("\n", 0, part.rindex("]"))]
        yield f"{',' if start else ''}{records}".encode()
    yield f"\n  ]{tail}".encode()


def resolved(path: Path, within: Path | None = None) -> Path:
    """Return the file that ``path`` names, through symbolic links, whether it exists or not.

    :param within: a folder that the file must lie in, without symbolic links itself.
    :raises InputError: a link leads out of the folder ``within``, or links go round in a circle.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError):
        raise InputError("cannot follow: the symbolic links go round in a circle", path) from None
    if within is not None and not target.is_relative_to(within):
        raise InputError(f"a symbolic link leads out of the output folder, to {target}", path)
    return target
