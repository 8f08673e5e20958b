"""How good choices are: best time divided by the time of the chosen kernel, between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Figures over several problems, each between 0 and 1."""

    mean: float
    median: float
    #: a tenth of the problems is below
    p10: float
    worst: float


def summarise(values: Sequence[float]) -> Efficiency:
    """Return the figures of one or more efficiencies."""
    return Efficiency(mean=fmean(values), median=median(values), p10=quantile(values, 0.1), worst=min(values))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, linear between the nearest two values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
