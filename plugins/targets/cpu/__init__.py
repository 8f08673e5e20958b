"""The CPU as a place where kernels are built and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the CPU."""
    from ckprof.plugin.protocols import Target

    registry.add_lazy(Target, "ckprof_plugins.targets.cpu.target:CpuTarget")
