"""What ``ckprof doctor`` reports about NVIDIA GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import CkprofError
from ckprof.model.finding import Finding
from ckprof.model.finding import FindingState as State
from ckprof_plugins.targets.cuda.devices import devices
from ckprof_plugins.targets.cuda.machine_code import find_tool
from ckprof_plugins.targets.cuda.toolchain import INSTALL_COMMAND, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence


def findings() -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises."""
    return [*_devices(), _compiler(), _disassembler(), _evidence()]


def _devices() -> list[Finding]:
    lines = [
        Finding(
            f"GPU {device.index}",
            State.OK,
            f"{device.name}, compute capability {device.capability // 10}.{device.capability % 10}, "
            f"{device.memory_mib} MiB, driver {device.driver}",
        )
        for device in devices()
    ]
    return lines or [Finding("GPU", State.OPTIONAL, "none: kernels can be built and inspected, not run")]


def _compiler() -> Finding:
    try:
        tools = find_toolchain()
    except (CkprofError, OSError, ValueError) as exc:
        return Finding("nvcc", State.MISSING, str(exc).splitlines()[0], INSTALL_COMMAND)
    return Finding("nvcc", State.OK, f"{tools.nvcc}: {tools.compiler.description}")


def _disassembler() -> Finding:
    tool = find_tool("cuobjdump")
    if tool is None:
        return Finding(
            "cuobjdump",
            State.OPTIONAL,
            "not found: inspect reports registers and memory, but counts no instructions",
            INSTALL_COMMAND,
        )
    return Finding("cuobjdump", State.OK, str(tool))


def _evidence() -> Finding:
    from importlib.util import find_spec

    if find_spec("pynvml") is None:
        return Finding(
            "nvidia-ml-py",
            State.OPTIONAL,
            "not installed: clocks, temperature and throttling are not recorded",
            INSTALL_COMMAND,
        )
    return Finding("nvidia-ml-py", State.OK, "clocks and throttling can be read")
