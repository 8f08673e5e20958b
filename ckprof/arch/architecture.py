"""What is known of one architecture: what decides which kernels it can run, and what limits them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.arch.machine import Machine

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
