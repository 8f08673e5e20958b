"""How an outcome compares with the fastest one that was measured beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The place of an outcome among those that were measured in the same rounds."""

    #: outcomes of a problem with the same number were measured in the same rounds
    group: int
    #: measurements that count: those that nothing has disturbed
    counted: int
    #: measurements in all rounds
    taken: int
    #: median time divided by that of the fastest
    ratio: float
    #: slower than the fastest by no more than what the rounds of one kernel differ by
    tied: bool
    #: it left the rounds because it is surely slower
    left_early: bool
