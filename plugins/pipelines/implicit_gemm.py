"""The implicit-GEMM family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the family."""
    from ckprof.plugin.protocols import Pipeline

    registry.add_lazy(Pipeline, "ckprof_plugins.pipelines.gemm_families:ImplicitGemmPipeline")
