"""NVIDIA GPUs as places where kernels are built and run, and the rule set of tiles for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the target, what reads clocks, temperature and power, and the rule set."""
    from ckprof.plugin.protocols import Observer, RuleSet, Target

    registry.add_lazy(Target, "ckprof_plugins.cuda.target:CudaTarget")
    registry.add_lazy(Observer, "ckprof_plugins.cuda.nvml_observer:NvmlObserver")
    registry.add_lazy(RuleSet, "ckprof_plugins.cuda.hopper:HopperRuleSet")
