"""How far an element of a result may be from the reference, and how that is rounded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An element passes when ``|out - ref| <= atol + rtol * |ref|``."""

    rtol: float
    atol: float


class Rounding(Enum):
    """How a reference is rounded to the type of the result before both are compared."""

    NONE = "none"
    #: ties to even
    NEAREST = "nearest"
    #: what CK Tile's conversion to bf16 does, unless it was built otherwise
    CUT_OFF = "cut_off"
