"""What measurements on an AMD GPU are filed under, and what its architecture can reach."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ckprof.model.architecture import find_architecture
from ckprof.model.device import DeviceIdentity
from ckprof.model.roof import Roof, RoofKind
from ckprof.model.types import DataType
from ckprof_plugins.targets.hip.devices import devices

DRIVER_VERSION: Final = Path("/sys/module/amdgpu/version")
#: type of the tensors -> name of its rate
_RATES: Final = {DataType.FP32: "f32", DataType.FP16: "f16", DataType.BF16: "bf16"}


def device_identity(index: int, driver: Path = DRIVER_VERSION) -> DeviceIdentity | None:
    """Return what tells a device from others; ``None`` where the kernel driver does not describe it.

    The model is left to the line that the library prints.

    :param driver: file with the driver's version; one that came with the kernel has none.
    """
    present = devices()
    if not 0 <= index < len(present):
        return None
    device = present[index]
    return DeviceIdentity(
        compute_units=device.compute_units,
        memory_bytes=device.memory_bytes,
        partition=device.partition,
        driver=_text(driver).partition(".")[0],
        clock="event",
    )


def theoretical_roofs(arch: str) -> tuple[Roof, ...]:
    """Return the peaks of matrix instructions and of the memory; nothing without rates."""
    architecture = find_architecture(arch)
    machine = architecture.machine
    if machine is None:
        return ()
    per_rate = architecture.compute_units * architecture.simds_per_cu * machine.clock_mhz / 1e3
    return tuple(
        Roof(
            kind=RoofKind.THEORETICAL,
            gflops=per_rate * machine.flops_per_cycle[name],
            gbytes_per_s=machine.memory_gb_per_s,
            dtype=dtype,
        )
        for dtype, name in _RATES.items()
        if name in machine.flops_per_cycle
    )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
