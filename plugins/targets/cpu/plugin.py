"""Announces the CPU as a place where kernels are built and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Target


@hookimpl
def ckprof_register_targets() -> Sequence[Target]:
    """Add the CPU."""
    from ckprof_plugins.targets.cpu.target import CpuTarget

    return [CpuTarget()]
