"""Element types of tensors, with one table per facet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable


class DataType(Enum):
    """Element type of input, weight and output; the value is the spelling used in catalogs and strings."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"

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
    #: stored mantissa bits, without the hidden one
    mantissa_bits: int
    #: numpy type of the storage; bf16 is stored as raw 16-bit words
    numpy_storage: str


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
}


def spellings(members: Iterable[Enum]) -> str:
    """Return the values of an enum as ``a, b, c`` for messages."""
    return ", ".join(str(member.value) for member in members)
