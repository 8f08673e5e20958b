"""Products with more than one product's sizes: batches with strides, D tensors and what is done with them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import spellings
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, check_range

if TYPE_CHECKING:
    from collections.abc import Mapping


#: host arguments of products hold no parameters: those without, of any number of D tensors
GEMM_OPERATIONS: Final = tuple(operation for operation in ElementwiseOp if operation.properties.variadic)

#: operations with one operand, which upstream's configuration lists beside those with several
_UNARY: Final = frozenset({"Relu", "Gelu"})


def elementwise_op_named(name: str) -> ElementwiseOp:
    """Return the operation of products with this name.

    :raises InputError: there is none with several operands.
    """
    expected = spellings(GEMM_OPERATIONS)
    if name in _UNARY:
        raise InputError(
            f"elementwise_op is {name}, which takes one operand and no D tensors, expected one of {expected} "
            "(unsupported-family)"
        )
    operation = next((one for one in GEMM_OPERATIONS if one.value == name), None)
    if operation is None:
        raise InputError(f"elementwise_op is {name}, expected one of {expected}")
    return operation


def check_d_tensors(count: int) -> int:
    """Return a number of D tensors.

    :raises InputError: no kernel has so many.
    """
    if not 1 <= count <= MOST_D_TENSORS:
        raise InputError(f"num_d_tensors is {count}, expected 1 to {MOST_D_TENSORS}")
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedBatchProblem(GemmProblem):
    """Products whose matrices do not lie one after the other.

    A batch stride is the number of elements from a matrix to that of the next product; 0 packs them.

    :raises InputError: a size is not positive, or a stride is negative.
    """

    batch_stride_a: int = 0
    batch_stride_b: int = 0
    batch_stride_e: int = 0

    def __post_init__(self) -> None:
        GemmProblem.__post_init__(self)
        for name in self.tensors:
            check_range(f"batch_stride_{name}", self.batch_stride(name), 0)

    def batch_stride(self, tensor: str) -> int:
        """Return the distance of the matrices of a batch; 0 if they lie one after the other."""
        return {"a": self.batch_stride_a, "b": self.batch_stride_b, "e": self.batch_stride_e}[tensor]

    def values(self) -> tuple[int, ...]:
        """Return those of every product, then the three batch strides."""
        strides = self.batch_stride_a, self.batch_stride_b, self.batch_stride_e
        return (*GemmProblem.values(self), *strides)

    def describe(self) -> str:
        """Return one line for people, e.g. ``M64 N64 K32 batch 3 batch strides 4096 2048 4096``."""
        strides = (self.batch_stride(name) or "packed" for name in self.tensors)
        return f"{GemmProblem.describe(self)} batch strides {' '.join(map(str, strides))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiDProblem(GemmProblem):
    """A product that is combined with one or two matrices of its shape, element by element.

    :raises InputError: a size is not positive, a stride is negative, there are too many D tensors, or a
        batch.
    """

    elementwise_op: ElementwiseOp
    #: of each D tensor; 0 packs its lines
    strides_d: tuple[int, ...]

    def __post_init__(self) -> None:
        GemmProblem.__post_init__(self)
        elementwise_op_named(self.elementwise_op.value)
        check_d_tensors(len(self.strides_d))
        if self.batch > 1:
            raise InputError(
                f"batch is {self.batch}: batches of products that are combined with D tensors are an "
                "unsupported family"
            )
        for number, stride in enumerate(self.strides_d):
            check_range(f"stride_d{number}", stride, 0)

    @property
    def d_tensors(self) -> tuple[str, ...]:
        """Names of the D tensors."""
        return tuple(f"d{number}" for number in range(len(self.strides_d)))

    @property
    def unfused(self) -> GemmProblem:
        """The product alone."""
        return GemmProblem(**{each.name: getattr(self, each.name) for each in fields(GemmProblem)})

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the operands and, as the last one, of the result."""
        return ("a", "b", *self.d_tensors, "e")

    @property
    def d_elements(self) -> int:
        """Elements of all D tensors."""
        return self.batch * self.m * self.n * len(self.strides_d)

    def stride(self, tensor: str) -> int:
        """Return the stride of a matrix; 0 if it is packed."""
        if tensor in self.d_tensors:
            return self.strides_d[self.d_tensors.index(tensor)]
        return GemmProblem.stride(self, tensor)

    def deviation(self, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result."""
        of_d = tuple(mean_squares[name] for name in self.d_tensors)
        of_product = GemmProblem.deviation(self, mean_squares)
        return self.elementwise_op.properties.deviation(of_product, of_d, {})

    def values(self) -> tuple[int, ...]:
        """Return those of every product, no batch strides, number of the operation, and strides of D."""
        return (
            *GemmProblem.values(self),
            *(0, 0, 0),
            self.elementwise_op.number,
            len(self.strides_d),
            *self.strides_d,
        )

    def describe(self) -> str:
        """Return one line for people, e.g. ``M512 N512 K100 MultiDAdd d2``."""
        text = f"{GemmProblem.describe(self)} {self.elementwise_op.value} d{len(self.strides_d)}"
        strides = zip(self.d_tensors, self.strides_d, strict=True)
        return " ".join((text, *(f"ld{name} {stride}" for name, stride in strides if stride)))
