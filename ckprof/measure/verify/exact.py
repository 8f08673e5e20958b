"""Operands with which right kernels give exactly known results, whatever the order of their additions.

Every kernel runs once on them, beside the usual operands: what the tolerance of those must allow (an
accumulator of too few bits, a rounding in the wrong direction, a lost part of a long sum) differs here.

**Wide integers.** Every sum of any of the products of an element is an integer that the accumulator holds,
so that no addition rounds, and most are integers that fewer bits do not hold: an accumulator in bf16 or
fp16 shows. With integers from ``-A`` to ``A`` a sum of ``n`` products is a walk with the deviation ``s =
sqrt(n) * A * (A + 1) / 3``. ``A`` is chosen so that ``8 * s`` is no more than 2^21 in fp32, which matrix
units that cut bits off hold as well, 2^30 in int32, and 2^15 where the result is fp16. A walk exceeds 8
deviations once in 10^15. The result is the reference rounded once: to nearest, ties to even, or cut off,
where CK Tile converts to bf16 like that. It is compared bit for bit.

**All codes of 8-bit floating-point types.** Integers of as many bits as the type has cover the numbers of
one exponent. Each is multiplied by ``2^x`` in one operand and by ``2^(c - x)`` in the other one, where
``x`` goes through all exponents of the type along an axis over which both are summed. All products then
have the same unit, ``2^c``, and sums are exact, though every code comes up in both operands, subnormal ones
and the largest among them. So many elements of long sums are 0 that 14 bits hold them, which is what
Hopper's matrix units have.

**Operands that are rounded to TF32** are integers of at most 11 bits, less one in the last place of fp32:
rounded to nearest they are those integers, cut off they are not.

**Signs.** Where parts of a sum meet in the type of the result, or it is combined with further operands,
every part must be exact in that type: -1, 0 and 1, with 64 products of a sum that are not 0.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.measure.verify.operands import InitKind, Integers, OperandValues
from ckprof.measure.verify.storage import FLOAT8_TYPES, encode, float8_values, rounded
from ckprof.measure.verify.tolerance import TRUNCATED
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.model.computation import Rounding
from ckprof.model.types import DataType, SplitSum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.measure.verify.storage import StoredFile
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet

#: deviations of a sum that must fit
_DEVIATIONS: Final = 8
#: what they must fit into, by the type that sums are added up in, and by that of the result
_ROOM: Final = {DataType.FP32: 2.0**21, DataType.INT32: 2.0**30, DataType.FP16: 2.0**15}
#: integers of operands that are exact in TF32 as well
_LARGEST_FP32: Final = 2**11 - 1
#: what sums of products of 8-bit floating-point numbers must fit into, and how many deviations of them: one
#: in 10^9 is larger, but may be up to twice as large
_SHORT_ROOM: Final = 2.0**13
_SHORT_DEVIATIONS: Final = 6.4
#: elements of a reference that are read at a time
_CHUNK: Final = 2**17


class ExactKind(Enum):
    """Which operands a kernel's sums are exact with."""

    WIDE = "wide"
    SIGNS = "signs"

    @classmethod
    def of(cls, split_k: int, split_sum: SplitSum, roundings: int) -> ExactKind:
        """Return those for a kernel.

        :param split_k: of the reduction; less than 1 lets the kernel choose.
        :param split_sum: how it adds them up.
        :param roundings: how often a value is rounded to the type of the result.
        """
        once = roundings == 1 and (split_k == 1 or split_sum is SplitSum.ACCUMULATOR)
        return cls.WIDE if once else cls.SIGNS

    def values(
        self, specs: Sequence[TensorSpec], types: TypeSet, reduction_length: int, seed: int
    ) -> OperandValues:
        """Return what the operands are filled with.

        :param specs: the operands and, as the last one, the result.
        :param reduction_length: products accumulated into one element.
        """
        if self is ExactKind.SIGNS:
            return OperandValues(kind=InitKind.EXACT, seed=seed, reduction_length=reduction_length)
        first, second, *_, result = specs
        # one that both operands have and the result has not, if there is any
        axis = next((axis for axis in first.axes if axis in second.axes and axis not in result.axes), "")
        largest = _largest_integer(types, reduction_length)
        integers = {
            spec.name: _integers(dtype, types, largest, reduction_length, axis, number)
            for number, (spec, dtype) in enumerate(zip((first, second), types.operands, strict=True))
        }
        return OperandValues(
            kind=InitKind.INTEGER, seed=seed, reduction_length=reduction_length, integers=integers
        )


