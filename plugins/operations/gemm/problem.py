"""The sizes of one product of matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.features import alignment, stage_padding
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.product import Product
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec
from ckprof_plugins.operations.gemm.element_types import types_of
from ckprof_plugins.operations.gemm.layout import TENSORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout

#: matrix -> its axes in the order in which values are drawn, whatever the layout
_AXES: Final = {"a": "MK", "b": "KN", "e": "MN"}
#: letter of the axis that numbers the products of a batch
_BATCH: Final = "G"


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmProblem:
    """``batch`` times ``E[m,n] = sum over k of A[m,k] * B[k,n]``.

    A stride is the number of elements from one line of a matrix to the next one, which is a row or a column
    as the layout says; 0 packs them. The matrices of a batch lie one behind the other.

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
        for name in ("m", "n", "k", "batch", "stride_a", "stride_b", "stride_e"):
            value = getattr(self, name)
            least = 0 if name.startswith("stride") else 1
            if not least <= value <= MAX_LENGTH:
                raise InputError(f"{name} is {value}, expected {least} to {MAX_LENGTH}")

    @property
    def ndim(self) -> int:
        """There are no spatial dimensions."""
        return 0

    @property
    def flop(self) -> int:
        """2 * M * N * K per product."""
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def real_flop(self) -> int:
        """All of them: nothing is padded."""
        return self.flop

    @property
    def part_axis(self) -> str:
        """Rows of A and E."""
        return "M"

    def stride(self, tensor: str) -> int:
        """Return the stride of a matrix; 0 if it is packed."""
        return {"a": self.stride_a, "b": self.stride_b, "e": self.stride_e}[tensor]

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return ``a``, ``b`` or ``e``."""
        lengths = {"M": self.m, "N": self.n, "K": self.k, _BATCH: self.batch}
        batch = _BATCH if self.batch > 1 else ""
        axes = batch + layout.order(name)
        return TensorSpec(
            name=name,
            axes=axes,
            shape=tuple(lengths[axis] for axis in axes),
            line_stride=self.stride(name),
            drawing_order=batch + _AXES[name],
            position=TENSORS.index(name),
            # as with ckProfiler's init 2
            lowest_decimal=0.0 if name == "a" else -0.5,
        )

    def unmet_by(self, layout: Layout) -> UnmetRequirement | None:
        """Return why no kernel of a layout can compute the problem: a line that overlaps the next one."""
        for name in TENSORS:
            least, stride = self.tensor(name, layout).shape[-1], self.stride(name)
            if 0 < stride < least:
                return UnmetRequirement(
                    rule=f"stride-{name}",
                    message=f"the stride of {name.upper()} is {stride}, its lines in layout {layout.name} "
                    f"have {least} elements",
                )
        return None

    def parts(self, most_elements: int) -> Sequence[tuple[slice, GemmProblem]]:
        """Divide the problem into problems of some rows each."""
        rows = max(1, min(self.m, most_elements // ((self.k + self.n) * self.batch)))
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
        sizes = [of.properties.size_bytes for of in types.of_tensors]
        moved = sum(count * size for count, size in zip(elements, sizes, strict=True))
        return Product(
            m=self.m,
            n=self.n,
            k=self.k,
            batch=self.batch,
            tensor_bytes=self.batch * moved,
            result_bytes=sizes[-1],
        )

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
        names = ("m", "n", "k", "stride_a", "stride_b", "stride_e", "batch", "flop")
        return {name: getattr(self, name) for name in names}
