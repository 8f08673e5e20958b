"""How far a result may be from the double-precision reference, derived from types and number of additions.

With the unit roundoff ``u(T) = 0.5 * 2^-mantissa(T)`` and ``n`` accumulated products

* ``rtol(n) = max(u(accumulator) * n, u(operands), u(result))``,
* ``atol = rtol(n) * m``, where ``m`` is the largest magnitude in the reference,

and an element passes when ``|out - ref| <= atol + rtol * |ref|``. Of operands of two types, the one with the
larger roundoff counts. Where all types are integers nothing is rounded, and both are 0.

**Operands that are rounded first** (TF32). ``u(operands)`` is that of the type which they are rounded to.
Both factors of a product err by up to ``u`` of their size, to nearest and so in no direction: with a variance
of at most ``u^2 / 3``. Over ``n`` products of independent operands that adds up to a deviation of
``u * d * sqrt(2 / 3)``, with the ``d`` of below. Six of these are allowed beyond the formulas above.

**Truncated bf16.** CK Tile converts an accumulator to bf16 by cutting 16 bits off, unless it was built
otherwise. That errs by less than one unit in the last place, ``2^-7 * |ref|``, twice the error of rounding.
The bound still covers it: ``atol + rtol * |ref| = 2^-8 * (m + |ref|)``, and since no ``|ref|`` exceeds ``m``,
this is never less than ``2^-7 * |ref|``.

**Sums that are combined with further operands** are rounded to the type of the result before: each rounding
more adds its unit to ``rtol``, twice where bits are cut off.

**Splits that meet in the accumulator's type.** Whatever their number, an element is still the sum of ``n``
products in fp32 that is rounded once: the formulas above hold, without any slack for splits.

**Splits that meet in the type of the result** (CK Tile's atomic additions). With ``k`` splits there are ``k``
roundings of parts ``q`` and ``k`` of running sums ``s``, and each errs by ``u * |s|``. What the running sums
are is known: products of independent operands make them a random walk that ends at ``ref``. Its mean after
``j`` parts is ``ref * j / k``, its deviation that of the whole sum, ``d = sqrt(n * E[a^2] * E[b^2])``, times
``sqrt(j / k * (1 - j / k))``. So

* errors of rounding to nearest have no direction; they add up like a walk of their own, with a variance of
  ``u^2 / 3`` times the sum of ``s^2`` and ``q^2``, about ``d^2 * (k / 6 + 1) + ref^2 * (k / 3 + 1)``;
* truncation, which bf16 is taken to have, always errs towards zero, by ``u * |s|`` on average: the mean
  adds up to ``u * |ref| * (k / 2 + 1)``, and the area under the bridge between 0 and ``ref`` adds a
  deviation of ``u * d * k / sqrt(12)``.

Six of these deviations are allowed, which one element in 10^9 exceeds. Splits beyond the length of the
reduction or beyond 1024 allow no more than these do: a kernel that chooses their number must not choose its
tolerance.

For many splits in bf16 that is still a lot, because a right kernel does err by that much: the deviation is
``d / 14`` with 64 splits and ``d / 7`` with 128. Operands whose sums are exact
(:attr:`~ckprof.measure.verify.operands.InitKind.EXACT`) need no tolerance at all, whatever the number of
splits.

**Other operations.** Where an operation says itself how far its results may be from the reference
(:class:`ckprof.plugin.protocols.TolerantOperation`), nothing of this is used.

**All-zero reference.** If operands are zeros, ``m`` and ``d`` are 0 and so is ``atol``: the result must be
exactly zero. That is what operands of zeros give in every kernel that is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from ckprof.model.tolerance import Tolerance
from ckprof.model.types import ComputeType, DataType, SplitSum, TypeSet

#: types to which accumulators are converted by cutting bits off
_TRUNCATED: Final = frozenset({DataType.BF16})
#: deviations that the error of a right result may have
_DEVIATIONS: Final = 6.0
_MOST_SPLITS: Final = 1024


def unit_roundoff(dtype: DataType | ComputeType) -> float:
    """Return the largest relative error of rounding to nearest: ``0.5 * 2^-mantissa``."""
    return float(0.5 * 2.0**-dtype.properties.mantissa_bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the sums of products are that a result consists of."""

    #: products accumulated into one element
    reduction_length: int
    #: largest magnitude in the reference
    magnitude: float
    #: standard deviation of a sum of so many products of such operands
    deviation: float = 0.0
    #: how often a value is rounded to the type of the result until it is an element of it
    roundings: int = 1


def derive_tolerance(
    types: TypeSet | DataType, sums: Sums, *, split_k: int = 1, split_sum: SplitSum = SplitSum.RESULT_TYPE
) -> Tolerance:
    """Return the tolerance for a result.

    :param types: of the tensors and sums; one type is that of all tensors, with sums in fp32.
    :param split_k: number of splits that are run.
    :param split_sum: how they are added up.
    """
    all_types = types if isinstance(types, TypeSet) else TypeSet.shared(types)
    if all_types.is_exact:
        return Tolerance(rtol=0.0, atol=0.0)
    unit = unit_roundoff(all_types.result)
    rtol = max(unit_roundoff(all_types.acc) * sums.reduction_length, unit_roundoff(all_types.compute), unit)
    rtol += (sums.roundings - 1) * (2 * unit if all_types.result in _TRUNCATED else unit)
    # Few elements may all be small by chance; what is summed up is not.
    atol = rtol * max(sums.magnitude, sums.deviation)
    if all_types.compute_type is not None:
        atol += _DEVIATIONS * math.sqrt(2 / 3) * unit_roundoff(all_types.compute_type) * sums.deviation
    splits = min(split_k, sums.reduction_length, _MOST_SPLITS)
    if splits > 1 and split_sum is SplitSum.RESULT_TYPE:
        lost = _second_stage(unit, splits, truncated=all_types.result in _TRUNCATED)
        rtol += lost.rtol
        atol += lost.atol * sums.deviation
    return Tolerance(rtol=rtol, atol=atol)


def _second_stage(unit: float, splits: int, *, truncated: bool) -> Tolerance:
    """Return what adding up the parts in the result's type costs, ``atol`` relative to the deviation."""
    of_walk, of_mean = (splits / 6 + 1) / 3, (splits / 3 + 1) / 3
    bias = 0.0
    if truncated:
        of_walk += splits**2 / 12
        bias = splits / 2 + 1
    return Tolerance(
        rtol=unit * (bias + _DEVIATIONS * math.sqrt(of_mean)), atol=unit * _DEVIATIONS * math.sqrt(of_walk)
    )
