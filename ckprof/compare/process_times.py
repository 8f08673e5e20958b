"""What the processes of one row say: a time each, and by how much these vary.

The process is the unit of evidence: rounds of one process share the placement of its memory, the clocks and
the alignment of its code, and agree far better with one another than two processes do (Kalibera and Jones,
"Rigorous benchmarking in reasonable time", 2013). Times are logarithms of the medians of rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

#: processes from which on they are summed up like rounds: fewer are needed to know their own variance
_MANY_PROCESSES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTimes:
    """The rounds of one kernel on one problem, on both sides: process -> logarithms of its rounds' times."""

    old: Mapping[str, Sequence[float]]
    new: Mapping[str, Sequence[float]]
    #: rows of one problem share operands, and thereby what their placement does to times
    problem: Hashable = None
    #: processes of the same name ran beside each other: their difference is free of what moved both
    paired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A location of some values, processes or the rounds of one, and what they say of how much they vary."""

    location: float
    #: variance of the location, relative to that of one value
    weight: float
    #: unbiased estimate of the variance of one value; 0 without degrees of freedom
    squares: float
    freedom: float


#: a round was disturbed if it is above the median by this many times what the lower half lies below it
_DISTURBED: Final = 5.0
#: fewer values do not show which of them are disturbed
_ENOUGH: Final = 4
#: variance of the location of few values of variance 1, and of more of them times their number
_WEIGHTS: Final = {1: 1.0, 2: 1.0, 3: 0.45}
_WEIGHT: Final = 1.1


def location(times: Sequence[float]) -> float:
    """Return where the times of some rounds are, whatever disturbed a few of them.

    What disturbs a round makes it slower. So of two the faster one counts, of three the middle one, and of
    more the mean of those that are not far above the others: with normally distributed times that is as sure
    as the mean but for a few percent, and disturbed rounds do not matter.
    """
    if len(times) < _ENOUGH:
        return sorted(times)[(len(times) - 1) // 2]
    return fmean(_undisturbed(times))


def _undisturbed(times: Sequence[float]) -> list[float]:
    ordered = sorted(times)
    middle = median(ordered)
    # the mean of equal times can be rounded above them
    below = max(0.0, middle - fmean(ordered[: len(ordered) // 2]))
    return [time for time in ordered if time <= middle + _DISTURBED * below]


def _variance(values: Sequence[float]) -> float:
    """Return the variance; that of the standard library is exact, and twenty times slower."""
    middle = fmean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def of_rounds(times: Sequence[float]) -> Evidence:
    """Return what the rounds of one process say."""
    kept = _undisturbed(times) if len(times) >= _ENOUGH else times
    # what lies far out is left out also where nothing disturbed it: a tenth of the degrees of freedom
    freedom = (len(kept) - 1) * (0.9 if len(times) >= _ENOUGH else 1.0) if len(times) > 2 else 0.0
    return Evidence(
        location=location(times),
        weight=_WEIGHTS.get(len(times), _WEIGHT / len(kept)),
        squares=_variance(kept) if freedom else 0.0,
        freedom=freedom,
    )


def of_processes(locations: Sequence[float]) -> Evidence:
    """Return what the locations of some processes say."""
    count = len(locations)
    if count >= _MANY_PROCESSES:
        return of_rounds(locations)
    return Evidence(
        location=fmean(locations),
        weight=1 / count,
        squares=_variance(locations) if count > 1 else 0.0,
        freedom=count - 1.0,
    )
