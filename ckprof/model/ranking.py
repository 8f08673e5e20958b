"""The order of the outcomes of one problem, and which of them share the first place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """An outcome and its place."""

    outcome: Outcome
    #: from 1 among the verified ``ok`` outcomes; all that may be as fast as the fastest have 1
    rank: int | None
    #: it shares the first place with a faster one
    tied: bool = False


def ranking(outcomes: Sequence[Outcome], positions: Mapping[str, int]) -> list[Ranked]:
    """Return the outcomes of a problem, best first: verified ``ok`` by time, then the others.

    Unverified ``ok`` outcomes (``--no-verify``) keep the order of the verified ones among themselves and
    follow them.

    :param positions: content key -> position of the instance, which decides between equal times.
    """

    def order(outcome: Outcome) -> tuple[int, float, int]:
        measured = outcome.measurement if outcome.status is Status.OK else None
        kind = 0 if _is_ranked(outcome) else 1 if measured is not None else 2
        return kind, measured.median_ms if measured is not None else 0.0, positions[outcome.key]

    ordered = sorted(outcomes, key=order)
    if not ordered or not _is_ranked(ordered[0]):
        return [Ranked(outcome=outcome, rank=None) for outcome in ordered]
    best = ordered[0]
    verified = [one for one in ordered if _is_ranked(one)]
    tied = [one for one in verified[1:] if are_tied(one, best)]
    slower = [one for one in verified[1:] if not are_tied(one, best)]
    return [
        Ranked(outcome=best, rank=1),
        *(Ranked(outcome=one, rank=1, tied=True) for one in tied),
        *(Ranked(outcome=one, rank=rank) for rank, one in enumerate(slower, len(tied) + 2)),
        *(Ranked(outcome=one, rank=None) for one in ordered[len(verified) :]),
    ]


def are_tied(outcome: Outcome, best: Outcome) -> bool:
    """Say whether it cannot be told which of the two is faster.

    Of what was measured in the same rounds, these have told. Otherwise the middle halves of both samples must
    overlap.
    """
    if outcome.standing is not None and best.standing is not None:
        if outcome.standing.group == best.standing.group:
            return outcome.standing.tied
    first, second = outcome.measurement, best.measurement
    if first is None or second is None:
        return False
    return first.median_ms - first.spread_ms <= second.median_ms + second.spread_ms


def _is_ranked(outcome: Outcome) -> bool:
    return (
        outcome.status is Status.OK and outcome.measurement is not None and outcome.verification is not None
    )
