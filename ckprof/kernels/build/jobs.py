"""How many compilers may run at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

#: the rest is for everything else on the machine
_MEMORY_SHARE: Final = 0.8
_CGROUP: Final = Path("/sys/fs/cgroup")


def available_cpus() -> int:
    """Return how many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def job_count(
    requested: int | None, bytes_per_job: int, *, cpus: int | None = None, free: int | None = None
) -> int:
    """Return how many compilers may run at once: what was asked for, bounded by memory, at least one.

    :param requested: ``--jobs``; ``None`` for one per usable CPU.
    :param bytes_per_job: peak memory of one compiler.
    :param cpus: CPUs to count on, by default those that this process may use.
    :param free: free memory to budget for, by default that of this moment.
    """
    wanted = requested if requested is not None else (cpus or available_cpus())
    memory = free if free is not None else free_memory_bytes()
    return max(1, min(wanted, int(memory * _MEMORY_SHARE / max(1, bytes_per_job))))


def memory_budget_bytes() -> int:
    """Return the memory that all compilers may use together, as it is at this moment."""
    return int(free_memory_bytes() * _MEMORY_SHARE)


def free_memory_bytes(cgroup: Path = _CGROUP) -> int:
    """Return the memory that can be used without pushing others out, also inside a container with a limit."""
    import psutil

    free = int(psutil.virtual_memory().available)
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        if limit != "max":
            free = min(free, max(0, int(limit) - int((cgroup / "memory.current").read_text())))
    except (OSError, ValueError):
        pass  # no limit is set, or this is no such system
    return free
