"""Announces the built-in directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Direction


@hookimpl
def ckprof_register_directions() -> Sequence[Direction]:
    """Add forward convolution and the two gradients."""
    return [Forward(), BackwardData(), BackwardWeight()]
