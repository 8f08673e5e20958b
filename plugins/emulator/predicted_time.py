"""From the counts of launches to the time of a device: see the page on predict for the formulas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof_plugins.emulator.kernel_profile import Executed, KernelProfile, Watched, profile_of
from ckprof_plugins.emulator.tables import device_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.emulator.tables import DeviceModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTime:
    """What was predicted of a kernel on a problem."""

    time_us: float
    #: by how much loops that were not simulated to their end may change it; not the error of the model
    extrapolation_us: float
    #: what the time is spent on most, a word or a few
    limit: str
    #: least time that the device's peak rates allow, divided by the predicted one
    ceiling_share: float
    #: workgroups of all launches, those that share a compute unit, and of the unit that gets most
    workgroups: int
    resident: int
    queue: int
    #: parts of the time in microseconds, of which some go on at once
    parts: Mapping[str, float] = field(default_factory=dict)
    #: unit -> share of the time that it works, 1 for one that never rests
    busy: Mapping[str, float] = field(default_factory=dict)
    #: what waves wait for -> share of their time
    stalls: Mapping[str, float] = field(default_factory=dict)
    #: of the busiest compute unit, all launches together
    cycles: float = 0.0
    #: vgprs, agprs, sgprs, vgpr_spills, sgpr_spills, lds_bytes and scratch_bytes, each the largest of all
    #: launches
    needs: Mapping[str, int] = field(default_factory=dict)
    #: how often the loop runs that most instructions of the launch with the most time belong to
    iterations: int = 0
    #: of the launch that takes most time, if it was asked for
    profile: KernelProfile | None = None


#: units of which each SIMD has one
_OF_SIMDS: Final = ("vector", "matrix")
#: power of the norm that joins what goes on at once: the largest of them, with a smooth transition
_NORM: Final = 4.0


class UnitTime(msgspec.Struct, frozen=True):
    """What a compute unit did, in cycles; see ``src/timing/compute_unit.hpp``."""

    cycles: float
    error_cycles: float
    busy: dict[str, float]
    stalled: dict[str, float]
    steps: float
    conflict_cycles: float
    missed_lines: float


class Launch(msgspec.Struct, frozen=True):
    """What the emulated device says of a launch, or of memory that was set."""

    kernel: str = ""
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    workgroups: int = 0
    resident: int = 0
    limited_by: str = ""
    queue: int = 0
    iterations: int = 0
    #: what the code object says that the function needs
    needs: dict[str, int] = {}
    time: UnitTime | None = None
    alone: UnitTime | None = None
    edge: UnitTime | None = None
    #: with a profile only, see :mod:`ckprof_plugins.emulator.kernel_profile`
    executed: tuple[Executed, ...] = ()
    timeline: Watched | None = None
    #: bytes of memory that was set; 0 for a launch
    set_bytes: int = 0


def joined(terms: Sequence[float]) -> float:
    """Return the time of what goes on at once."""
    return float(sum(term**_NORM for term in terms) ** (1 / _NORM))


def compose(
    launches: Sequence[Launch], model: DeviceModel, *, traffic_bytes: int, peak_us: float, line_bytes: int
) -> PredictedTime:
    """Return the predicted time of launches, one after the other.

    :param launches: at least one of a kernel.
    :param traffic_bytes: of all tensors, each once.
    :param peak_us: that the multiplications take at the peak rate of the device.
    :param line_bytes: of a line of the caches.
    """
    kernels = [launch for launch in launches if launch.time is not None]
    memory = model.memory_gb_per_s * 1e3 * device_value("memory_share")
    set_us = sum(launch.set_bytes for launch in launches) / memory
    unit_us = device_value("unit_scale") * sum(_unit_us(launch, model) for launch in kernels)
    memory_us = traffic_bytes / memory
    missed = sum(launch.time.missed_lines * _units(launch, model) for launch in kernels if launch.time)
    level_us = missed * line_bytes / (model.last_level_gb_per_s * 1e3)
    launch_us = device_value("launch_us") * len(launches)
    parts = {
        "launch": launch_us,
        "compute_units": unit_us,
        "memory": memory_us,
        "last_level_cache": level_us,
        "set": set_us,
    }
    time_us = launch_us + set_us + joined((unit_us, memory_us, level_us))
    busy, stalls = _shares(kernels)
    first = max(kernels, key=lambda launch: _unit_us(launch, model))
    bound_us = max(peak_us, traffic_bytes / (model.memory_gb_per_s * 1e3))
    error = sum(launch.time.error_cycles for launch in kernels if launch.time is not None)
    return PredictedTime(
        time_us=time_us,
        extrapolation_us=device_value("unit_scale") * error / model.clock_mhz,
        limit=_limit(parts, busy, stalls, first, model),
        ceiling_share=bound_us / time_us,
        workgroups=sum(launch.workgroups for launch in kernels),
        resident=first.resident,
        queue=first.queue,
        parts=parts,
        busy=busy,
        stalls=stalls,
        cycles=sum(_unit_cycles(launch) for launch in kernels),
        needs={name: max(launch.needs.get(name, 0) for launch in kernels) for name in first.needs},
        iterations=first.iterations,
        profile=profile_of(first),
    )


def _unit_us(launch: Launch, model: DeviceModel) -> float:
    return _unit_cycles(launch) / model.clock_mhz


def _unit_cycles(launch: Launch) -> float:
    if launch.time is None:
        return 0.0
    cycles = launch.time.cycles
    if launch.edge is not None and launch.alone is not None:
        # the compute unit that gets the last workgroup has one of these in place of a usual one
        cycles += max(0.0, launch.edge.cycles - launch.alone.cycles)
    return cycles


def _units(launch: Launch, model: DeviceModel) -> float:
    """Return to how many compute units as busy as the busiest one a launch is equal."""
    return launch.workgroups / launch.queue if launch.queue else model.compute_units


def _shares(kernels: Sequence[Launch]) -> tuple[dict[str, float], dict[str, float]]:
    times = [launch.time for launch in kernels if launch.time is not None]
    cycles = sum(time.cycles for time in times) or 1.0
    busy = {
        unit: sum(time.busy[unit] for time in times) / cycles / (4 if unit in _OF_SIMDS else 1)
        for unit in times[0].busy
        if unit != "control"
    }
    waited = sum(sum(time.stalled.values()) + 4 * time.steps for time in times) or 1.0
    stalls = {why: sum(time.stalled[why] for time in times) / waited for why in times[0].stalled}
    return busy, stalls


#: unit -> what it is called as a limit
_NAMES: Final = {
    "matrix": "matrix units",
    "vector": "vector instructions",
    "lds": "LDS",
    "memory": "addresses and cache of global memory",
    "scalar": "scalar instructions",
    "branch": "branches",
    "message": "scalar loads",
}
#: what waves wait for -> what it is called as a limit
_WAITS: Final = {
    "result": "latency of results",
    "memory": "latency of global memory",
    "local": "latency of LDS and scalar loads",
    "barrier": "barriers",
    "code": "fetching code",
}
#: share of the time from which on a unit is what limits
_WORKS: Final = 0.7


def _limit(
    parts: Mapping[str, float],
    busy: Mapping[str, float],
    stalls: Mapping[str, float],
    launch: Launch,
    model: DeviceModel,
) -> str:
    """Return what most of the time is spent on, in a few words."""
    most = max(parts, key=lambda name: parts[name])
    if most != "compute_units":
        return {
            "launch": "launch",
            "memory": "bandwidth of memory",
            "last_level_cache": "bandwidth of the last level cache",
            "set": "setting memory to zero",
        }[most]
    unit, wait = (max(shares, key=lambda name: shares[name]) for shares in (busy, stalls))
    text = _NAMES[unit] if busy[unit] >= _WORKS or wait == "unit" else _WAITS[wait]
    filled = launch.workgroups / (launch.queue * model.compute_units) if launch.queue else 1.0
    return text if filled > _WORKS else f"{text}; {filled:.0%} of the compute units' time is used"
