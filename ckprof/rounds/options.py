"""How a sweep decides which kernels to run again, and when it is done."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ckprof.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOptions:
    """Options of the rounds on one problem.

    :raises UsageError: a value is out of range.
    """

    #: kernels that are surely slower than the best by more than this share leave the rounds
    keep_within: float = 0.25
    #: kernels within this share of the best are tied with it
    tie: float = 0.02
    #: rounds that the leaders get at least
    min_rounds: int = 3
    #: rounds that they get at most, repeated ones not counted
    max_rounds: int = 10
    #: rounds that are repeated at most on one problem because the machine drifted
    max_repeats: int = 3
    #: of the intervals that decide
    confidence: float = 0.95
    #: of the order within rounds
    seed: int = 0
    #: run every kernel in every round
    exhaustive: bool = False

    def __post_init__(self) -> None:
        for name in ("keep_within", "tie"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{name} is {value}, expected at least 0")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence is {self.confidence}, expected 0.5 to less than 1")
        if not 1 <= self.min_rounds <= self.max_rounds:
            raise UsageError(
                f"min_rounds is {self.min_rounds} and max_rounds {self.max_rounds}, expected 1 <= min <= max"
            )
        if self.max_repeats < 0:
            raise UsageError(f"max_repeats is {self.max_repeats}, expected at least 0")
