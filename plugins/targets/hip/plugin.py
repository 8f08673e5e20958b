"""Announces AMD GPUs as places where kernels are built and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Target


@hookimpl
def ckprof_register_targets() -> Sequence[Target]:
    """Add AMD GPUs."""
    from ckprof_plugins.targets.hip.target import HipTarget

    return [HipTarget()]
