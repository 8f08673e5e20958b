"""How exact sums become elements of a result, for those who have no use for numpy as well."""

from __future__ import annotations

from enum import Enum


class Rounding(Enum):
    """How a reference is rounded to the type of the result before both are compared."""

    NONE = "none"
    #: ties to even
    NEAREST = "nearest"
    #: what CK Tile's conversion to bf16 does, unless it was built otherwise
    CUT_OFF = "cut_off"
