"""The sizes of a softmax over rows, and its one layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ckprof.errors import InputError
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import DataType

#: the operand and the result
TENSORS = ("x", "y")
#: bytes of an element of the result, which is fp32 whatever the operand is
RESULT_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLayout:
    """Both matrices row by row."""

    name: str = "rows"
    #: there are no spatial dimensions
    ndim: int = 0

    def order(self, tensor: str) -> str:
        """Return the letters of a matrix's axes, slowest first."""
        return "RC"


LAYOUTS = (RowLayout(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSoftmaxProblem:
    """``y[r,c] = exp(x[r,c] - max_c x[r,c]) / sum_c exp(x[r,c] - max_c x[r,c])``.

    :raises InputError: a size is not positive.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            if not 1 <= getattr(self, name) <= MAX_LENGTH:
                raise InputError(f"{name} is {getattr(self, name)}, expected 1 to {MAX_LENGTH}")

    #: there are no spatial dimensions
    ndim = 0
    #: the rows, which do not depend on each other
    part_axis = "R"

    @property
    def flop(self) -> int:
        """Five per element: maximum, difference, exponential, sum, quotient."""
        return 5 * self.rows * self.columns

    @property
    def real_flop(self) -> int:
        """All of them."""
        return self.flop

    def tensor(self, name: str, layout: Any) -> TensorSpec:
        """Return ``x`` or ``y``."""
        return TensorSpec(
            name=name,
            axes=layout.order(name),
            shape=(self.rows, self.columns),
            drawing_order="RC",
            position=TENSORS.index(name),
        )

    def unmet_by(self, layout: Any) -> UnmetRequirement | None:
        """Return nothing: kernels say what they cannot do."""
        return None

    def parts(self, most_elements: int) -> Sequence[tuple[slice, RowSoftmaxProblem]]:
        """Divide the problem into problems of some rows each."""
        rows = max(1, most_elements // self.columns)
        return [
            (slice(first, end), replace(self, rows=end - first))
            for first, end in ((first, min(first + rows, self.rows)) for first in range(0, self.rows, rows))
        ]

    def traffic_bytes(self, dtype: DataType) -> int:
        """Return the bytes of both matrices."""
        return self.rows * self.columns * (dtype.properties.size_bytes + RESULT_BYTES)

    def values(self) -> tuple[int, ...]:
        """Return rows and columns, in the order in which the C++ reads them."""
        return self.rows, self.columns

    def describe(self) -> str:
        """Return e.g. ``128 rows of 1024``."""
        return f"{self.rows} rows of {self.columns}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the FLOPs."""
        return {"rows": self.rows, "columns": self.columns, "flop": self.flop}
