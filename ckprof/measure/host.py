"""What is known about the machine that ckprof runs on, and what a reader needs to reproduce a run."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.kernels.keys import code_flags
from ckprof.kernels.units import available_cpus
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.recipe import BuildRecipe


_CPU_ROOT: Final = Path("/sys/devices/system/cpu")
_CPUINFO: Final = Path("/proc/cpuinfo")
#: says the size of the last-level caches where what the operating system says is not this machine's share
LAST_LEVEL_CACHE_VARIABLE: Final = "CKPROF_LAST_LEVEL_CACHE"
#: used where the operating system does not say
_DEFAULT_LAST_LEVEL_CACHE: Final = 32 * 2**20
_UNITS: Final = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_cache_bytes(root: Path = _CPU_ROOT) -> int:
    """Return the total size of the outermost caches, each counted once however many CPUs share it.

    A machine with several last-level caches can hold that much in all of them together, so this is what a
    cold-cache flush must exceed. ``CKPROF_LAST_LEVEL_CACHE`` overrides what is found: a virtual machine with
    a few CPUs often reports the cache of the whole processor, and flushes then take most of a run's time.

    :param root: folder of the CPUs in sysfs.
    :raises UsageError: the variable is no size.
    """
    named = os.environ.get(LAST_LEVEL_CACHE_VARIABLE)
    if named:
        try:
            size = _size(named.strip().upper())
        except ValueError:
            size = 0
        if size < 1:
            raise UsageError(
                f"environment variable {LAST_LEVEL_CACHE_VARIABLE} is {named!r}, "
                "expected bytes such as 33554432 or 32M"
            )
        return size
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

    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return {
        "processor": cpu_model(),
        "cores": available_cpus(),
        "memory_bytes": int(psutil.virtual_memory().total),
        "last_level_cache_bytes": last_level_cache_bytes(),
        "machine": platform.machine(),
        "os": system,
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


def run_environment(
    recipe: BuildRecipe, device: str, options: Mapping[str, object], folder: Path
) -> dict[str, object]:
    """Return host, compiler, flags, versions, command line, git state and options as plain JSON values.

    :param device: what the target says of the device, empty if none was used.
    :param options: the options that influence the figures, seed included.
    :param folder: where the command was called; its git state is recorded.
    """
    return {
        "ckprof_version": __version__,
        "argv": sys.argv[1:],
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "host": host_properties(),
        "device": device,
        "compiler": {
            "command": list(recipe.compiler.command),
            "description": recipe.compiler.description,
            "identity": recipe.compiler.identity,
        },
        "flags": list(code_flags(recipe)),
        "api_level": recipe.api_level,
        "git": git_state(folder),
        "options": dict(options),
    }


def git_state(folder: Path) -> dict[str, object] | None:
    """Return commit and dirty flag of the checkout around ``folder``; ``None`` outside one or without git."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
