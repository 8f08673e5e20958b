"""Which operations are directions of convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ckprof.plugin.protocols import ProblemReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.plugin.protocols import Direction, Operation


def as_direction(operation: Operation) -> Direction:
    """Return an operation without lines of its own as what it must be."""
    return cast("Direction", operation)


def directions_among(operations: Iterable[Operation]) -> tuple[Direction, ...]:
    """Return the directions of convolution."""
    return tuple(as_direction(one) for one in operations if not isinstance(one, ProblemReader))
