"""What ``ckprof doctor`` reports about NVIDIA GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import CkprofError
from ckprof.model.finding import Finding, FindingState
from ckprof_plugins.targets.cuda.devices import devices
from ckprof_plugins.targets.cuda.machine_code import find_tool
from ckprof_plugins.targets.cuda.toolchain import INSTALL_COMMAND, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence


def findings() -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises."""
    return [*_devices(), _compiler(), _disassembler(), _evidence()]


def _devices() -> list[Finding]:
    found = [
        Finding(
            topic=f"GPU {device.index}",
            state=FindingState.OK,
            detail=f"{device.name}, compute capability {device.capability // 10}.{device.capability % 10}, "
            f"{device.memory_mib} MiB, driver {device.driver}",
        )
        for device in devices()
    ]
    return found or [
        Finding(
            topic="GPU",
            state=FindingState.OPTIONAL,
            detail="none: kernels can be built and inspected, not run",
        )
    ]


def _compiler() -> Finding:
    try:
        found = find_toolchain()
    except (CkprofError, OSError, ValueError) as exc:
        return Finding(
            topic="nvcc",
            state=FindingState.MISSING,
            detail=str(exc).splitlines()[0],
            advice=INSTALL_COMMAND,
        )
    return Finding(topic="nvcc", state=FindingState.OK, detail=f"{found.nvcc}: {found.compiler.description}")


def _disassembler() -> Finding:
    tool = find_tool("cuobjdump")
    if tool is None:
        return Finding(
            topic="cuobjdump",
            state=FindingState.OPTIONAL,
            detail="not found: inspect reports registers and memory, but counts no instructions",
            advice=INSTALL_COMMAND,
        )
    return Finding(topic="cuobjdump", state=FindingState.OK, detail=str(tool))


def _evidence() -> Finding:
    from importlib.util import find_spec

    if find_spec("pynvml") is None:
        return Finding(
            topic="nvidia-ml-py",
            state=FindingState.OPTIONAL,
            detail="not installed: clocks, temperature and throttling are not recorded",
            advice=INSTALL_COMMAND,
        )
    return Finding(topic="nvidia-ml-py", state=FindingState.OK, detail="clocks and throttling can be read")
