"""The product of two matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the operation."""
    from ckprof.plugin.protocols import Operation

    registry.add_lazy(Operation, "ckprof_plugins.operations.gemm.operation:Gemm")
