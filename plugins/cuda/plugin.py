"""Announces NVIDIA GPUs as places where kernels are built and run, and the rule set of tiles for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Observer, RuleSet, Target


@hookimpl
def ckprof_register_targets() -> Sequence[Target]:
    """Add NVIDIA GPUs."""
    from ckprof_plugins.cuda.target import CudaTarget

    return [CudaTarget()]


@hookimpl
def ckprof_register_observers() -> Sequence[Observer]:
    """Add the clocks, temperature, power and throttling of NVIDIA GPUs."""
    # Only sweeps need it, and the targets are loaded for every command.
    from ckprof_plugins.cuda.nvml_observer import NvmlObserver

    return [NvmlObserver()]


@hookimpl
def ckprof_register_rule_sets() -> Sequence[RuleSet]:
    """Add the tiles that these GPUs serve best."""
    from ckprof_plugins.cuda.hopper import HopperRuleSet

    return [HopperRuleSet()]
