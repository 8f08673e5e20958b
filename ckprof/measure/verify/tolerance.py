"""How far a result may be from the double-precision reference, derived from types and number of additions.

An element passes when ``|out - ref| <= atol + rtol * |ref|``. This is the one place where both come from.
The unit roundoff is ``u(T) = 0.5 * 2^-mantissa(T)``, and an element is the sum of ``n`` products of
independent operands: a random walk that ends at ``ref`` and deviates from 0 by ``d = sqrt(n * E[a^2] *
E[b^2])``. Its mean after ``j`` of the products is ``ref * j / n``, its deviation ``d * sqrt(j / n * (1 - j
/ n))``. Rounding errs by a share of such running sums ``s``. Errors without a direction add up like a walk
of their own; six of its deviations are allowed, which one element in 10^9 exceeds. Where all types are
integers nothing is rounded, and both are 0.

**The type of the result.** Rounding to it errs by ``u(result) * |ref|``: that is ``rtol``. CK Tile converts
an accumulator to bf16 by cutting 16 bits off, unless it was built otherwise, which errs by twice as much.
Sums that are combined with further operands are rounded to the type of the result before: each rounding
more adds its unit to ``rtol``, and to ``atol`` for what it is a share of, the larger of ``m`` (the largest
magnitude in the reference) and ``6 * d``. Beneath the smallest normal number of a type, numbers are spaced
equally, or are taken for 0: ``atol`` is no less than that.

**The type of the operands** has no place here: the reference is computed from the stored values, and
products of numbers of up to 16 bits are exact in fp32.

**Sums in fp32.** Each of the ``n`` additions errs by ``u * |s|`` at most, to nearest with a variance of
``u^2 * s^2 / 3``. The sum of ``s^2`` over the walk is ``n * (d^2 * r^2 + ref^2 / 3)`` (the areas ``r^2``
under the square of a bridge from 0 to 0 and under that of its mean), so the deviation is ``u * sqrt(n / 3) *
(d * r + |ref| / sqrt(3))`` at most. Other orders of additions, trees and splits among them, have smaller
running sums. The area is ``1 / 6`` on average, but elements whose sums went far have more: a normal error
times ``r`` has the characteristic function ``sqrt(x / sinh(x))``, and so exceeds ``t`` with a probability of
``2 / pi * exp(-pi * t) / sqrt(t)``. As rare as six deviations is ``t = 5.95``, more than twice as far as
``6 / sqrt(6)``, which large results of right kernels exceed.
Products of fp32 numbers are no fp32 numbers: without a fused multiply-add each is rounded before it is added,
which adds ``u^2 / 3`` times the sum of their squares, ``d^2 + ref^2 / n``. That is next to nothing in a long
sum, and most of the error of a short one.

**Matrix units** add several products at once and cut off what is below the last place of the largest of
them: seen on NVIDIA's (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores",
2021), while AMD's round (Li et al., "FTTN: feature-targeted testing for numerical properties of NVIDIA &
AMD matrix accelerators", 2024). Each product errs by twice as much as above then, and each of the ``k``
steps by ``u * |s|`` on average, always towards zero: the mean adds up to ``u * |ref| * (k / 2 + 1)``, and
the area under the bridge between 0 and ``ref``, whose variance is ``d^2 * k^2 / 12``, to a deviation of ``u
* d * k / sqrt(12)``. A step has at least 8 products of 16 bits, 4 of TF32. Products of 8-bit
floating-point numbers are added to 14 bits on Hopper, 32 in a step: ``u = 2^-14`` for them.

**Subnormal numbers in fp16** are taken for 0 by the matrix units of gfx90a. Of decimals, one in 2^13 is
subnormal and less than 2^-14; so is what a product with it is off by.

**Operands that are rounded first** (TF32). Both factors of a product err by up to ``u`` of their size, to
nearest and so in no direction: with a variance of at most ``u^2 / 3``. Over ``n`` products that adds up to
a deviation of ``u * d * sqrt(2 / 3)``; of a single one it is ``2 * u * |ref|``.

**Results of 8 bits** keep too little of sums for anything to be done with what is left: what is combined
with further operands is the sums, and ``roundings`` is 1 (:attr:`ckprof.model.types.TypeSet.changes_sums`).
Integers are made from what fp32 has by cutting the fraction off, which errs by less than 1, and rounding to
fp32 by its unit of ``ref`` and of the deviation.

**Splits that meet in the accumulator's type.** Whatever their number, an element is still the sum of ``n``
products in fp32 that is rounded once: the formulas above hold, without any slack for splits.

**Splits that meet in the type of the result** (CK Tile's atomic additions). With ``k`` splits there are
``k`` roundings of parts ``q`` and ``k`` of running sums ``s``. To nearest, the variance is ``u^2 / 3``
times the sum of ``s^2`` and ``q^2``, about ``d^2 * (k * r^2 + 1) + ref^2 * (k / 3 + 1)``. Truncation, which
bf16 is taken to have, adds what it adds for matrix units. Splits beyond the length of the reduction or
beyond 1024 allow no more than these do: a kernel that chooses their number must not choose its tolerance.

For many splits in bf16 that is a lot, because a right kernel does err by that much: the deviation is ``d /
14`` with 64 splits and ``d / 7`` with 128. It is for this, among others, that every kernel also runs on
operands whose sums are exact: see :mod:`ckprof.measure.verify.exact`.

**Exact operands** need no tolerance: the result is the reference, rounded once to its type. Where operands
are rounded to TF32 first, the exact ones are less than what they are rounded to by their last place, which
tells truncation from rounding: whether a device rounds them or multiplies all of their bits, it is off by
2^-22 and by the roundings of sums in fp32, with truncation by about 2^-10. ``2^-16`` of ``d`` and of
``|ref|`` lies between.

**Other operations.** Where an operation says itself how far its results may be from the reference
(:meth:`ckprof.plugin.protocols.Operation.tolerance`), nothing of this is used.

**All-zero reference.** If operands are zeros, ``m`` and ``d`` are 0 and so is ``atol``: the result must be
exactly zero. That is what operands of zeros give in every kernel that is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from ckprof.model.computation import Tolerance
from ckprof.model.types import ComputeType, DataType, SplitSum, TypeSet

#: types to which accumulators are converted by cutting bits off
TRUNCATED: Final = frozenset({DataType.BF16})
#: deviations that the error of a right result may have
_DEVIATIONS: Final = 6.0
#: the same where the deviation is itself random, the root of the area under the square of a bridge
_BRIDGE_DEVIATIONS: Final = 5.95
_MOST_SPLITS: Final = 1024
#: that an operation on sums consists of, at most
_FP32_OPERATIONS: Final = 16
#: what sums of products of 8 bits err by at each step
_SHORT_UNIT: Final = 2.0**-14
#: products that a step of a matrix unit adds at least, by bits of the operands; of TF32
_STEP: Final = {8: 32, 16: 8}
_TF32_STEP: Final = 4
#: smallest normal number where it matters; the exponents of all others are those of fp32
_SMALLEST_NORMAL: Final = {DataType.FP16: 2.0**-14}
_FP32_SMALLEST_NORMAL: Final = 2.0**-126
#: share of decimals that are subnormal in fp16
_SUBNORMAL_SHARE: Final = 2.0**-13
#: between rounding to TF32 and truncation
_ROUNDED_TF32: Final = 2.0**-16


def unit_roundoff(dtype: DataType | ComputeType) -> float:
    """Return the largest relative error of rounding to nearest: ``0.5 * 2^-mantissa``."""
    return float(0.5 * 2.0**-dtype.properties.mantissa_bits)


def spacing(dtype: DataType, magnitude: float) -> float:
    """Return how far neighbouring numbers of a type are apart at a magnitude; 1 for integers, 0 at 0."""
    if not magnitude or dtype.properties.is_integer:
        return float(bool(magnitude))
    return 2 * unit_roundoff(dtype) * 2.0 ** math.floor(math.log2(magnitude))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the sums of products are that a result consists of."""

    #: products accumulated into one element
    reduction_length: int
    #: largest magnitude in the reference
    magnitude: float
    #: standard deviation of a sum of so many products of such operands
    deviation: float
    #: how often a value is rounded to the type of the result until it is an element of it
    roundings: int = 1
    #: something is made of the sums in fp32, whose errors integers have
    is_changed: bool = False


