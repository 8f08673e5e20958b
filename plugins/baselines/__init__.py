"""Libraries of others that instances are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the vendor's library through torch."""
    from ckprof.plugin.protocols import Baseline

    registry.add_lazy(Baseline, "ckprof_plugins.baselines.torch_baseline:TorchBaseline")
