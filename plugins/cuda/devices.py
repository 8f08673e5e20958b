"""Finds NVIDIA GPUs by asking the driver's own tool.

No CUDA library is loaded: a parent process that did would hold the device while its children use it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from ckprof.kernels.toolchain import ask
from ckprof.model.device import DeviceIdentity
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.model.types import DataType

_TOOL: Final = "nvidia-smi"
_FIELDS: Final = ("index", "name", "compute_cap", "memory.total", "driver_version", "mig.mode.current")
_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaDevice:
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
def devices() -> tuple[CudaDevice, ...]:
    """Return the GPUs of this machine; empty without a driver."""
    tool = shutil.which(_TOOL)
    if tool is None:
        return ()
    try:
        done = ask((tool, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"), _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return read_devices(done.stdout) if done.returncode == 0 else ()


def read_devices(text: str) -> tuple[CudaDevice, ...]:
    """Return what the lines of the tool tell; lines that are no device are left out."""
    devices: list[CudaDevice] = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(_FIELDS) or not values[0].isdecimal():
            continue
        major, _, minor = values[2].partition(".")
        if not (major.isdecimal() and minor.isdecimal()):
            continue
        devices.append(
            CudaDevice(
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


_FILE: Final = Path(__file__).with_name("data_sheets.json")
#: narrows down and reorders the devices that a process sees
_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"


class _DataSheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    multiprocessors: int
    gbytes_per_s: float
    fp32: float
    fp16: float
    bf16: float


def device_identity(index: int) -> DeviceIdentity | None:
    """Return what tells a device from others; ``None`` where the driver's tool does not name it."""
    device = _visible_device(index)
    if device is None:
        return None
    sheet = None if device.partition else _sheet(device.name)
    return DeviceIdentity(
        model=device.name,
        compute_units=sheet.multiprocessors if sheet else 0,
        memory_bytes=device.memory_mib * 2**20,
        partition=device.partition,
        driver=device.driver.partition(".")[0],
        clock="event",
    )


def theoretical_ceilings(index: int) -> tuple[Ceiling, ...]:
    """Return what the data sheet says; nothing for a device without one, or a part of a device."""
    device = _visible_device(index)
    sheet = _sheet(device.name) if device and not device.partition else None
    if sheet is None:
        return ()
    rates = {DataType.FP32: sheet.fp32, DataType.FP16: sheet.fp16, DataType.BF16: sheet.bf16}
    return tuple(
        Ceiling(kind=CeilingKind.THEORETICAL, gflops=rate, gbytes_per_s=sheet.gbytes_per_s, dtype=dtype)
        for dtype, rate in rates.items()
    )


def _visible_device(index: int) -> CudaDevice | None:
    """Return the device that a process sees under a number."""
    visible = list(devices())
    chosen = os.environ.get(_VISIBLE)
    if chosen is not None:
        words = [word.strip() for word in chosen.split(",")]
        if not all(word.isascii() and word.isdecimal() for word in words):
            # identifiers, which the tool was not asked for: the line that the library prints must do
            return None
        by_index = {device.index: device for device in visible}
        visible = [by_index[int(word)] for word in words if int(word) in by_index]
    return visible[index] if 0 <= index < len(visible) else None


@lru_cache(maxsize=1)
def _sheets() -> tuple[_DataSheet, ...]:
    return msgspec.convert(msgspec.json.decode(_FILE.read_bytes())["devices"], tuple[_DataSheet, ...])


def _sheet(name: str) -> _DataSheet | None:
    return next((sheet for sheet in _sheets() if sheet.name in name), None)
