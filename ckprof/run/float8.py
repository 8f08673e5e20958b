"""Values of 8-bit floating-point types.

Both types exist in two variants. The OCP standard's have a bias of ``2^(exponent bits - 1) - 1``; ``fp8`` has
no infinity and one NaN per sign, ``bf8`` is like IEEE's. The other variant, which the MI300 series has, adds
one to the bias; its only special value is the NaN ``0x80``, where others have a negative zero.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.model.dtype import DataType

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

FLOAT8_TYPES: Final = frozenset({DataType.FP8, DataType.BF8})


@cache
def float8_values(dtype: DataType, *, ocp: bool) -> NDArray[np.float64]:
    """Return what each of the 256 words stands for."""
    mantissa_bits = dtype.properties.mantissa_bits
    exponent_bits = 7 - mantissa_bits
    bias = 2 ** (exponent_bits - 1) - (1 if ocp else 0)
    words = np.arange(128)
    exponents, mantissas = words >> mantissa_bits, words & (2**mantissa_bits - 1)
    hidden = (exponents > 0).astype(np.float64)
    scale = np.exp2(np.maximum(exponents, 1).astype(np.float64) - bias)
    values = (hidden + mantissas / 2.0**mantissa_bits) * scale
    if ocp and dtype is DataType.FP8:
        values[0x7F] = np.nan
    elif ocp:
        values[0x7C] = np.inf
        values[0x7D:] = np.nan
    both = np.concatenate([values, -values])
    if not ocp:
        both[0x80] = np.nan
    both.setflags(write=False)
    return both


def encode_float8(values: NDArray[np.floating[Any]], dtype: DataType, *, ocp: bool) -> NDArray[np.uint8]:
    """Round to the nearest values, ties to even; what is too large becomes the largest, NaN stays NaN."""
    positive = float8_values(dtype, ocp=ocp)[:128]
    finite = positive[np.isfinite(positive)]
    magnitudes = np.abs(values.astype(np.float64))
    above = np.searchsorted(finite, magnitudes, side="left").clip(1, finite.size - 1)
    below = above - 1
    middle = (finite[below] + finite[above]) / 2
    # words are numbered by magnitude: the even one of two neighbours has an even mantissa
    upwards = (magnitudes > middle) | ((magnitudes == middle) & (above % 2 == 0))
    words = np.where(upwards, above, below).astype(np.uint8)
    negative = np.signbit(values) & ((words > 0) if not ocp else True)
    words |= negative.astype(np.uint8) << np.uint8(7)
    return np.where(np.isnan(values), np.uint8(0x7F if ocp else 0x80), words)
