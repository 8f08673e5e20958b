"""How far a result may be from the double-precision reference, derived from types and number of additions.

With the unit roundoff ``u(T) = 0.5 * 2^-mantissa(T)`` and ``n`` accumulated products

* ``rtol(n) = max(u(accumulator) * n, u(operands), u(result))``,
* ``atol = rtol(n) * m``, where ``m`` is the largest magnitude in the reference,

and an element passes when ``|out - ref| <= atol + rtol * |ref|``. The accumulator is fp32 in every kernel.

**Truncated bf16.** CK Tile converts an accumulator to bf16 by cutting 16 bits off, unless it was built
otherwise. That errs by less than one unit in the last place, ``2^-7 * |ref|``, twice the error of rounding.
The bound still covers it: ``atol + rtol * |ref| = 2^-8 * (m + |ref|)``, and since no ``|ref|`` exceeds ``m``,
this is never less than ``2^-7 * |ref|``.

**Split-K.** With ``k`` splits the first stage accumulates ``n / k`` products, and its values are of the order
of ``m / k``; the second adds ``k`` partial sums in the type of the result, which gives the same two formulas
with all three types equal to that type, ``n = k`` and ``m``. The larger of each pair holds. By the same
reasoning as above this covers ``k`` truncated additions as long as no partial sum exceeds ``m``, but it is
loose: 64 splits in bf16 allow a quarter of ``m``.

**All-zero reference.** ``m`` is 0 and so is ``atol``: the result must be exactly zero. That is what operands
of zeros give in every kernel that is right.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckprof.model.dtype import DataType

_ACCUMULATOR = DataType.FP32


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An element passes when ``|out - ref| <= atol + rtol * |ref|``."""

    rtol: float
    atol: float


def unit_roundoff(dtype: DataType) -> float:
    """Return the largest relative error of rounding to nearest: ``0.5 * 2^-mantissa``."""
    return float(0.5 * 2.0**-dtype.properties.mantissa_bits)


def relative_tolerance(accumulator: DataType, operands: DataType, result: DataType, length: int) -> float:
    """Return ``rtol`` of ``length`` additions in ``accumulator``."""
    return max(unit_roundoff(accumulator) * length, unit_roundoff(operands), unit_roundoff(result))


def derive_tolerance(
    dtype: DataType, *, reduction_length: int, magnitude: float, split_k: int = 1
) -> Tolerance:
    """Return the tolerance for a result of type ``dtype`` with operands of the same type.

    :param reduction_length: products accumulated into one element.
    :param magnitude: largest magnitude in the reference.
    :param split_k: number of splits that are run.
    """
    length = -(-reduction_length // split_k)
    rtol = relative_tolerance(_ACCUMULATOR, dtype, dtype, length)
    atol = rtol * magnitude / split_k
    if split_k > 1:
        second_rtol = relative_tolerance(dtype, dtype, dtype, split_k)
        rtol = max(rtol, second_rtol)
        atol = max(atol, second_rtol * magnitude)
    return Tolerance(rtol=rtol, atol=atol)
