"""What is computed, for those who know neither the operation nor its problems, and how exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from ckprof.model.types import ComputeType, DataType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.problem import Problem
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An element passes when ``|out - ref| <= atol + rtol * |ref|``."""

    rtol: float
    atol: float


class Rounding(Enum):
    """How a reference is rounded to the type of the result before both are compared."""

    NONE = "none"
    #: ties to even
    NEAREST = "nearest"
    #: what CK Tile's conversion to bf16 does, unless it was built otherwise
    CUT_OFF = "cut_off"


# read when messages are decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorView:
    """A tensor in memory, by its axes."""

    name: str
    #: one letter per axis, slowest first; the same letter means the same axis in all tensors
    axes: str
    #: one per axis
    lengths: tuple[int, ...]
    #: elements from index to index of each axis
    strides: tuple[int, ...]
    dtype: DataType

    @property
    def extent(self) -> int:
        """Elements from the first to the last one, both included."""
        pairs = zip(self.lengths, self.strides, strict=True)
        return 1 + sum((length - 1) * stride for length, stride in pairs)

    def length(self, axis: str) -> int:
        """Return the length of an axis; 1 where the tensor does not have it."""
        return dict(zip(self.axes, self.lengths, strict=True)).get(axis, 1)

    def stride(self, axis: str) -> int:
        """Return the stride of an axis that the tensor has."""
        return self.strides[self.axes.index(axis)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """A problem of an operation that has problems of its own."""

    #: id of the operation
    operation: str
    #: name of the layout
    layout: str
    #: fields of the problem, see :meth:`ckprof.model.problem.Problem.as_dict`
    problem: dict[str, Any]
    #: the operands and, as the last one, the result
    tensors: tuple[TensorView, ...]
    #: which variant of the 8-bit floating-point types is meant, see :class:`~ckprof.model.types.TypeSet`
    ocp: bool
    #: what operands may be rounded to before they are multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None

    @classmethod
    def of(
        cls, operation: str, layout: str, problem: Problem, specs: Sequence[TensorSpec], types: TypeSet
    ) -> Computation:
        """Return what a problem is.

        :param operation: id.
        :param layout: name.
        :param specs: the operands and, as the last one, the result.
        :param types: of the tensors.
        """
        views = tuple(
            TensorView(name=spec.name, axes=spec.axes, lengths=spec.shape, strides=spec.strides, dtype=dtype)
            for spec, dtype in zip(specs, types.of_so_many(len(specs)), strict=True)
        )
        return cls(
            operation=operation,
            layout=layout,
            problem=problem.as_dict(),
            tensors=views,
            ocp=types.ocp,
            compute_type=types.compute_type,
        )


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
    #: the result is not the sum itself, but something that is made of it
    is_changed: bool = False
