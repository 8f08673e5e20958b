"""How many waves and workgroups of a kernel a compute unit holds."""

from __future__ import annotations

from ckprof.arch.architectures import find_architecture
from ckprof.model.device_kernel import Occupancy


def occupancy(
    arch: str, *, vgprs: int, agprs: int, sgprs: int, lds_bytes: int, workgroup_lanes: int
) -> Occupancy:
    """Return what fits onto a compute unit at once, and what allows no more.

    Registers are handed out to each wave in grains, LDS to each workgroup. A workgroup is resident as a
    whole, its waves spread over the SIMDs.

    :param arch: e.g. ``gfx942``.
    :param vgprs: vector registers of a lane; with accumulation registers where both share one file.
    :param agprs: accumulation registers of a lane.
    """
    properties = find_architecture(arch)
    machine = properties.machine
    if machine is None:
        return Occupancy(waves_per_simd=0, workgroups_per_cu=0, limited_by="unknown")
    waves = max(1, -(-workgroup_lanes // properties.lanes_per_wave))
    limits = {
        "waves": properties.waves_per_simd,
        "vgpr": _fitting(machine.vgprs_per_simd, vgprs, machine.vgpr_grain),
        "sgpr": _fitting(machine.sgprs_per_simd, sgprs, machine.sgpr_grain),
    }
    if machine.agprs_per_simd:
        limits["agpr"] = _fitting(machine.agprs_per_simd, agprs, machine.vgpr_grain)
    resident = {
        name: _workgroups(per_simd, waves, properties.simds_per_cu) for name, per_simd in limits.items()
    }
    resident["lds"] = _fitting(properties.lds_bytes, lds_bytes, machine.lds_grain)
    if waves > 1:
        resident["workgroup"] = machine.workgroups_per_cu
    workgroups = min(resident.values())
    # of several equal limits the first in this order is named: it is what a kernel can change
    order = ("lds", "vgpr", "agpr", "sgpr", "workgroup", "waves")
    limited_by = next(name for name in order if resident.get(name) == workgroups)
    return Occupancy(
        waves_per_simd=min(-(-workgroups * waves // properties.simds_per_cu), min(limits.values())),
        workgroups_per_cu=workgroups,
        limited_by=limited_by,
    )


def _fitting(available: int, needed: int, grain: int) -> int:
    rounded = -(-max(needed, 1) // grain) * grain
    return available // rounded


def _workgroups(waves_per_simd: int, waves: int, simds_per_cu: int) -> int:
    """Return how many workgroups fit if each SIMD takes so many waves."""
    if waves <= simds_per_cu:
        # a SIMD that gets no wave of one workgroup gets one of the next
        return waves_per_simd * simds_per_cu // waves
    return waves_per_simd // -(-waves // simds_per_cu)
