"""An instruction-level estimate of how fast a kernel can be at best.

The formulas stand in ``docs/inspect.md``. Everything comes from the code object (which matrix instruction,
how many workgroups fit), from the problem (how many tiles, which the time model's functions count) and from
the record of the architecture (peak rates); nothing is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.model.architecture import find_architecture
from ckprof.model.gemm_work import Estimate
from ckprof_plugins.targets.hip.instructions import matrix_cycles, matrix_operations, operand_type

if TYPE_CHECKING:
    from ckprof.model.device import DeviceKernel
    from ckprof.model.gemm_work import GemmWork


def estimate(kernel: DeviceKernel, work: GemmWork) -> Estimate | None:
    """Return the bounds of a kernel on a problem.

    :returns: ``None`` where the record of the architecture has no rates, or the kernel uses no matrix
        instruction with a known rate.
    """
    arch = find_architecture(kernel.arch)
    machine = arch.machine
    rate = _operations_per_cycle(kernel)
    if machine is None or not rate or kernel.occupancy.workgroups_per_cu < 1:
        return None
    tiles = ceil_div(work.m, work.tile_m) * ceil_div(work.n, work.tile_n) * work.batch
    loops = ceil_div(ceil_div(work.k, work.tile_k), work.splits)
    workgroups = tiles * work.splits
    share = 2 * work.tile_m * work.tile_n * work.tile_k * loops
    busy_simds = min(arch.simds_per_cu, work.waves)
    cycles = share / rate / busy_simds

    resident = kernel.occupancy.workgroups_per_cu
    slots = arch.compute_units * resident
    rounds = ceil_div(workgroups, slots)
    # workgroups of few waves leave matrix units of a compute unit idle unless others share it
    per_cu = ceil_div(workgroups, arch.compute_units)
    together = min(resident, per_cu) * work.waves
    cu_cycles = per_cu * share / rate / min(arch.simds_per_cu, together)

    flops = 2 * work.m * work.n * work.k * work.batch
    padded = share * workgroups
    hertz = machine.clock_mhz * 1e6
    matrix_us = cu_cycles / hertz * 1e6
    memory_us = work.tensor_bytes / (machine.memory_gb_per_s * 1e9) * 1e6
    bound_us = max(matrix_us, memory_us)
    peak = _peak_operations_per_cycle(kernel) * arch.simds_per_cu * arch.compute_units * hertz
    operands = (work.tile_m + work.tile_n) * work.tile_k * loops * work.element_bytes
    results = work.tile_m * work.tile_n * work.element_bytes
    return Estimate(
        flops=flops,
        tile_bytes=workgroups * (operands + results),
        arithmetic_intensity=flops / work.tensor_bytes,
        matrix_cycles=round(cycles),
        workgroups=workgroups,
        tile_efficiency=flops / padded,
        wave_efficiency=workgroups / (rounds * slots),
        matrix_us=matrix_us,
        memory_us=memory_us,
        bound_us=bound_us,
        efficiency_bound=flops / (bound_us * 1e-6) / peak,
    )


def ceil_div(a: int, b: int) -> int:
    """Return a / b rounded up."""
    return -(-a // b)


def _operations_per_cycle(kernel: DeviceKernel) -> float:
    """Return the rate of the kernel's matrix instructions, all kinds by their numbers."""
    operations = cycles = 0
    for name, number in kernel.matrix_instructions.items():
        needed = matrix_cycles(name, kernel.arch)
        if not needed:
            return 0.0
        operations += matrix_operations(name) * number
        cycles += needed * number
    return operations / cycles if cycles else 0.0


def _peak_operations_per_cycle(kernel: DeviceKernel) -> float:
    """Return the best rate of a SIMD for the data type that the kernel multiplies."""
    machine = find_architecture(kernel.arch).machine
    names = list(kernel.matrix_instructions)
    if machine is None or not names:
        return 0.0
    return float(machine.flops_per_cycle.get(operand_type(names[0]), 0))
