"""What is known of a device and of the state of its machine, and what ``ckprof doctor`` finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

#: ``clock`` of devices whose own clock times kernels
EVENT_CLOCK: Final = "event"
#: ``clock`` of all others: the host's
WALL_CLOCK: Final = "wall"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """What a target says of a device, as far as it bears on times."""

    #: empty where the line that the kernel library prints names the device
    model: str = ""
    compute_units: int = 0
    memory_bytes: int = 0
    #: partition mode
    partition: str = ""
    #: of the kernels, on a host that has fewer CPUs for them; 0 otherwise
    threads: int = 0
    #: what computes for a device that is emulated, with settings of it; empty for devices that there are
    host: str = ""
    #: major version of the driver
    driver: str = ""
    #: ``event`` where the device's own clock times kernels
    clock: str = WALL_CLOCK


# at run time, too: files are read by the types of the fields


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


#: reference kernels of targets, in the order of their numbers: one computes in registers alone, one copies
CANARIES: Final = ("arithmetic", "bandwidth")

#: a clock below this share of its base is throttled
_LOW_CLOCK_SHARE = 0.97


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an observer saw. ``None`` stands for what it cannot read."""

    #: load average of the host over one minute
    load: float | None = None
    #: cores of the host
    cores: int | None = None
    clock_mhz: float | None = None
    #: the clock that is guaranteed
    base_clock_mhz: float | None = None
    temperature_c: float | None = None
    #: processes of others that use the device
    other_processes: int | None = None
    #: why the clocks are lower than they should be, where that makes times worthless
    throttled_by: tuple[str, ...] = ()
    #: times of the canaries in milliseconds, by their names in :data:`CANARIES`; empty without any
    canaries: Mapping[str, float] = field(default_factory=dict)
    #: further evidence, as plain JSON values
    extra: Mapping[str, object] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return what a user should know about times that are taken now."""
        warnings = []
        if self.load is not None and self.cores is not None and self.load > self.cores + 1:
            warnings.append(
                f"the load average is {self.load:.1f} on {self.cores} cores: other work disturbs the times"
            )
        if self.low_clock and not self.throttled_by:
            warnings.append(
                f"the clock is {self.clock_mhz:.0f} MHz, below its base of {self.base_clock_mhz:.0f} MHz"
            )
        if self.throttled_by:
            warnings.append(f"the device is throttled: {', '.join(self.throttled_by)}")
        if self.other_processes:
            count = self.other_processes
            warnings.append(f"{count} other process{'es use' if count > 1 else ' uses'} the device")
        return warnings

    @property
    def low_clock(self) -> bool:
        """True when the clock is below its base, or lowered by something that should not happen."""
        return bool(self.throttled_by) or (
            self.clock_mhz is not None
            and self.base_clock_mhz is not None
            and self.clock_mhz < _LOW_CLOCK_SHARE * self.base_clock_mhz
        )


class FindingState(Enum):
    """How a finding bears on the use of ckprof."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"
    #: not there, and not needed for the embedded default
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was looked for, what was found, and what to do if it is missing."""

    topic: str
    state: FindingState
    detail: str
    #: a command or a sentence; empty when nothing needs doing
    advice: str = ""
