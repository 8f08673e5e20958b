"""The precision in which products are computed, where that is not the one of the operands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ckprof.model.dtype import DataType


class ComputeType(Enum):
    """What operands are rounded to before they are multiplied; the value is the spelling of catalogs.

    No tensor has such a type: in memory, operands keep their own.
    """

    #: eight bits of exponent and ten of mantissa, in words of 32 bits: what AMD calls xf32
    TF32 = "tf32"

    @property
    def properties(self) -> ComputeTypeProperties:
        """Everything else that is known about the type."""
        return _TYPES[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeTypeProperties:
    """One row of the table of compute types."""

    #: CK Tile's name of the type
    cpp_type: str
    #: stored mantissa bits, without the hidden one
    mantissa_bits: int
    #: the type of the operands that it is made from
    operands: DataType
    #: a type of operands that no device multiplies more slowly
    no_faster_than: DataType


_TYPES = {
    ComputeType.TF32: ComputeTypeProperties(
        cpp_type="tf32_t", mantissa_bits=10, operands=DataType.FP32, no_faster_than=DataType.FP16
    ),
}
