"""Architectures: what decides which kernels one can run, and what limits them there; which there are.

The states of CK Tile's interface are named here as well. Which of them a set of headers has is for the target
to find out; what a kernel family can express at a level is for the family to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.plain_text import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


#: forward and backward weight; hot loop and tail are template arguments of a kernel
API_LEVEL_2025_07: Final = "2025-07"
#: all directions; hot loop and tail are still template arguments, what is read and written by vectors as well
API_LEVEL_2025_11: Final = "2025-11"
#: all directions and families
API_LEVEL_2026_06: Final = "2026-06"

#: oldest first
API_LEVELS: Final = (API_LEVEL_2025_07, API_LEVEL_2025_11, API_LEVEL_2026_06)

#: The state that is assumed where no target says which headers it has.
LATEST_API_LEVEL: Final = API_LEVELS[-1]


#: Sizes along m, n and k.
Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Architecture:
    """One GPU architecture."""

    #: LLVM's name, e.g. ``gfx942``
    name: str
    #: what it is sold as
    label: str
    #: what readers of the record should know; empty for nothing
    note: str
    #: as the driver reports them for one device
    compute_units: int
    simds_per_cu: int
    #: waves that a SIMD can hold
    waves_per_simd: int
    lanes_per_wave: int
    #: local memory of one workgroup in bytes
    lds_bytes: int
    #: what it can do and others cannot, by the names that the table declares; code asks for these, never for
    #: an architecture's name
    capabilities: frozenset[str]
    #: preprocessor macros that CK Tile's build system defines for the device
    macros: tuple[str, ...]
    #: instruction sets whose device library holds the same properties, best first
    device_libraries: tuple[str, ...]
    #: major version of the clang that is advised for it
    clang_major: int
    #: arrangements of the waves of a block, in the order of the table
    wave_grids: tuple[Sizes, ...]
    #: data type or compute type -> tiles of its matrix instructions, in the order of the table; a missing
    #: type has none. A tile may be several instructions deep. ``tf32`` stands for those of LLVM's feature
    #: ``xf32-insts``: ``v_mfma_f32_16x16x8_xf32`` and ``v_mfma_f32_32x32x4_xf32``
    mma_tiles: Mapping[str, tuple[Sizes, ...]]
    #: registers, clocks and rates; ``None`` where they are unknown
    machine: Machine | None


class Machine(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The numbers that occupancy and estimates need; rates are dense, without sparsity."""

    model: str
    #: peak clock
    clock_mhz: int
    memory_gb_per_s: float
    last_level_cache_mib: int
    #: whether vector and accumulation registers share one file
    unified_registers: bool
    vgprs_per_simd: int
    #: 0 where they are a part of the others
    agprs_per_simd: int
    #: registers are handed out in multiples of this
    vgpr_grain: int
    sgprs_per_simd: int
    sgpr_grain: int
    #: LDS is handed out in multiples of so many bytes
    lds_grain: int
    #: workgroups of several waves that a compute unit can hold
    workgroups_per_cu: int
    #: data type in the instruction's name -> operations per cycle of one SIMD's matrix unit
    flops_per_cycle: dict[str, int]
    #: instruction -> cycles that it keeps a SIMD's matrix unit busy, where the rate of its data type does not
    #: say: older shapes do not run at the full rate of newer architectures
    mfma_cycles: dict[str, int] = {}

    @property
    def last_level_cache_bytes(self) -> int:
        """What a flush of the caches must exceed."""
        return self.last_level_cache_mib * 2**20


TABLE: Final = Path(__file__).with_name("architectures.json")
SCHEMA: Final = "ckprof-architectures"
VERSION: Final = 2

#: the clang that is advised for every architecture that does not ask for a newer one
USUAL_CLANG_MAJOR: Final = 19

#: files with further records, in order
_added_files: list[Path] = []


class ArchitectureEntry(msgspec.Struct, forbid_unknown_fields=True):
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