def roundings_of(dtype: DataType) -> tuple[Rounding, ...]:
    """Return how a right kernel may convert sums to a type of results: one way for all elements."""
    return (Rounding.NEAREST, Rounding.CUT_OFF) if dtype in TRUNCATED else (Rounding.NEAREST,)


class ExpectedBytes:
    """The bytes of a right result of exact operands, so that most results need no comparison of numbers.

    :param reference: doubles in the order of the result, NaN where it has gaps.
    :param types: of the tensors and sums.
    """

    def __init__(self, reference: StoredFile, types: TypeSet) -> None:
        self._reference = reference
        self._types = types

    @cached_property
    def digests(self) -> frozenset[str]:
        """Of all bytes of the result, one for each way to round; none where more than one result is right."""
        if self._types.compute_type is not None:
            return frozenset()
        dtype, ocp = self._types.result, self._types.ocp
        digests = {rounding: blake2b() for rounding in roundings_of(dtype)}
        for start in range(0, self._reference.size, _CHUNK):
            values = np.asarray(self._reference[start : start + _CHUNK])
            gaps = np.isnan(values)
            for rounding, digest in digests.items():
                whole = np.where(gaps, 0.0, rounded(values, dtype, rounding, ocp=ocp))
                stored = encode(whole, dtype, ocp=ocp)
                stored.view(np.uint8).reshape(values.size, -1)[gaps] = POISON_BYTE
                digest.update(stored.data)
        return frozenset(digest.hexdigest() for digest in digests.values())


def _largest_integer(types: TypeSet, length: int) -> int:
    """Return the largest integer with which sums of so many products fit."""
    room = min(_ROOM.get(types.acc, _ROOM[DataType.FP32]), _ROOM.get(types.result, math.inf))
    return max(1, int(math.sqrt(3 * room / (_DEVIATIONS * math.sqrt(length)))))


def _integers(dtype: DataType, types: TypeSet, largest: int, length: int, axis: str, number: int) -> Integers:
    """Return the integers of an operand.

    :param largest: that fits into sums.
    :param axis: along which exponents change, see above.
    :param number: of the operand: 0 or 1.
    """
    if dtype in FLOAT8_TYPES:
        return _short_floats(dtype, types, length, axis, number)
    if dtype.properties.is_integer:
        held = 2 ** (8 * dtype.properties.size_bytes - 1) - 1
    else:
        held = min(_LARGEST_FP32, 2 ** (dtype.properties.mantissa_bits + 1) - 1)
    most = min(largest, held)
    return Integers(lowest=-most, count=2 * most + 1, less=types.compute_type is not None)


def _short_floats(dtype: DataType, types: TypeSet, length: int, axis: str, number: int) -> Integers:
    """Return integers that are all codes of an 8-bit floating-point type, exponent by exponent."""
    codes = {one: float8_values(one, ocp=types.ocp) for one in types.operands}
    positive = {one: [float(code) for code in codes[one] if 0 < code < math.inf] for one in codes}
    largest = {one: 2 ** (one.properties.mantissa_bits + 1) - 1 for one in codes}
    firsts = {one: round(math.log2(min(positive[one]))) for one in codes}
    lasts = {one: math.ceil(math.log2(max(positive[one]) / largest[one])) for one in codes}
    most, first, last = largest[dtype], firsts[dtype], lasts[dtype]
    # of two types, as many exponents as both have: what one gains, the other one must lose
    period = min(lasts[one] - firsts[one] + 1 for one in codes)
    # the variance of products of integers, then how many of them fit
    deviation = math.sqrt(math.prod(largest[one] * (largest[one] + 1) / 3 for one in types.operands))
    terms = (_SHORT_ROOM / (_SHORT_DEVIATIONS * deviation)) ** 2
    share = math.sqrt(min(1.0, terms / length))
    return Integers(
        lowest=-most,
        count=2 * most + 1,
        share=share,
        exponent=(last if number else first) if axis else 0,
        axis=axis,
        direction=-1 if number else 1,
        period=period if axis else 1,
        largest=max(positive[dtype]),
    )
