"""Evidence about the machine, read between attempts: what explains a time, never what it is filed under."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

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
    #: further evidence, as plain JSON values
    extra: Mapping[str, object] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return what a user should know about times that are taken now."""
        found = []
        if self.load is not None and self.cores is not None and self.load > self.cores + 1:
            found.append(
                f"the load average is {self.load:.1f} on {self.cores} cores: other work disturbs the times"
            )
        if self.low_clock and not self.throttled_by:
            found.append(
                f"the clock is {self.clock_mhz:.0f} MHz, below its base of {self.base_clock_mhz:.0f} MHz"
            )
        if self.throttled_by:
            found.append(f"the device is throttled: {', '.join(self.throttled_by)}")
        if self.other_processes:
            count = self.other_processes
            found.append(f"{count} other process{'es use' if count > 1 else ' uses'} the device")
        return found

    @property
    def low_clock(self) -> bool:
        """True when the clock is below its base, or lowered by something that should not happen."""
        return bool(self.throttled_by) or (
            self.clock_mhz is not None
            and self.base_clock_mhz is not None
            and self.clock_mhz < _LOW_CLOCK_SHARE * self.base_clock_mhz
        )


@runtime_checkable
class Observer(Protocol):
    """Reads evidence once per round. Plugins add their own."""

    @property
    def id(self) -> str:
        """Name for messages."""

    def read(self, target: str, device: int) -> Reading | None:
        """Return what can be seen now; ``None`` if the observer has nothing to say about this target.

        Called in the parent process between two attempts, so it must be quick.

        :param target: id of the target.
        :param device: index of the device.
        """


class HostObserver:
    """Load, clock and temperature of the host.

    :param embedded: ids of the targets that compute on the host: clock and temperature concern only these.
    """

    id = "host"

    def __init__(self, embedded: frozenset[str]) -> None:
        self._embedded = embedded

    def read(self, target: str, device: int) -> Reading:
        """Return what the operating system says."""
        del device
        computes = target in self._embedded
        return Reading(
            load=_load(),
            cores=os.cpu_count(),
            clock_mhz=_clock("scaling_cur_freq") if computes else None,
            base_clock_mhz=_clock("base_frequency") if computes else None,
            temperature_c=_temperature() if computes else None,
        )


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _clock(name: str, root: Path = Path("/sys/devices/system/cpu/cpu0/cpufreq")) -> float | None:
    """Return a clock of the first CPU in MHz."""
    try:
        return int((root / name).read_text()) / 1000
    except (OSError, ValueError):
        return None


def _temperature(root: Path = Path("/sys/class/thermal")) -> float | None:
    """Return the highest temperature of the machine's zones in degrees Celsius."""
    found = []
    for zone in root.glob("thermal_zone*/temp"):
        try:
            found.append(int(zone.read_text()) / 1000)
        except (OSError, ValueError):
            continue
    return max(found, default=None)


def combine(readings: list[Reading]) -> Reading:
    """Return one reading of several: the first that knows a value gives it; further evidence is collected."""

    def first(name: str) -> float | None:
        values = (getattr(reading, name) for reading in readings)
        return next((value for value in values if value is not None), None)

    cores, others = first("cores"), first("other_processes")
    return Reading(
        load=first("load"),
        cores=int(cores) if cores is not None else None,
        clock_mhz=first("clock_mhz"),
        base_clock_mhz=first("base_clock_mhz"),
        temperature_c=first("temperature_c"),
        other_processes=int(others) if others is not None else None,
        throttled_by=tuple(dict.fromkeys(text for reading in readings for text in reading.throttled_by)),
        extra={name: value for reading in readings for name, value in reading.extra.items()},
    )
