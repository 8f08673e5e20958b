"""Announces the product of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Operation


@hookimpl
def ckprof_register_operations() -> Sequence[Operation]:
    """Add the product of two matrices."""
    from ckprof_plugins.operations.gemm.operation import Gemm

    return [Gemm()]
