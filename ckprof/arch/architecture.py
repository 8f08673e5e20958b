"""What is known of one architecture: what decides which kernels it can run, and what limits them there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.arch.machine import Machine

#: Sizes along m, n and k.
Sizes = tuple[int, int, int]


class Capability(Enum):
    """What some architectures can do and others cannot; code asks for these, never for a name."""

    #: CK Tile runs stream-K kernels there
    STREAM_K = "stream_k"
    #: global memory can be loaded into local memory without passing through registers
    DIRECT_LDS = "direct_lds"


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
    capabilities: frozenset[Capability]
    #: preprocessor macros that CK Tile's build system defines for the device
    macros: tuple[str, ...]
    #: instruction sets whose device library holds the same properties, best first
    device_libraries: tuple[str, ...]
    #: major version of the clang that is advised for it
    clang_major: int
    #: arrangements of the waves of a block, in the order of the table
    wave_grids: tuple[Sizes, ...]
    #: data type -> tiles of its matrix instructions, in the order of the table; a missing type has none
    mma_tiles: Mapping[str, tuple[Sizes, ...]]
    #: registers, clocks and rates; ``None`` where they are unknown
    machine: Machine | None
