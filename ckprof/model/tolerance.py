"""How far an element of a result may be from the reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An element passes when ``|out - ref| <= atol + rtol * |ref|``."""

    rtol: float
    atol: float
