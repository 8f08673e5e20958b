"""What is known about the machine that ckprof runs on."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

from ckprof.build.jobs import available_cpus

_CPU_ROOT: Final = Path("/sys/devices/system/cpu")
_CPUINFO: Final = Path("/proc/cpuinfo")
_OS_RELEASE: Final = Path("/etc/os-release")
#: used where the operating system does not say
_DEFAULT_LAST_LEVEL_CACHE: Final = 32 * 2**20
_UNITS: Final = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_cache_bytes(root: Path = _CPU_ROOT) -> int:
    """Return the total size of the outermost caches, each counted once however many CPUs share it.

    A machine with several last-level caches can hold that much in all of them together, so this is what a
    cold-cache flush must exceed.

    :param root: folder of the CPUs in sysfs.
    """
    levels: dict[int, dict[str, int]] = {}
    for index in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level = int((index / "level").read_text())
            shared = (index / "shared_cpu_list").read_text().strip()
            size = _size((index / "size").read_text().strip())
        except (OSError, ValueError):
            continue
        levels.setdefault(level, {})[shared] = size
    total = sum(levels[max(levels)].values()) if levels else 0
    return total or _DEFAULT_LAST_LEVEL_CACHE


def _size(text: str) -> int:
    unit = _UNITS.get(text[-1:])
    return int(text[:-1]) * unit if unit else int(text)


def host_properties() -> dict[str, object]:
    """Return what a reader of a report needs to know about this machine."""
    import psutil

    return {
        "processor": cpu_model(),
        "cores": available_cpus(),
        "memory_bytes": int(psutil.virtual_memory().total),
        "last_level_cache_bytes": last_level_cache_bytes(),
        "machine": platform.machine(),
        "os": _os_name(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def cpu_model(cpuinfo: Path = _CPUINFO) -> str:
    """Return the name of the CPU.

    :param cpuinfo: the kernel's description of the CPUs.
    """
    for key in ("model name", "Processor", "cpu model"):
        value = cpuinfo_field(key, cpuinfo)
        if value:
            return value
    return platform.processor() or platform.machine() or "unknown"


def cpuinfo_field(key: str, cpuinfo: Path = _CPUINFO) -> str:
    """Return one field of the first CPU's description, empty where it is not given.

    :param key: name of the field.
    :param cpuinfo: the kernel's description of the CPUs.
    """
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip() == key:
            return value.strip()
    return ""


def _os_name() -> str:
    try:
        lines = _OS_RELEASE.read_text().splitlines()
    except OSError:
        return platform.system()
    for line in lines:
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip().strip('"')
    return platform.system()
