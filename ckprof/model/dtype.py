"""Element types of tensors, with one table per facet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable


class DataType(Enum):
    """Element type of a tensor; the value is the spelling used in catalogs and strings.

    Of an instance: the type of its operands, see :class:`~ckprof.model.type_set.TypeSet`.
    """

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    #: four bits of exponent and three of mantissa; which values they stand for depends on the architecture
    FP8 = "fp8"
    #: five bits of exponent and two of mantissa
    BF8 = "bf8"
    INT8 = "int8"
    INT32 = "int32"

    @property
    def properties(self) -> DataTypeProperties:
        """Everything else that is known about the type."""
        return _FACTS[self]

    @property
    def facts(self) -> DataTypeProperties:
        """What ``properties`` was called before; for plugins that are older than the name."""
        return self.properties

    @classmethod
    def parse(cls, text: str) -> DataType:
        """Return the type spelled ``text``.

        :raises UsageError: no such type; the message lists the known ones.
        """
        try:
            return cls(text)
        except ValueError:
            raise UsageError(unknown_name("data type", text, [one.value for one in cls])) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTypeProperties:
    """One row of the data type table."""

    #: CK Tile's name of the type
    cpp_type: str
    #: bytes of one element
    size_bytes: int
    #: stored mantissa bits, without the hidden one; 0 for integers
    mantissa_bits: int
    #: numpy type of the storage; types that numpy lacks are stored as raw words
    numpy_storage: str
    #: whether values are integers, which are added and multiplied without rounding
    is_integer: bool = False


_FACTS = {
    DataType.FP32: DataTypeProperties(
        cpp_type="float", size_bytes=4, mantissa_bits=23, numpy_storage="float32"
    ),
    DataType.FP16: DataTypeProperties(
        cpp_type="half_t", size_bytes=2, mantissa_bits=10, numpy_storage="float16"
    ),
    DataType.BF16: DataTypeProperties(
        cpp_type="bf16_t", size_bytes=2, mantissa_bits=7, numpy_storage="uint16"
    ),
    DataType.FP8: DataTypeProperties(cpp_type="fp8_t", size_bytes=1, mantissa_bits=3, numpy_storage="uint8"),
    DataType.BF8: DataTypeProperties(cpp_type="bf8_t", size_bytes=1, mantissa_bits=2, numpy_storage="uint8"),
    DataType.INT8: DataTypeProperties(
        cpp_type="int8_t", size_bytes=1, mantissa_bits=0, numpy_storage="int8", is_integer=True
    ),
    DataType.INT32: DataTypeProperties(
        cpp_type="int32_t", size_bytes=4, mantissa_bits=0, numpy_storage="int32", is_integer=True
    ),
}

#: The types that operands and result of a kernel can share, with sums in fp32: all that a list can name,
#: unless its catalog variant says otherwise.
SHARED_TYPES: Final = (DataType.FP32, DataType.FP16, DataType.BF16)


def spellings(members: Iterable[Enum]) -> str:
    """Return the values of an enum as ``a, b, c`` for messages."""
    return ", ".join(str(member.value) for member in members)
