"""The CPU as a place where kernels are built and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the CPU, and what reads the state of its machine."""
    from ckprof.plugin.protocols import Observer, Target

    registry.add_lazy(Target, "ckprof_plugins.targets.cpu.target:CpuTarget")
    registry.add_lazy(Observer, "ckprof_plugins.targets.cpu.observer:HostObserver")
