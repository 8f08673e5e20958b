"""What a compiled kernel needs of a device, as its code object tells."""

from __future__ import annotations

# at run time, too: files are read by the types of the fields
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How much of a kernel a compute unit holds at once."""

    waves_per_simd: int
    workgroups_per_cu: int
    #: what allows no more: ``vgpr``, ``sgpr``, ``lds``, ``waves`` or ``workgroup``
    limited_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKernel:
    """One device function that can be launched."""

    #: the linker's name
    symbol: str
    arch: str
    #: registers of a lane; where both kinds share one file, ``vgprs`` counts both
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    #: private memory of a lane
    scratch_bytes: int
    wave_lanes: int
    #: lanes of a workgroup
    workgroup_lanes: int
    #: bytes of its arguments
    argument_bytes: int
    code_bytes: int
    occupancy: Occupancy
    #: matrix instructions by name
    matrix_instructions: Mapping[str, int] = field(default_factory=dict)
    #: loads from and stores to global memory: bits of a lane -> number
    loads: Mapping[int, int] = field(default_factory=dict)
    stores: Mapping[int, int] = field(default_factory=dict)
    #: additions in memory: bits of a lane -> number
    atomics: Mapping[int, int] = field(default_factory=dict)
    #: accesses to LDS: bits of a lane -> number
    lds_reads: Mapping[int, int] = field(default_factory=dict)
    lds_writes: Mapping[int, int] = field(default_factory=dict)
    #: loads from global memory straight into LDS
    direct_loads: int = 0
    #: instructions that copy boxes of tensors between global memory and LDS
    tensor_copies: int = 0
    barriers: int = 0
    #: instructions of all kinds
    instructions: int = 0
    #: cycles that its matrix instructions keep the matrix unit busy, each counted once; 0 if unknown
    matrix_cycles: int = 0
