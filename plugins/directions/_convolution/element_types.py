"""Which element types the tensors of a convolution can have together."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet, accumulator_of, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FLOAT8: Final = (DataType.FP8, DataType.BF8)

#: type of the input -> types that the result can have, the usual one first
_RESULTS: Final[Mapping[DataType, tuple[DataType, ...]]] = MappingProxyType(
    {
        **{dtype: (dtype,) for dtype in SHARED_TYPES},
        DataType.FP8: (DataType.FP8, DataType.FP32),
        DataType.BF8: (DataType.FP8, DataType.FP32),
        DataType.INT8: (DataType.INT8,),
    }
)

#: types that the input can have
CONVOLUTION_TYPES: Final = tuple(_RESULTS)


def weight_types(dtype: DataType) -> tuple[DataType, ...]:
    """Return the types that the weight can have, by that of the input, the usual one first."""
    return (dtype, *(other for other in _FLOAT8 if other is not dtype)) if dtype in _FLOAT8 else (dtype,)


def result_types(dtype: DataType) -> tuple[DataType, ...]:
    """Return the types that the result can have, by that of the input, the usual one first."""
    return _RESULTS[dtype]


def d_tensor_types(result: DataType) -> tuple[DataType, ...]:
    """Return the types that D tensors can have, by that of the result, the usual one first."""
    return (result, DataType.FP32) if result.properties.size_bytes == 1 else (result,)


def types_of(
    dtype: DataType,
    weight: DataType | None = None,
    result: DataType | None = None,
    d_tensors: Sequence[DataType] = (),
) -> TypeSet:
    """Return the types of a convolution.

    :param dtype: of the input.
    :param weight: of the weight; ``None`` for the usual one.
    :param result: of the result; ``None`` for the usual one.
    :param d_tensors: of the first D tensors; the others have that of the result.
    :raises InputError: they do not go together.
    """
    return _types_of(dtype, weight, result, tuple(d_tensors))


# rule sets ask the same few questions for each of thousands of kernels
@cache
def _types_of(
    dtype: DataType, weight: DataType | None, result: DataType | None, d_tensors: tuple[DataType, ...]
) -> TypeSet:
    if dtype not in _RESULTS:
        raise InputError(f"convolutions of {dtype.value}: expected one of {spellings(CONVOLUTION_TYPES)}")
    weight = weight or dtype
    result = result or _RESULTS[dtype][0]
    for name, said, known in (
        ("weight", weight, weight_types(dtype)),
        ("result", result, result_types(dtype)),
        *(("D tensor", one, d_tensor_types(result)) for one in d_tensors),
    ):
        if said not in known:
            raise InputError(
                f"a {name} of {said.value} with an input of {dtype.value}: expected {spellings(known)}"
            )
    return TypeSet(
        operands=(dtype, weight),
        acc=accumulator_of(dtype, weight),
        result=result,
        further=d_tensors if any(one is not result for one in d_tensors) else (),
    )
