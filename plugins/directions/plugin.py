"""Announces the built-in directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.directions.fwd import Forward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Direction


@hookimpl
def ckprof_register_directions() -> Sequence[Direction]:
    """Add forward convolution."""
    return [Forward()]
