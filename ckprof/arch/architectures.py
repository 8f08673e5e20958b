"""The table of architectures: ``architectures.json`` beside this module.

A new architecture is a new entry there. Sizes are written ``MxNxK``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.arch.architecture import Architecture
from ckprof.errors import InputError, UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.arch.architecture import Sizes

TABLE: Final = Path(__file__).with_name("architectures.json")
SCHEMA: Final = "ckprof-architectures"
VERSION: Final = 1


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One architecture as the file spells it."""

    label: str
    lanes_per_wave: int
    lds_kib: int
    wave_grids: list[str]
    mma_tiles: dict[str, list[str]]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    schema: str
    version: int
    architectures: dict[str, Entry]


def read_table(data: bytes, path: Path) -> dict[str, Architecture]:
    """Return name -> architecture of a table's text.

    :param path: where it comes from; only for messages.
    :raises InputError: it is not a table of architectures, or a value is wrong.
    """
    try:
        document = msgspec.json.decode(data, type=Document)
    except msgspec.DecodeError as exc:
        raise InputError(f"not a table of architectures: {exc}", path) from None
    if (document.schema, document.version) != (SCHEMA, VERSION):
        raise InputError(
            f"expected schema {SCHEMA} version {VERSION}, got {document.schema} version {document.version}",
            path,
        )
    return {name: _architecture(name, entry, path) for name, entry in document.architectures.items()}


@lru_cache(maxsize=1)
def architectures() -> Mapping[str, Architecture]:
    """Return name -> architecture, in the order of the table."""
    return MappingProxyType(read_table(TABLE.read_bytes(), TABLE))


@lru_cache(maxsize=64)
def find_architecture(name: str) -> Architecture:
    """Return the architecture called ``name``; features behind a colon, as in ``gfx942:xnack-``, are ignored.

    :raises UsageError: there is none; the message suggests near names and lists the known ones.
    """
    known = architectures()
    found = known.get(name.partition(":")[0])
    if found is None:
        raise UsageError(f"{unknown_name('architecture', name, known)}; more can be added to {TABLE.name}")
    return found


def _architecture(name: str, entry: Entry, path: Path) -> Architecture:
    for field in ("lanes_per_wave", "lds_kib"):
        if getattr(entry, field) < 1:
            raise InputError(f"{name}.{field} is {getattr(entry, field)}, expected 1 or more", path)
    return Architecture(
        name=name,
        label=entry.label,
        lanes_per_wave=entry.lanes_per_wave,
        lds_bytes=entry.lds_kib * 1024,
        wave_grids=tuple(_sizes(text, f"{name}.wave_grids", path) for text in entry.wave_grids),
        mma_tiles=MappingProxyType(
            {
                dtype: tuple(_sizes(text, f"{name}.mma_tiles.{dtype}", path) for text in texts)
                for dtype, texts in entry.mma_tiles.items()
            }
        ),
    )


def _sizes(text: str, where: str, path: Path) -> Sizes:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"{where}: expected three positive sizes such as 2x2x1, got {text!r}", path)
    return int(parts[0]), int(parts[1]), int(parts[2])
