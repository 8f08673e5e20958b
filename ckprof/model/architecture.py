"""Architectures: what decides which kernels one can run, and what limits them there; which there are.

The states of CK Tile's interface are named here as well. Which of them a set of headers has is for the target
to find out; what a kernel family can express at a level is for the family to say.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, UsageError, input_errors
from ckprof.files import content_of, decoded
from ckprof.sanitize import unknown_name

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


class Machine(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The numbers that occupancy and estimates need; rates are dense, without sparsity."""

    model: str
    #: peak clock
    clock_mhz: int
    memory_gb_per_s: float
    last_level_cache_mib: int
    vgprs_per_simd: int
    #: 0 where they share one file with the others
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


class Architecture(msgspec.Struct, forbid_unknown_fields=True, frozen=True, eq=False, kw_only=True):
    """One GPU architecture: a record of a file, with the fields of another one filled in."""

    #: LLVM's name, e.g. ``gfx942``
    name: str
    #: what it is sold as
    label: str
    #: what readers of the record should know; empty for nothing
    note: str = ""
    #: as the driver reports them for one device
    compute_units: int
    simds_per_cu: int
    #: waves that a SIMD can hold
    waves_per_simd: int
    lanes_per_wave: int
    #: local memory of one workgroup
    lds_kib: int
    #: what it can do and others cannot, by the names that the table declares; code asks for these, never for
    #: an architecture's name
    capabilities: frozenset[str] = frozenset()
    #: preprocessor macros that CK Tile's build system defines for the device
    macros: tuple[str, ...] = ()
    #: instruction sets whose device library holds the same properties, best first
    device_libraries: tuple[str, ...] = ()
    #: major version of the clang that is advised for it
    clang_major: int = USUAL_CLANG_MAJOR
    #: arrangements of the waves of a block, in the order of the table
    wave_grids: tuple[Sizes, ...]
    #: data type or compute type -> tiles of its matrix instructions, in the order of the table; a missing
    #: type has none. A tile may be several instructions deep. ``tf32`` stands for those of LLVM's feature
    #: ``xf32-insts``: ``v_mfma_f32_16x16x8_xf32`` and ``v_mfma_f32_32x32x4_xf32``
    mma_tiles: dict[str, tuple[Sizes, ...]]
    #: registers, clocks and rates; ``None`` where they are unknown
    machine: Machine | None = None

    @property
    def lds_bytes(self) -> int:
        """Local memory of one workgroup."""
        return self.lds_kib * 1024


class ArchitectureDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file; records are checked one by one, after ``like`` is resolved."""

    schema: str
    version: int
    architectures: dict[str, dict[str, Any]]
    #: capabilities that this file's records may have, beside those of ckprof's own table -> what they mean
    capabilities: dict[str, str] = {}


_POSITIVE: Final = (
    *("compute_units", "simds_per_cu", "waves_per_simd", "lanes_per_wave", "lds_kib", "clang_major"),
)


def read_table(
    data: bytes, path: Path, records: dict[str, dict[str, Any]], capabilities: set[str]
) -> dict[str, Architecture]:
    """Return name -> architecture of a table's text.

    :param path: where it comes from; only for messages.
    :param records: of other files, for ``like``; those of this one are added.
    :param capabilities: that records may have; those that this file declares are added.
    :raises InputError: it is not a table of architectures, or a value is wrong.
    """
    document = decoded(data, path, ArchitectureDocument, "a table of architectures", SCHEMA, VERSION)
    capabilities |= document.capabilities.keys()
    for name, record in document.architectures.items():
        if ":" in name or not name:
            raise InputError(f"{name!r} is not a name of an architecture, expected one such as gfx942", path)
        like = record.pop("like", None)
        if like is not None and like not in records:
            raise InputError(f"{name}.like: {unknown_name('architecture', str(like), records)}", path)
        records[name] = {**(records[like] if like is not None else {}), **record}
    return {name: _architecture(name, records[name], capabilities, path) for name in document.architectures}


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
    table: dict[str, Architecture] = {}
    records: dict[str, dict[str, Any]] = {}
    capabilities: set[str] = set()
    owners: dict[str, Path] = {}
    for path in (TABLE, *added):
        found = read_table(content_of(path), path, records, capabilities)
        for name in found:
            if name in owners:
                raise InputError(f"{name} is in {owners[name]} already; choose another name", path)
        table |= found
        owners |= dict.fromkeys(found, path)
    return table


def _architecture(name: str, record: dict[str, Any], capabilities: set[str], path: Path) -> Architecture:
    sizes = {field: record[field] for field in ("wave_grids", "mma_tiles") if field in record}
    values = {**record, **_with_sizes(sizes, name, path), "name": name}
    with input_errors(msgspec.ValidationError, name, path):
        if "name" in record:
            raise msgspec.ValidationError("Object contains unknown field `name`")
        found = msgspec.convert(values, Architecture)
    for capability in sorted(found.capabilities - capabilities):
        message = unknown_name("capability", capability, sorted(capabilities))
        raise InputError(f"{name}.capabilities: {message}", path)
    for field in _POSITIVE:
        if getattr(found, field) < 1:
            raise InputError(f"{name}.{field} is {getattr(found, field)}, expected 1 or more", path)
    return found


def _with_sizes(value: Any, where: str, path: Path) -> Any:
    """Return a value with each text such as ``2x2x1`` as three numbers."""
    if isinstance(value, dict):
        return {name: _with_sizes(item, f"{where}.{name}", path) for name, item in value.items()}
    return [_sizes(item, where, path) for item in value] if isinstance(value, list) else value


def _sizes(text: object, where: str, path: Path) -> Sizes:
    parts = text.split("x") if isinstance(text, str) else []
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"{where}: expected three positive sizes such as 2x2x1, got {text!r}", path)
    return int(parts[0]), int(parts[1]), int(parts[2])
