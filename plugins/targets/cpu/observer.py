"""What the operating system says of the machine while kernels are measured, wherever they run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ckprof.model.device import Reading
from ckprof.plugin.protocols import Observer
from ckprof_plugins.targets.cpu.target import CpuTarget


class HostObserver(Observer):
    """Load of the host; clock and temperature where its CPU computes."""

    id = "host"

    def observe(self, target: str, device: int) -> Reading:
        """Return what the operating system says."""
        del device
        computes = target == CpuTarget.id
        return Reading(
            load=_load(),
            cores=os.cpu_count(),
            clock_mhz=_clock("scaling_cur_freq") if computes else None,
            base_clock_mhz=_clock("base_frequency") if computes else None,
            temperature_c=_temperature() if computes else None,
        )


def _load() -> float | None:
    with suppress(OSError):
        return os.getloadavg()[0]
    return None


def _clock(name: str, root: Path = Path("/sys/devices/system/cpu/cpu0/cpufreq")) -> float | None:
    """Return a clock of the first CPU in MHz."""
    with suppress(OSError, ValueError):
        return int((root / name).read_text()) / 1000
    return None


def _temperature(root: Path = Path("/sys/class/thermal")) -> float | None:
    """Return the highest temperature of the machine's zones in degrees Celsius."""
    temperatures = []
    for zone in root.glob("thermal_zone*/temp"):
        with suppress(OSError, ValueError):
            temperatures.append(int(zone.read_text()) / 1000)
    return max(temperatures, default=None)
