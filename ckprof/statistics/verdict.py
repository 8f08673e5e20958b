"""Verdicts about changes, over all rows of a comparison together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.statistics.false_discovery import benjamini_hochberg
from ckprof.statistics.student import quick_t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.statistics.change import Change, ChangePolicy

#: no more rounds than this are ever asked for
MOST_ROUNDS: Final = 1000


class Verdict(Enum):
    """What became of a time."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict about one row."""

    verdict: Verdict
    change: Change
    #: rounds of each side that would settle an unclear row; ``None`` if it is settled, or would need more
    #: than :data:`MOST_ROUNDS`
    rounds_needed: int | None = None


def judge(changes: Sequence[Change], policy: ChangePolicy) -> list[Judgement]:
    """Return the verdicts.

    FASTER or SLOWER: the interval lies outside the margin, and the row is among those that the
    Benjamini-Hochberg procedure keeps. SAME: the interval lies inside. UNCLEAR: neither.
    """
    rejected = benjamini_hochberg([change.p_value for change in changes], policy.false_discovery_rate)
    threshold = policy.false_discovery_rate * (sum(rejected) + 1) / max(1, len(changes))
    found = []
    for change, significant in zip(changes, rejected, strict=True):
        verdict = _verdict(change, significant)
        needed = rounds_needed(change, policy, threshold) if verdict is Verdict.UNCLEAR else None
        found.append(Judgement(verdict=verdict, change=change, rounds_needed=needed))
    return found


def _verdict(change: Change, significant: bool) -> Verdict:
    if significant and change.low > change.margin:
        return Verdict.SLOWER
    if significant and change.high < -change.margin:
        return Verdict.FASTER
    if -change.margin < change.low and change.high < change.margin:
        return Verdict.SAME
    return Verdict.UNCLEAR


def rounds_needed(change: Change, policy: ChangePolicy, threshold: float) -> int | None:
    """Estimate the rounds of each side after which the row would be settled, if nothing else changed.

    :param threshold: the p-value that a row must stay below to be called FASTER or SLOWER.
    :returns: more than the rounds that there are; ``None`` if more than :data:`MOST_ROUNDS` would be needed.
    """
    if _settled(change, MOST_ROUNDS, policy, threshold):
        low, high = change.rounds, MOST_ROUNDS
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _settled(change, middle, policy, threshold) else (middle, high)
        return high
    return None


def _settled(change: Change, rounds: int, policy: ChangePolicy, threshold: float) -> bool:
    freedom = max(2, 2 * rounds - 2)
    error = change.scatter * math.sqrt(2 / rounds)
    reach = quick_t_quantile(0.5 + policy.confidence / 2, freedom) * error
    size = abs(change.log_ratio)
    least = math.log1p(policy.min_change)
    # differences of halves scatter by sqrt(2) more than those of the sides
    noise = quick_t_quantile(0.5 + policy.confidence / 2, math.inf) * math.sqrt(2) * error
    margin = max(least, noise)
    strict = quick_t_quantile(1 - min(0.5, max(threshold, 1e-12)), freedom) * error
    return size - max(reach, strict) > margin or size + reach < least