class ArchitectureDocument(msgspec.Struct, forbid_unknown_fields=True):
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


def read_table(data: bytes, path: Path, earlier: Records = NO_RECORDS) -> dict[str, Architecture]:
    """Return name -> architecture of a table's text.

    :param path: where it comes from; only for messages.
    :param earlier: records of other files, for ``like``, and capabilities.
    :raises InputError: it is not a table of architectures, or a value is wrong.
    """
    return _checked(_records(data, path, earlier), path)


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
    """Return the architecture called ``name``; features after a colon, as in ``gfx942:xnack-``, are ignored.

    :raises UsageError: there is none; the message suggests near names and lists the known ones.
    """
    table = architectures()
    architecture = table.get(name.partition(":")[0])
    if architecture is None:
        raise UsageError(
            f"{unknown_name('architecture', name, table)}; more can be added by a file that "
            "'architectures' in ckprof.toml or CKPROF_ARCHITECTURES names"
        )
    return architecture


def _load(added: Iterable[Path]) -> dict[str, Architecture]:
    earlier = _records(TABLE.read_bytes(), TABLE, NO_RECORDS)
    table = _checked(earlier, TABLE)
    owners = dict.fromkeys(table, TABLE)
    for path in added:
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise InputError(f"cannot read: {exc.strerror}", path) from None
        records = _records(data, path, earlier)
        for name in records.entries:
            if name in owners:
                raise InputError(f"{name} is in {owners[name]} already; choose another name", path)
        table |= _checked(records, path)
        earlier = Records({**earlier.entries, **records.entries}, records.capabilities)
        owners |= dict.fromkeys(records.entries, path)
    return table


def _records(data: bytes, path: Path, earlier: Records) -> Records:
    try:
        document = msgspec.json.decode(data, type=ArchitectureDocument)
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
            bases = {**earlier.entries, **entries}
            if like not in bases:
                raise InputError(f"{name}.like: {unknown_name('architecture', str(like), bases)}", path)
            base = bases[like]
        entries[name] = {**base, **record}
    return Records(entries, earlier.capabilities | frozenset(document.capabilities))


def _checked(records: Records, path: Path) -> dict[str, Architecture]:
    table = {}
    for name, record in records.entries.items():
        try:
            entry = msgspec.convert(record, ArchitectureEntry)
        except msgspec.ValidationError as exc:
            raise InputError(f"{name}: {exc}", path) from None
        for capability in entry.capabilities:
            if capability not in records.capabilities:
                message = unknown_name("capability", capability, sorted(records.capabilities))
                raise InputError(f"{name}.capabilities: {message}", path)
        table[name] = _architecture(name, entry, path)
    return table


def _architecture(name: str, entry: ArchitectureEntry, path: Path) -> Architecture:
    for field in _POSITIVE:
        if getattr(entry, field) < 1:
            raise InputError(f"{name}.{field} is {getattr(entry, field)}, expected 1 or more", path)
    values = msgspec.structs.asdict(entry)
    values["lds_bytes"] = values.pop("lds_kib") * 1024
    values["capabilities"] = frozenset(entry.capabilities)
    values["macros"], values["device_libraries"] = tuple(entry.macros), tuple(entry.device_libraries)
    values["wave_grids"] = tuple(_sizes(text, f"{name}.wave_grids", path) for text in entry.wave_grids)
    values["mma_tiles"] = MappingProxyType(
        {
            dtype: tuple(_sizes(text, f"{name}.mma_tiles.{dtype}", path) for text in texts)
            for dtype, texts in entry.mma_tiles.items()
        }
    )
    return Architecture(name=name, **values)


def _sizes(text: str, where: str, path: Path) -> Sizes:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"{where}: expected three positive sizes such as 2x2x1, got {text!r}", path)
    return int(parts[0]), int(parts[1]), int(parts[2])
