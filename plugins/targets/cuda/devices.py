"""Finds NVIDIA GPUs by asking the driver's own tool.

No CUDA library is loaded: a parent process that did would hold the device while its children use it.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ckprof.kernels.build.tool_output import ask

_TOOL: Final = "nvidia-smi"
_FIELDS: Final = ("index", "name", "compute_cap", "memory.total", "driver_version", "mig.mode.current")
_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU."""

    #: what ``--device`` takes, unless CUDA_VISIBLE_DEVICES reorders them
    index: int
    name: str
    #: compute capability times ten: 90 for 9.0
    capability: int
    memory_mib: int
    driver: str
    #: ``MIG`` where the device is divided
    partition: str = ""


@lru_cache(maxsize=1)
def devices() -> tuple[Device, ...]:
    """Return the GPUs of this machine; empty without a driver."""
    tool = shutil.which(_TOOL)
    if tool is None:
        return ()
    try:
        done = ask((tool, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"), _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return read_devices(done.stdout) if done.returncode == 0 else ()


def read_devices(text: str) -> tuple[Device, ...]:
    """Return what the lines of the tool tell; lines that are no device are left out."""
    devices: list[Device] = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(_FIELDS) or not values[0].isdecimal():
            continue
        major, _, minor = values[2].partition(".")
        if not (major.isdecimal() and minor.isdecimal()):
            continue
        devices.append(
            Device(
                index=int(values[0]),
                name=values[1],
                capability=int(major) * 10 + int(minor),
                memory_mib=int(values[3]) if values[3].isdecimal() else 0,
                driver=values[4],
                partition="MIG" if values[5] == "Enabled" else "",
            )
        )
    return tuple(devices)


#: times ten: that of engine W, which is compiled for where no device says otherwise
USUAL_CAPABILITY: Final = 90
_SHARED_BYTES: Final = {80: 167936, 86: 102400, 87: 167936, 89: 102400, 90: 233472}


def shared_bytes(capability: int) -> int:
    """Return the shared memory of a multiprocessor in bytes; the least of the known ones for others.

    :param capability: compute capability times ten.
    """
    return _SHARED_BYTES.get(capability, min(_SHARED_BYTES.values()))
