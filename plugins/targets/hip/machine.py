"""What limits kernels on a GPU: registers, waves, matrix instructions, memory.

The numbers stand in ``machines.json``. Sizes of LDS and of waves are properties of the architecture and come
from ckprof's own table.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

_TABLE: Final = Path(__file__).with_name("machines.json")
#: of all architectures with matrix instructions so far
SIMDS_PER_CU: Final = 4


class Machine(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One GPU as the file spells it; rates are dense, without sparsity."""

    model: str
    compute_units: int
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
    #: waves that a SIMD can hold
    waves_per_simd: int
    sgprs_per_simd: int
    sgpr_grain: int
    #: LDS is handed out in multiples of so many bytes
    lds_grain: int
    #: workgroups of several waves that a compute unit can hold
    workgroups_per_cu: int
    #: data type in the instruction's name -> operations per cycle of one SIMD's matrix unit
    flops_per_cycle: dict[str, int]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    schema: str
    version: int
    machines: dict[str, Machine]
    #: ``about``, and architecture -> instruction -> cycles
    mfma_cycles: dict[str, str | dict[str, int]]

    def find(self, arch: str) -> Machine | None:
        """Return the machine of an architecture, ``None`` if the table has none."""
        return self.machines.get(arch.partition(":")[0])

    def last_level_cache_bytes(self, arch: str) -> int:
        """Return what a flush of the caches must exceed, 0 if that is unknown."""
        machine = self.find(arch)
        return machine.last_level_cache_mib * 2**20 if machine else 0

    def cycles_of(self, arch: str) -> dict[str, int]:
        """Return the instructions whose cycles the rate of their data type does not tell."""
        cycles = self.mfma_cycles.get(arch.partition(":")[0], {})
        return cycles if isinstance(cycles, dict) else {}


@lru_cache(maxsize=1)
def machine_table() -> Document:
    """Return the table of machines."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=Document)
