"""Announces the built-in directions, and the instance strings of CK Tile's kernels for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import Operation, StoreFormat


@hookimpl
def ckprof_register_directions() -> Sequence[Operation]:
    """Add forward convolution and the two gradients."""
    from ckprof_plugins.directions.bwd_data import BackwardData
    from ckprof_plugins.directions.bwd_weight import BackwardWeight
    from ckprof_plugins.directions.fwd import Forward

    return [Forward(), BackwardData(), BackwardWeight()]


@hookimpl
def ckprof_register_string_kinds() -> Sequence[StringKind]:
    """Add the strings of forward, backward data, backward weight and depthwise kernels."""
    from ckprof_plugins.directions._convolution.string_kinds import KINDS

    return KINDS


@hookimpl
def ckprof_register_store_formats() -> Sequence[StoreFormat]:
    """Add the CSV of CK Tile's own sweep."""
    from ckprof_plugins.directions._convolution.upstream_csv import FORMAT

    return [FORMAT]
