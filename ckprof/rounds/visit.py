"""What passes between the rounds on a problem and whoever measures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

Cell = TypeVar("Cell", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Generic[Cell]):
    """One kernel is to be measured once."""

    cell: Cell
    #: from 1
    round: int
    #: position within the round
    order: int
    #: the visit tells whether the machine drifts
    reference: bool


class Timing(NamedTuple):
    """What a visit gave: the time of a verified kernel in milliseconds."""

    median_ms: float
    #: fastest sample
    min_ms: float
    #: half the distance between the quartiles, divided by the median
    spread: float = 0.0


class Ending(Enum):
    """Why the rounds on a problem ended."""

    #: every kernel left is surely slower than the best, or surely tied with it
    SETTLED = "settled"
    MAX_ROUNDS = "max-rounds"
    #: one kernel, or none, can be ranked
    NO_CONTEST = "no-contest"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport(Generic[Cell]):
    """What a round changed."""

    round: int
    #: the reference kernel moved: the round does not count and is repeated
    drifted: bool
    #: relative change of the reference kernel during the round; ``None`` without two visits
    drift: float | None
    #: kernels that left after this round, with their time relative to the best
    dropped: Mapping[Cell, float]
    best: Cell | None
    #: kernels that run in the next round
    left: int
    #: set when there is no next round
    ending: Ending | None
