"""Finds AMD GPUs through the kernel driver's description of the machine, and says what they are and reach.

No library of ROCm is loaded: a parent process that did would hold the device while its children use it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ckprof.model.architecture import find_architecture
from ckprof.model.device import DeviceIdentity
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.model.types import DataType

TOPOLOGY: Final = Path("/sys/class/kfd/kfd/topology/nodes")
GRAPHICS: Final = Path("/sys/class/drm")
#: narrows down and reorders what the layer below HIP sees; set but empty, it hides all
_LOWER: Final = "ROCR_VISIBLE_DEVICES"
#: the first of them that is not empty does so again with what is left
_UPPER: Final = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True, kw_only=True)
class HipDevice:
    """One GPU."""

    #: what ``--device`` takes
    index: int
    #: LLVM's name, e.g. ``gfx942``
    arch: str
    compute_units: int
    #: 0 where the driver does not say
    memory_bytes: int = 0
    #: how the GPU is divided, e.g. ``SPX``; empty for one that cannot be
    partition: str = ""
    #: what the variables that choose devices may call it
    identifier: str = ""


def devices(topology: Path = TOPOLOGY, graphics: Path = GRAPHICS) -> tuple[HipDevice, ...]:
    """Return the GPUs that a process may use, in the runtime's order; empty without a driver.

    :param topology: folder with one folder per node, CPUs among them.
    :param graphics: folder with one folder per device of the graphics drivers.
    """
    nodes: list[HipDevice] = []
    for node in sorted(topology.glob("[0-9]*"), key=lambda path: int(path.name)):
        values = _properties(node / "properties")
        arch = arch_name(values.get("gfx_target_version", 0))
        if arch:
            units = values.get("simd_count", 0) // max(1, values.get("simd_per_cu", 4))
            banks = (_properties(bank) for bank in node.glob("mem_banks/*/properties"))
            minor = f"renderD{values.get('drm_render_minor', 0)}"
            nodes.append(
                HipDevice(
                    index=len(nodes),
                    arch=arch,
                    compute_units=units,
                    memory_bytes=sum(bank.get("size_in_bytes", 0) for bank in banks),
                    partition=_line(graphics / minor / "device" / "current_compute_partition"),
                    identifier=f"GPU-{values.get('unique_id', 0):016x}",
                )
            )
    for variable in selecting_variables():
        nodes = _visible(nodes, os.environ[variable])
    return tuple(replace(node, index=index) for index, node in enumerate(nodes))


def selecting_variables() -> tuple[str, ...]:
    """Return the environment variables that choose devices, in the order in which they are applied."""
    upper = next((name for name in _UPPER if os.environ.get(name)), None)
    lower = (_LOWER,) if _LOWER in os.environ else ()
    return (*lower, upper) if upper else lower


def arch_name(version: int) -> str:
    """Return LLVM's name for the driver's number: 90402 is 9.4.2, that is gfx942; empty for a CPU's 0.

    Minor version and stepping are hexadecimal digits of the name: 90010 is gfx90a.
    """
    if version <= 0:
        return ""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _properties(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in _line(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _visible(nodes: list[HipDevice], selection: str) -> list[HipDevice]:
    """Apply a list of indices and identifiers.

    As in the runtime it ends at the first entry that names no device, and a repeated one counts once.
    """
    chosen: list[int] = []
    for word in selection.split(","):
        if word.startswith("GPU-"):
            index = next(
                (
                    at
                    for at, node in enumerate(nodes)
                    if node.identifier == word.lower().replace("gpu-", "GPU-")
                ),
                -1,
            )
        else:
            index = int(word) if word.isascii() and word.isdecimal() else -1
        if not 0 <= index < len(nodes):
            break
        if index not in chosen:
            chosen.append(index)
    return [nodes[index] for index in chosen]


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
        driver=_line(driver).partition(".")[0],
        clock="event",
    )


def theoretical_ceilings(arch: str) -> tuple[Ceiling, ...]:
    """Return the peaks of matrix instructions and of the memory; nothing without rates."""
    architecture = find_architecture(arch)
    machine = architecture.machine
    if machine is None:
        return ()
    per_rate = architecture.compute_units * architecture.simds_per_cu * machine.clock_mhz / 1e3
    return tuple(
        Ceiling(
            kind=CeilingKind.THEORETICAL,
            gflops=per_rate * machine.flops_per_cycle[name],
            gbytes_per_s=machine.memory_gb_per_s,
            dtype=dtype,
        )
        for dtype, name in _RATES.items()
        if name in machine.flops_per_cycle
    )
