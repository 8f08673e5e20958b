"""Element types of tensors: one table per facet, the types of a kernel, how products are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.model.architecture import Architecture


class DataType(Enum):
    """Element type of a tensor; the value is the spelling used in catalogs and strings.

    Of an instance: the type of its operands, see :class:`~ckprof.model.types.TypeSet`.
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
    def spelled(self) -> str:
        """How instance strings spell it."""
        return self.properties.spelled or str(self.value)

    @classmethod
    def of_string(cls, spelled: str) -> DataType | None:
        """Return the type that instance strings spell like that; ``None`` if it is none of these."""
        return next((dtype for dtype in cls if dtype.spelled == spelled), None)

    @classmethod
    def parse(cls, text: str) -> DataType:
        """Return the type spelled ``text``.

        :raises UsageError: no such type; the message lists the known ones.
        """
        try:
            return cls(text)
        except ValueError:
            raise UsageError(unknown_name("data type", text, [member.value for member in cls])) from None


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
    #: how instance strings spell it; empty: as catalogs do
    spelled: str = ""


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
        cpp_type="int8_t",
        size_bytes=1,
        mantissa_bits=0,
        numpy_storage="int8",
        is_integer=True,
        spelled="s8",
    ),
    DataType.INT32: DataTypeProperties(
        cpp_type="int32_t",
        size_bytes=4,
        mantissa_bits=0,
        numpy_storage="int32",
        is_integer=True,
        spelled="s32",
    ),
}

#: The types that operands and result of a kernel can share, with sums in fp32: all that a list can name,
#: unless its catalog variant says otherwise.
SHARED_TYPES: Final = (DataType.FP32, DataType.FP16, DataType.BF16)


def spellings(members: Iterable[Enum]) -> str:
    """Return the values of an enum as ``a, b, c`` for messages."""
    return ", ".join(str(member.value) for member in members)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSet:
    """What a kernel reads, adds up and writes."""

    #: of the operands, in the operation's order; further ones of a problem have the type of the result
    operands: tuple[DataType, ...]
    #: in which values are added up
    acc: DataType
    result: DataType
    #: whether 8-bit floating-point types are those of the OCP standard; else those without infinity and
    #: negative zero, whose exponent has a bias that is one more
    ocp: bool = True
    #: what operands are rounded to before they are multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None
    #: of the operands that a problem has beside those, in order; of the type of the result beyond these
    further: tuple[DataType, ...] = ()
    #: integers that sums become before a problem does anything with them; ``None``: they stay as they are
    narrowed: DataType | None = None

    @classmethod
    def shared(cls, dtype: DataType) -> TypeSet:
        """Return the types of a kernel of two operands whose tensors all have one type, with sums in fp32."""
        return cls(operands=(dtype, dtype), acc=DataType.FP32, result=dtype)

    @classmethod
    def parse(cls, text: str) -> TypeSet:
        """Return the types of a kernel of two operands from :attr:`text`."""
        first, second, *further, result = map(DataType, text.split(","))
        return cls(
            operands=(first, second),
            acc=accumulator_of(first, second),
            result=result,
            further=tuple(further),
        )

    @property
    def of_tensors(self) -> tuple[DataType, ...]:
        """Types of the operands and of the result."""
        return (*self.operands, self.result)

    def further_of(self, count: int) -> tuple[DataType, ...]:
        """Return the types of so many operands that a problem has beside those of its products."""
        return (*self.further[:count], *(self.result,) * (count - len(self.further)))

    def of_so_many(self, tensors: int) -> tuple[DataType, ...]:
        """Return the types of the operands, of further ones, and of the result.

        :param tensors: how many a problem has.
        """
        return (*self.operands, *self.further_of(tensors - len(self.operands) - 1), self.result)

    @property
    def compute(self) -> DataType | ComputeType:
        """What the operands are rounded to, else the type of lower precision among them.

        Products are no better than that.
        """
        if self.compute_type is not None:
            return self.compute_type
        return min(self.operands, key=lambda dtype: dtype.properties.mantissa_bits)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is rounded anywhere: all types are integers."""
        return all(dtype.properties.is_integer for dtype in (*self.of_tensors, *self.further, self.acc))

    @property
    def changes_sums(self) -> bool:
        """Whether what a problem does with sums is done before they are rounded to the type of the result.

        8 bits hold too little of them for anything to be done with what is left.
        """
        return self.result.properties.size_bytes == 1

    @property
    def text(self) -> str:
        """The types of the tensors: operands, further ones, result; e.g. ``fp8,bf8,fp8``."""
        return ",".join(dtype.value for dtype in (*self.operands, *self.further, self.result))


class ComputeType(Enum):
    """What operands are rounded to before they are multiplied; the value is the spelling of catalogs.

    No tensor has such a type: in memory, operands keep their own.
    """

    #: eight bits of exponent and ten of mantissa, in words of 32 bits: what AMD calls xf32
    TF32 = "tf32"

    @property
    def properties(self) -> DataTypeProperties:
        """Its name in CK Tile and its bits, in words of the type that it is made from."""
        return _TYPES[self]

    @property
    def operands(self) -> DataType:
        """The type of the operands that it is made from."""
        return _OPERANDS[self]

    @property
    def no_faster_than(self) -> DataType:
        """A type of operands that no device multiplies more slowly."""
        return _NO_FASTER[self]


_TYPES = {
    ComputeType.TF32: DataTypeProperties(
        cpp_type="tf32_t", size_bytes=4, mantissa_bits=10, numpy_storage="float32"
    ),
}
_OPERANDS = {ComputeType.TF32: DataType.FP32}
_NO_FASTER = {ComputeType.TF32: DataType.FP16}


def accumulator_of(*operands: DataType) -> DataType:
    """Return the type in which products of operands of these types are added up."""
    return DataType.INT32 if all(one.properties.is_integer for one in operands) else DataType.FP32


_FNUZ: Final = "fnuz_float8"


def has_ocp_float8(arch: Architecture) -> bool:
    """Say whether 8-bit floating-point types are those of the OCP standard."""
    return _FNUZ not in arch.capabilities


def types_on(types: TypeSet, arch: str) -> TypeSet:
    """Return types with the variants of an architecture; those of the OCP standard where it is unknown."""
    # most commands know no architectures
    from ckprof.model.architecture import architectures

    architecture = architectures().get(arch)
    return replace(types, ocp=architecture is None or has_ocp_float8(architecture))


class SplitSum(Enum):
    """Where the partial sums of the splits meet."""

    #: each is rounded to the type of the result and added to it in memory, in any order
    RESULT_TYPE = "result_type"
    #: they are added in the accumulator's type, and their sum is rounded once
    ACCUMULATOR = "accumulator"
