"""What measurements on an NVIDIA GPU are filed under, and what its data sheet says that it reaches."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.model.device import DeviceIdentity
from ckprof.model.roof import Roof, RoofKind
from ckprof.model.types import DataType
from ckprof_plugins.targets.cuda.devices import devices

if TYPE_CHECKING:
    from ckprof_plugins.targets.cuda.devices import Device

_FILE: Final = Path(__file__).with_name("data_sheets.json")
#: narrows down and reorders the devices that a process sees
_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"


class _Sheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    multiprocessors: int
    gbytes_per_s: float
    fp32: float
    fp16: float
    bf16: float


class _Sheets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    version: int
    note: str
    devices: tuple[_Sheet, ...]


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


def theoretical_roofs(index: int) -> tuple[Roof, ...]:
    """Return what the data sheet says; nothing for a device without one, or a part of a device."""
    device = _visible_device(index)
    sheet = _sheet(device.name) if device and not device.partition else None
    if sheet is None:
        return ()
    rates = {DataType.FP32: sheet.fp32, DataType.FP16: sheet.fp16, DataType.BF16: sheet.bf16}
    return tuple(
        Roof(kind=RoofKind.THEORETICAL, gflops=rate, gbytes_per_s=sheet.gbytes_per_s, dtype=dtype)
        for dtype, rate in rates.items()
    )


def _visible_device(index: int) -> Device | None:
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
def _sheets() -> tuple[_Sheet, ...]:
    return msgspec.json.decode(_FILE.read_bytes(), type=_Sheets).devices


def _sheet(name: str) -> _Sheet | None:
    return next((sheet for sheet in _sheets() if sheet.name in name), None)
