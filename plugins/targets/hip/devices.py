"""Finds AMD GPUs through the kernel driver's description of the machine.

No library of ROCm is loaded: a parent process that did would hold the device while its children use it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOPOLOGY: Final = Path("/sys/class/kfd/kfd/topology/nodes")
#: narrow down and reorder what a process sees, outermost first; the runtime obeys the same
_VISIBLE: Final = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU."""

    #: what ``--device`` takes
    index: int
    #: LLVM's name, e.g. ``gfx942``
    arch: str
    compute_units: int


def devices(topology: Path = TOPOLOGY) -> tuple[Device, ...]:
    """Return the GPUs that a process may use, in the runtime's order; empty without a driver.

    :param topology: folder with one folder per node, CPUs among them.
    """
    found: list[tuple[str, int]] = []
    for node in sorted(topology.glob("[0-9]*"), key=lambda path: int(path.name)):
        values = _properties(node / "properties")
        arch = arch_name(values.get("gfx_target_version", 0))
        if arch:
            units = values.get("simd_count", 0) // max(1, values.get("simd_per_cu", 4))
            found.append((arch, units))
    for variable in _VISIBLE:
        found = _visible(found, os.environ.get(variable))
    return tuple(
        Device(index=index, arch=arch, compute_units=units) for index, (arch, units) in enumerate(found)
    )


def arch_name(version: int) -> str:
    """Return LLVM's name for the driver's number: 90402 is 9.4.2, that is gfx942; empty for a CPU's 0.

    Minor version and stepping are hexadecimal digits of the name: 90010 is gfx90a.
    """
    if version <= 0:
        return ""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _properties(path: Path) -> dict[str, int]:
    try:
        text = path.read_text()
    except OSError:
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _visible(found: list[tuple[str, int]], selection: str | None) -> list[tuple[str, int]]:
    """Apply a list of indices; it ends at the first entry that is none of them, as in the runtime."""
    if selection is None:
        return found
    chosen: list[tuple[str, int]] = []
    for word in selection.split(","):
        text = word.strip()
        if text.startswith("GPU-"):
            # the driver's files do not tell these identifiers: leave the choice to the runtime
            return found
        if not text.isdecimal() or int(text) >= len(found):
            break
        chosen.append(found[int(text)])
    return chosen
