"""Tensors as a problem has them, and their layouts."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable


@runtime_checkable
class Layout(Protocol):
    """The memory orders of an operation's tensors: a frozen dataclass, part of the identity of instances."""

    @property
    def name(self) -> str:
        """Spelling of catalogs and file names, in lower case."""

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions, 0 for operations that have none."""

    def order(self, tensor: str) -> str:
        """Return the letters of a tensor's axes, slowest first.

        :param tensor: one of the operation's tensors.
        """


def layout_named(layouts: Iterable[Layout], name: str) -> Layout | None:
    """Return the layout with this name, in any case, or ``None``."""
    return next((layout for layout in layouts if layout.name == name.lower()), None)


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
    #: elements from the first line of what the slowest axis numbers to that of the next one, no less than the
    #: lines take; 0 where the lines of all follow each other
    block_stride: int = 0
    #: letters of :attr:`axes` in the order in which values are drawn, which is that of every layout
    drawing_order: str
    #: place among the operation's tensors: the order in which kernels take them, and the random stream that
    #: the values come from, so that no tensor depends on the size of another one
    position: int
    #: lower end of the unit interval that decimals are drawn from
    lowest_decimal: float = -0.5
    #: values are drawn without their signs, and none is less; 0: they are drawn with them
    least: float = 0.0

    @property
    def elements(self) -> int:
        """Elements without gaps."""
        return prod(self.shape)

    @property
    def _line(self) -> int:
        """Elements from line to line."""
        return self.line_stride or self.shape[-1]

    @property
    def has_blocks(self) -> bool:
        """Whether what the slowest axis numbers does not lie one after the other."""
        return self.block_stride not in (0, prod(self.shape[1:-1]) * self._line)

    @property
    def is_packed(self) -> bool:
        """Whether there are no gaps."""
        return self.stored_elements == self.elements

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Lengths of the axes with the gaps, one after the last line among them.

        The lines of a block with a length of its own are one axis together.
        """
        if self.has_blocks:
            return self.shape[0], self.block_stride
        return (*self.shape[:-1], self._line)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from index to index of each axis."""
        lines = [prod(self.shape[axis + 1 : -1]) * self._line for axis in range(len(self.shape) - 1)]
        if self.has_blocks:
            lines[0] = self.block_stride
        return (*lines, 1)

    def index(self, position: int) -> tuple[int, ...]:
        """Return the index of a stored element; one in a gap has an index that exceeds its axis."""
        index = []
        for stride in self.strides:
            at, position = divmod(position, stride)
            index.append(at)
        return tuple(index)

    @property
    def stored_elements(self) -> int:
        """Elements with the gaps."""
        return prod(self.stored_shape)
