"""Problems of matrix products: one, batches with strides, with D tensors; and how matrices lie in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.gemm_work import Product, alignment, stage_padding
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.problem_types import sizes
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import DataType, TypeSet, accumulator_of, spellings
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.tensor import Layout


#: operand type -> type of the result
_RESULTS: Final = {
    DataType.FP32: DataType.FP32,
    DataType.FP16: DataType.FP16,
    DataType.BF16: DataType.BF16,
    DataType.FP8: DataType.FP16,
    DataType.BF8: DataType.FP16,
    DataType.INT8: DataType.INT32,
}

#: types that operands can have
GEMM_TYPES: Final = tuple(_RESULTS)


def types_of(dtype: DataType) -> TypeSet:
    """Return the types of a product of matrices whose elements have this type.

    Types of 8 bits are those of the OCP standard until an architecture is known, see
    :func:`ckprof.model.types.types_on`.

    :raises InputError: there are no such products.
    """
    if dtype not in _RESULTS:
        raise InputError(f"matrices of {dtype.value}: expected one of {spellings(GEMM_TYPES)}")
    return TypeSet(operands=(dtype, dtype), acc=accumulator_of(dtype), result=_RESULTS[dtype])


#: names of the matrices that every product has, in the order in which kernels take them; D tensors follow
TENSORS: Final = ("a", "b", "e")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLayout:
    """Row-major or column-major order of ``E[M,N] = A[M,K] * B[K,N]``.

    ``name`` has one letter per matrix, ``r`` or ``c``; the orders are letters of axes, the fastest last.
    """

    name: str
    a: str
    b: str
    e: str
    #: there are no spatial dimensions
    ndim: int = 0

    def order(self, tensor: str) -> str:
        """Return the letters of a matrix's axes, slowest first.

        :param tensor: one of :data:`TENSORS`, or ``d0``, ``d1``, which lie as E does.
        """
        return {"a": self.a, "b": self.b}.get(tensor, self.e)


def _layout(name: str) -> MatrixLayout:
    a, b, e = (
        axes if letter == "r" else axes[::-1] for letter, axes in zip(name, ("MK", "KN", "MN"), strict=True)
    )
    return MatrixLayout(name=name, a=a, b=b, e=e)


#: Every layout that kernels have: the result is row-major in all of them.
LAYOUTS: Final = tuple(map(_layout, ("rcr", "rrr", "ccr", "crr")))

_BY_NAME: Final = {layout.name: layout for layout in LAYOUTS}


def find_layout(name: str) -> MatrixLayout | None:
    """Return the layout called ``name`` (any case), or ``None``."""
    return _BY_NAME.get(name.lower())


#: matrix -> its axes in the order in which values are drawn, whatever the layout; D tensors have those of E
_AXES: Final = {"a": "MK", "b": "KN"}
#: letter of the axis that numbers the products of a batch
_BATCH: Final = "G"


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmProblem:
    """``batch`` times ``E[m,n] = sum over k of A[m,k] * B[k,n]``.

    A stride is the number of elements from one line of a matrix to the next one, which is a row or a column
    as the layout says; 0 packs them. The matrices of a batch lie one after the other, unless a
    :class:`~ckprof_plugins.operations.gemm.problem.StridedBatchProblem` says how far apart they are.

    :raises InputError: a size is not positive, or a stride is negative.
    """

    m: int
    n: int
    k: int
    stride_a: int = 0
    stride_b: int = 0
    stride_e: int = 0
    batch: int = 1

    def __post_init__(self) -> None:
        for name in ("m", "n", "k", "batch"):
            check_range(name, getattr(self, name), 1)
        for name in ("stride_a", "stride_b", "stride_e"):
            check_range(name, getattr(self, name), 0)

    @property
    def ndim(self) -> int:
        """There are no spatial dimensions."""
        return 0

    @property
    def flop(self) -> int:
        """2 * M * N * K per product, and one for each element of a D tensor."""
        return 2 * self.m * self.n * self.k * self.batch + self.d_elements

    @property
    def d_elements(self) -> int:
        """Elements of all D tensors, which products are combined with."""
        return 0

    @property
    def real_flop(self) -> int:
        """All of them: nothing is padded."""
        return self.flop

    @property
    def part_axis(self) -> str:
        """Products of a batch, or rows of A and E."""
        return _BATCH if self.batch > 1 else "M"

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the operands and, as the last one, of the result."""
        return TENSORS

    def stride(self, tensor: str) -> int:
        """Return the stride of a matrix; 0 if it is packed."""
        return {"a": self.stride_a, "b": self.stride_b, "e": self.stride_e}[tensor]

    def batch_stride(self, tensor: str) -> int:
        """Return the distance of the matrices of a batch; 0 if they lie one after the other."""
        return 0

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return one of :attr:`tensors`."""
        lengths = {"M": self.m, "N": self.n, "K": self.k, _BATCH: self.batch}
        batch = _BATCH if self.batch > 1 else ""
        axes = batch + layout.order(name)
        return TensorSpec(
            name=name,
            axes=axes,
            shape=tuple(lengths[axis] for axis in axes),
            line_stride=self.stride(name),
            block_stride=self.batch_stride(name) if batch else 0,
            drawing_order=batch + _AXES.get(name, "MN"),
            position=TENSORS.index(name) if name in TENSORS else len(TENSORS) + int(name.removeprefix("d")),
            # as with ckProfiler's init 2
            lowest_decimal=0.0 if name == "a" else -0.5,
        )

    def unmet_by(self, layout: Layout) -> UnmetRequirement | None:
        """Return why no kernel of a layout can compute the problem: lines or matrices that overlap."""
        for name in self.tensors:
            *_, lines, least = self.tensor(name, layout).shape
            stride, apart = self.stride(name), self.batch_stride(name)
            extent = (lines - 1) * (stride or least) + least
            rule = f"stride-{name.rstrip('01')}"
            if 0 < stride < least:
                return UnmetRequirement(
                    rule=rule,
                    message=f"the stride of {name.upper()} is {stride}, its lines in layout {layout.name} "
                    f"have {least} elements",
                )
            if 0 < apart < extent and self.batch > 1:
                return UnmetRequirement(
                    rule=rule,
                    message=f"the batch stride of {name.upper()} is {apart}, each matrix in layout "
                    f"{layout.name} takes {extent} elements",
                )
        return None

    def parts(self, most_elements: int) -> Sequence[tuple[slice, GemmProblem]]:
        """Divide the problem into batches of fewer products, or into problems of some rows each."""
        if self.batch > 1:
            each = self.m * self.k + self.k * self.n + self.m * self.n
            # a single product is no batch: its tensors would lack an axis
            first = range(0, self.batch - 1, max(2, most_elements // each))
            ends = (*first[1:], self.batch)
            return [
                (slice(start, end), replace(self, batch=end - start))
                for start, end in zip(first, ends, strict=True)
            ]
        rows = max(1, min(self.m, most_elements // (self.k + self.n)))
        starts = range(0, self.m, rows)
        return [
            (slice(first, first + count), replace(self, m=count))
            for first, count in ((first, min(rows, self.m - first)) for first in starts)
        ]

    def traffic_bytes(self, dtype: DataType) -> int:
        """Return the bytes of each matrix once, without gaps."""
        moved: int = self.product(dtype).tensor_bytes
        return moved

    def product(self, dtype: DataType) -> Product:
        """Return what the problem is to a time model; works with symbols for sizes as well.

        :param dtype: of the operands.
        """
        types = types_of(dtype)
        elements = (self.m * self.k, self.k * self.n, self.m * self.n)
        widths = [of.properties.size_bytes for of in types.of_tensors]
        moved = sum(count * width for count, width in zip(elements, widths, strict=True))
        return Product(
            m=self.m,
            n=self.n,
            k=self.k,
            batch=self.batch,
            tensor_bytes=self.batch * moved + self.d_elements * widths[-1],
            result_bytes=widths[-1],
        )

    def deviation(self, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result; see :meth:`Operation.deviation
        <ckprof.plugin.protocols.Operation.deviation>`."""
        return math.sqrt(self.k * mean_squares["a"] * mean_squares["b"])

    def features(self) -> tuple[float, ...]:
        """Return what makes kernels fast or slow beside the sizes: padding and alignment of the axes."""
        return (
            1.5 * stage_padding(self.k),
            0.5 * stage_padding(self.n),
            0.5 * stage_padding(self.m),
            0.5 * alignment(self.k),
            0.5 * alignment(self.n),
        )

    def values(self) -> tuple[int, ...]:
        """Return M, N, K, the three strides, the batch."""
        return self.m, self.n, self.k, self.stride_a, self.stride_b, self.stride_e, self.batch

    def describe(self) -> str:
        """Return one line for people, e.g. ``M512 N512 K100 lda 104``."""
        text = f"M{self.m} N{self.n} K{self.k}"
        if self.batch > 1:
            text = f"{text} batch {self.batch}"
        strides = {"lda": self.stride_a, "ldb": self.stride_b, "lde": self.stride_e}
        return " ".join((text, *(f"{name} {value}" for name, value in strides.items() if value)))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the FLOPs."""
        return {**sizes(self), "flop": self.flop}


def check_range(name: str, value: int, least: int) -> None:
    """Check a size or a stride.

    :raises InputError: it is less, or exceeds what an index can be.
    """
    if not least <= value <= MAX_LENGTH:
        raise InputError(f"{name} is {value}, expected {least} to {MAX_LENGTH}")


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