def derive_tolerance(
    types: TypeSet | DataType, sums: Sums, *, split_k: int = 1, split_sum: SplitSum = SplitSum.RESULT_TYPE
) -> Tolerance:
    """Return the tolerance for a result.

    :param types: of the tensors and sums; one type is that of all tensors, with sums in fp32.
    :param split_k: number of splits that are run.
    :param split_sum: how they are added up.
    """
    all_types = types if isinstance(types, TypeSet) else TypeSet.shared(types)
    if all_types.result.properties.is_integer:
        return _cut_off(sums) if sums.is_changed else Tolerance(rtol=0.0, atol=0.0)
    truncated = all_types.result in TRUNCATED
    unit = unit_roundoff(all_types.result)
    rounding = 2 * unit if truncated else unit
    parts = [Tolerance(rtol=sums.roundings * rounding, atol=0.0), _summed(all_types, sums.reduction_length)]
    if all_types.compute_type is not None:
        of_operands = unit_roundoff(all_types.compute_type)
        parts.append(Tolerance(rtol=2 * of_operands, atol=_DEVIATIONS * math.sqrt(2 / 3) * of_operands))
    splits = min(split_k, sums.reduction_length, _MOST_SPLITS)
    if splits > 1 and split_sum is SplitSum.RESULT_TYPE:
        parts.append(_second_stage(unit, splits, truncated=truncated))
    early = (sums.roundings - 1) * rounding * max(sums.magnitude, _DEVIATIONS * sums.deviation)
    return Tolerance(
        rtol=sum(part.rtol for part in parts),
        atol=sum(part.atol for part in parts) * sums.deviation + early + _subnormal(all_types, sums),
    )


