"""Sums of products as data: what a device needs to know to compute an operation's reference.

Each element of the result is the sum, over some axes, of products of one element of each operand. Where an
element is found is an affine function of the result's axes and the summed ones, which may be no element at
all: that product does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineIndex:
    """An index of an operand: ``(sum of factor * index of axis + offset) / divisor``.

    It is one if it is an integer and within the axis.
    """

    #: (letter of an axis of the result or of a summed one, factor)
    terms: tuple[tuple[str, int], ...]
    offset: int = 0
    divisor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """A sum of products.

    Letters are those of :attr:`ckprof.model.tensor.TensorSpec.axes`. An axis of an operand without an entry
    in :attr:`indices` is the axis of the result, or the summed one, with the same letter.
    """

    #: (letter, length) of what is summed, slowest first: the order of the sums
    summed: tuple[tuple[str, int], ...]
    #: operand -> letter of one of its axes -> which element along it
    indices: Mapping[str, Mapping[str, AffineIndex]] = field(default_factory=dict)
