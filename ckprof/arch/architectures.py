"""The table of architectures: one record for each, and everything that depends on one asks it.

ckprof's own records are in ``architectures.json``. Further ones are read from files of the same form, which
``architectures = [...]`` in ``ckprof.toml`` or ``CKPROF_ARCHITECTURES`` name:

.. code-block:: json

    {"schema": "ckprof-architectures", "version": 2,
     "architectures": {"gfx999": {"like": "gfx942", "label": "a prototype", "compute_units": 64}}}

Sizes are written ``MxNxK``. ``like`` takes every field that is not given from another record.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ckprof.arch.architecture import Architecture
from ckprof.arch.machine import Machine
from ckprof.errors import InputError, UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.arch.architecture import Sizes

TABLE: Final = Path(__file__).with_name("architectures.json")
SCHEMA: Final = "ckprof-architectures"
VERSION: Final = 2

#: the clang that is advised for every architecture that does not ask for a newer one
USUAL_CLANG_MAJOR: Final = 19

#: files with further records, in order
_added_files: list[Path] = []


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One record as a file spells it, with the fields of another one filled in."""

    label: str
    compute_units: int
    simds_per_cu: int
    waves_per_simd: int
    lanes_per_wave: int
    lds_kib: int
    wave_grids: list[str]
    mma_tiles: dict[str, list[str]]
    note: str = ""
    capabilities: list[str] = []
    macros: list[str] = []
    device_libraries: list[str] = []
    clang_major: int = USUAL_CLANG_MAJOR
    machine: Machine | None = None


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file; records are checked one by one, after ``like`` is resolved."""

    schema: str
    version: int
    architectures: dict[str, dict[str, Any]]
    #: capabilities that this file's records may have, beside those of ckprof's own table -> what they mean
    capabilities: dict[str, str] = {}


class Records(NamedTuple):
    """The records of a file with ``like`` resolved, and what they may say."""

    entries: dict[str, dict[str, Any]]
    capabilities: frozenset[str]


NO_RECORDS: Final = Records({}, frozenset())

_POSITIVE: Final = (
    *("compute_units", "simds_per_cu", "waves_per_simd", "lanes_per_wave", "lds_kib", "clang_major"),
)


def read_table(data: bytes, path: Path, known: Records = NO_RECORDS) -> dict[str, Architecture]:
    """Return name -> architecture of a table's text.

    :param path: where it comes from; only for messages.
    :param known: records of other files, for ``like``, and capabilities.
    :raises InputError: it is not a table of architectures, or a value is wrong.
    """
    return _checked(_records(data, path, known), path)


def use_files(paths: Iterable[Path]) -> None:
    """Add the records of these files to ckprof's own, in place of those of an earlier call.

    :raises InputError: a file cannot be read or is wrong, or a name is taken; the table stays as it was.
    """
    wanted = list(dict.fromkeys(path.absolute() for path in paths))
    if wanted == _added_files:
        return
    _load(wanted)  # a wrong file must not become part of the table
    _added_files[:] = wanted
    architectures.cache_clear()
    find_architecture.cache_clear()


@lru_cache(maxsize=1)
def architectures() -> Mapping[str, Architecture]:
    """Return name -> architecture: ckprof's own in the order of the table, then those of added files."""
    return MappingProxyType(_load(_added_files))


@lru_cache(maxsize=64)
def find_architecture(name: str) -> Architecture:
    """Return the architecture called ``name``; features behind a colon, as in ``gfx942:xnack-``, are ignored.

    :raises UsageError: there is none; the message suggests near names and lists the known ones.
    """
    known = architectures()
    found = known.get(name.partition(":")[0])
    if found is None:
        raise UsageError(
            f"{unknown_name('architecture', name, known)}; more can be added by a file that "
            "'architectures' in ckprof.toml or CKPROF_ARCHITECTURES names"
        )
    return found


def _load(added: Iterable[Path]) -> dict[str, Architecture]:
    known = _records(TABLE.read_bytes(), TABLE, NO_RECORDS)
    table = _checked(known, TABLE)
    owners = dict.fromkeys(table, TABLE)
    for path in added:
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise InputError(f"cannot read: {exc.strerror}", path) from None
        own = _records(data, path, known)
        for name in own.entries:
            if name in owners:
                raise InputError(f"{name} is in {owners[name]} already; choose another name", path)
        table |= _checked(own, path)
        known = Records({**known.entries, **own.entries}, own.capabilities)
        owners |= dict.fromkeys(own.entries, path)
    return table


def _records(data: bytes, path: Path, known: Records) -> Records:
    try:
        document = msgspec.json.decode(data, type=Document)
    except msgspec.DecodeError as exc:
        raise InputError(f"not a table of architectures: {exc}", path) from None
    if (document.schema, document.version) != (SCHEMA, VERSION):
        raise InputError(
            f"expected schema {SCHEMA} version {VERSION}, got {document.schema} version {document.version}",
            path,
        )
    entries: dict[str, dict[str, Any]] = {}
    for name, record in document.architectures.items():
        if ":" in name or not name:
            raise InputError(f"{name!r} is not a name of an architecture, expected one such as gfx942", path)
        like = record.pop("like", None)
        base: dict[str, Any] = {}
        if like is not None:
            earlier = {**known.entries, **entries}
            if like not in earlier:
                raise InputError(f"{name}.like: {unknown_name('architecture', str(like), earlier)}", path)
            base = earlier[like]
        entries[name] = {**base, **record}
    return Records(entries, known.capabilities | frozenset(document.capabilities))


def _checked(records: Records, path: Path) -> dict[str, Architecture]:
    table = {}
    for name, record in records.entries.items():
        try:
            entry = msgspec.convert(record, Entry)
        except msgspec.ValidationError as exc:
            raise InputError(f"{name}: {exc}", path) from None
        for capability in entry.capabilities:
            if capability not in records.capabilities:
                known = unknown_name("capability", capability, sorted(records.capabilities))
                raise InputError(f"{name}.capabilities: {known}", path)
        table[name] = _architecture(name, entry, path)
    return table


def _architecture(name: str, entry: Entry, path: Path) -> Architecture:
    for field in _POSITIVE:
        if getattr(entry, field) < 1:
            raise InputError(f"{name}.{field} is {getattr(entry, field)}, expected 1 or more", path)
    return Architecture(
        name=name,
        label=entry.label,
        note=entry.note,
        compute_units=entry.compute_units,
        simds_per_cu=entry.simds_per_cu,
        waves_per_simd=entry.waves_per_simd,
        lanes_per_wave=entry.lanes_per_wave,
        lds_bytes=entry.lds_kib * 1024,
        capabilities=frozenset(entry.capabilities),
        macros=tuple(entry.macros),
        device_libraries=tuple(entry.device_libraries),
        clang_major=entry.clang_major,
        wave_grids=tuple(_sizes(text, f"{name}.wave_grids", path) for text in entry.wave_grids),
        mma_tiles=MappingProxyType(
            {
                dtype: tuple(_sizes(text, f"{name}.mma_tiles.{dtype}", path) for text in texts)
                for dtype, texts in entry.mma_tiles.items()
            }
        ),
        machine=entry.machine,
    )


def _sizes(text: str, where: str, path: Path) -> Sizes:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"{where}: expected three positive sizes such as 2x2x1, got {text!r}", path)
    return int(parts[0]), int(parts[1]), int(parts[2])