def _cut_off(sums: Sums) -> Tolerance:
    """Return the tolerance for integers that are cut from numbers in fp32, after a few roundings there."""
    unit = _FP32_OPERATIONS * unit_roundoff(DataType.FP32)
    return Tolerance(rtol=unit, atol=1.0 + unit * _DEVIATIONS * sums.deviation)


def exact_tolerance(types: TypeSet, sums: Sums) -> Tolerance:
    """Return the tolerance for a result of exact operands, beyond its one rounding to its type."""
    if types.compute_type is None:
        return Tolerance(rtol=0.0, atol=0.0)
    rounded = derive_tolerance(replace(types, compute_type=None), sums)
    return Tolerance(rtol=rounded.rtol + _ROUNDED_TF32, atol=rounded.atol + _ROUNDED_TF32 * sums.deviation)


def _summed(types: TypeSet, length: int) -> Tolerance:
    """Return what adding up the products costs, ``atol`` relative to the deviation."""
    bits = 8 * min(dtype.properties.size_bytes for dtype in types.operands)
    step = _STEP.get(bits, 0) if types.compute_type is None else _TF32_STEP
    unit = _SHORT_UNIT if bits == _SHORT_BITS else unit_roundoff(types.acc)
    of_each = unit * math.sqrt(length / 3)
    if not step:
        product = 1 / length
        return Tolerance(
            rtol=of_each * _DEVIATIONS * math.sqrt(1 / 3 + product**2),
            atol=of_each * math.sqrt(_BRIDGE_DEVIATIONS**2 + _DEVIATIONS**2 * product),
        )
    rounded = Tolerance(rtol=2 * of_each * _DEVIATIONS / math.sqrt(3), atol=2 * of_each * _BRIDGE_DEVIATIONS)
    steps = math.ceil(length / step)
    return Tolerance(
        rtol=rounded.rtol + unit * (steps / 2 + 1),
        atol=rounded.atol + _DEVIATIONS * unit * steps / math.sqrt(12),
    )


_SHORT_BITS: Final = 8


def _subnormal(types: TypeSet, sums: Sums) -> float:
    """Return what subnormal numbers may cost; nothing where all is 0."""
    if sums.deviation == 0 and sums.magnitude == 0:
        return 0.0
    if types.result.properties.size_bytes == 1:
        lost = _half_step(types)
    else:
        lost = _SMALLEST_NORMAL.get(types.result, _FP32_SMALLEST_NORMAL)
    if DataType.FP16 in types.operands:
        many = sums.reduction_length * _SUBNORMAL_SHARE
        lost += _SMALLEST_NORMAL[DataType.FP16] * (3 + _DEVIATIONS * math.sqrt(many))
    return lost


def _half_step(types: TypeSet) -> float:
    """Return half of the smallest number of a floating-point type of 8 bits, which is next to 0."""
    mantissa_bits = types.result.properties.mantissa_bits
    bias = 2 ** (6 - mantissa_bits) - (1 if types.ocp else 0)
    return float(2.0 ** -(bias + mantissa_bits))


def _second_stage(unit: float, splits: int, *, truncated: bool) -> Tolerance:
    """Return what adding up the parts in the result's type costs, ``atol`` relative to the deviation."""
    of_mean = (splits / 3 + 1) / 3
    of_walk = (_BRIDGE_DEVIATIONS**2 * splits + _DEVIATIONS**2) / 3
    bias = 0.0
    if truncated:
        of_walk += _DEVIATIONS**2 * splits**2 / 12
        bias = splits / 2 + 1
    return Tolerance(rtol=unit * (bias + _DEVIATIONS * math.sqrt(of_mean)), atol=unit * math.sqrt(of_walk))
