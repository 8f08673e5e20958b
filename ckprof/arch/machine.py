"""What limits kernels on a GPU: registers, clocks, matrix instructions, memory."""

from __future__ import annotations

import msgspec


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
