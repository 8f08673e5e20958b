"""How an outcome compares with the fastest one that was measured beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The place of an outcome among those that were measured in the same rounds.

    Kernels that are surely slow take part in few rounds. So times are compared round by round, and the ratio
    says more than medians of different rounds.
    """

    #: outcomes of a problem with the same number were measured in the same rounds
    group: int
    #: rounds that count
    rounds: int
    #: geometric mean over the rounds in common: time divided by that of the fastest
    ratio: float
    #: range of the ratio; ``None`` where nothing is known
    low: float | None
    high: float | None
    #: the range does not exclude that it is as fast as the fastest
    tied: bool
    #: it left the rounds because it is surely slower
    left_early: bool
    #: the time by which it is ranked in milliseconds: the median of the fastest, multiplied by the ratio
    ranked_ms: float
