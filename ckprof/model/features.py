"""What a length means to kernels that take it in whole stages and whole accesses, as numbers to compare."""

from __future__ import annotations

from math import log2
from typing import Final

#: elements of a stage, and the widest alignment that counts
_STAGE: Final = 64


def stage_padding(length: int) -> float:
    """Return the binary logarithm of what rounding up to whole stages of 64 elements adds."""
    return log2(-(-length // _STAGE) * _STAGE / length)


def alignment(length: int) -> float:
    """Return the binary logarithm of the largest power of two, up to 64, that divides a length."""
    return log2(min(_STAGE, length & -length))
