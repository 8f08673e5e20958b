"""Announces NVIDIA GPUs as places where kernels are built and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.targets.cuda.target import CudaTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Target


@hookimpl
def ckprof_register_targets() -> Sequence[Target]:
    """Add NVIDIA GPUs."""
    return [CudaTarget()]
