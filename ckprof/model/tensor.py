"""One tensor of a problem: which axes it has and how they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A tensor in memory: lines of elements along its last axis, which may have gaps between them."""

    name: str
    #: one letter per axis, slowest first; the same letter means the same axis in all tensors of a problem
    axes: str
    #: one length per axis
    shape: tuple[int, ...]
    #: elements from the start of a line to that of the next one; 0 without gaps
    line_stride: int = 0
    #: letters of :attr:`axes` in the order in which values are drawn, which is that of every layout
    drawing_order: str
    #: place among the operation's tensors: the order in which kernels take them, and the random stream that
    #: the values come from, so that no tensor depends on the size of another one
    position: int
    #: lower end of the unit interval that decimals are drawn from
    lowest_decimal: float = -0.5

    @property
    def elements(self) -> int:
        """Elements without gaps."""
        return prod(self.shape)

    @property
    def is_packed(self) -> bool:
        """Whether there are no gaps."""
        return self.line_stride in (0, self.shape[-1])

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Lengths of the axes with the gaps, one behind the last line among them."""
        return self.shape if self.is_packed else (*self.shape[:-1], self.line_stride)

    @property
    def stored_elements(self) -> int:
        """Elements with the gaps."""
        return prod(self.stored_shape)
