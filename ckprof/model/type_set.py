"""The element types of a kernel, one per tensor and one for its sums."""

from __future__ import annotations

from dataclasses import dataclass

from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSet:
    """What a kernel reads, adds up and writes."""

    #: of the first operand
    a: DataType
    #: of the second operand
    b: DataType
    #: in which products are added up
    acc: DataType
    result: DataType
    #: whether 8-bit floating-point types are those of the OCP standard; else those without infinity and
    #: negative zero, whose exponent has a bias that is one more
    ocp: bool = True
    #: what operands are rounded to before they are multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None

    @classmethod
    def shared(cls, dtype: DataType) -> TypeSet:
        """Return the types of a kernel whose tensors all have one type and whose sums are fp32."""
        return cls(a=dtype, b=dtype, acc=DataType.FP32, result=dtype)

    @property
    def of_tensors(self) -> tuple[DataType, DataType, DataType]:
        """Types of first operand, second operand and result."""
        return self.a, self.b, self.result

    def of_so_many(self, tensors: int) -> tuple[DataType, ...]:
        """Return the types of two operands, of further ones, which have the result's, and of the result."""
        return (self.a, self.b, *(self.result,) * (tensors - 2))

    @property
    def compute(self) -> DataType | ComputeType:
        """What the operands are rounded to, else the type of lower precision among them.

        Products are no better than that.
        """
        if self.compute_type is not None:
            return self.compute_type
        return self.a if self.a.properties.mantissa_bits < self.b.properties.mantissa_bits else self.b

    @property
    def is_exact(self) -> bool:
        """Whether nothing is rounded anywhere: all types are integers."""
        return all(one.properties.is_integer for one in (*self.of_tensors, self.acc))
