"""Which types go together: what operands of a type are added up in, and what the result has."""

from __future__ import annotations

from typing import Final

from ckprof.errors import InputError
from ckprof.model.types import DataType, TypeSet, accumulator_of, spellings

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
