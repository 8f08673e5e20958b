"""Forward convolution and its two gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions
    from ckprof_plugins.directions._convolution.direction import Direction


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the directions, the strings of their kernels, and the CSV of CK Tile's own sweep."""
    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import Operation, StoreFormat

    registry.add_lazy(Operation, "ckprof_plugins.directions:shipped_directions")
    registry.add_lazy(StringKind, "ckprof_plugins.directions._convolution.string_kinds:KINDS")
    registry.add_lazy(StoreFormat, "ckprof_plugins.directions._convolution.csv_problems:FORMAT")


def shipped_directions() -> tuple[Direction, ...]:
    """Return the directions that ship with ckprof."""
    from ckprof_plugins.directions.bwd_data import BackwardData
    from ckprof_plugins.directions.bwd_weight import BackwardWeight
    from ckprof_plugins.directions.fwd import Forward

    return Forward(), BackwardData(), BackwardWeight()
