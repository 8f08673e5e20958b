"""Verdicts about changes, over all rows of a comparison together."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.model.student import quick_t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.change import Change
    from ckprof.compare.options import ChangePolicy


#: rounds of each process that is asked for: fewer do not show which of them was disturbed
ROUNDS_EACH: Final = 3
#: no more processes than this are ever asked for
MOST_PROCESSES: Final = 100


class Verdict(Enum):
    """What became of a time."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"


def judge(changes: Sequence[Change], policy: ChangePolicy) -> list[Change]:
    """Return the changes with their verdicts; R is the smallest change of interest.

    FASTER or SLOWER: the interval lies outside of R, and the row is among those that the Benjamini-Hochberg
    procedure keeps. SAME: changes of R and of its opposite are both refuted, which is an interval inside of R
    at a confidence of 90 %. UNCLEAR: neither.
    """
    rejected = benjamini_hochberg([change.p_value for change in changes], policy.false_discovery_rate)
    threshold = policy.false_discovery_rate * (sum(rejected) + 1) / max(1, len(changes))
    judged = []
    for change, significant in zip(changes, rejected, strict=True):
        verdict = _verdict(change, policy, significant=significant)
        needed = processes_needed(change, policy, threshold) if verdict is Verdict.UNCLEAR else None
        judged.append(replace(change, verdict=verdict, processes_needed=needed))
    return judged


def _verdict(change: Change, policy: ChangePolicy, *, significant: bool) -> Verdict:
    least = math.log1p(policy.min_change)
    if significant and change.low > least:
        return Verdict.SLOWER
    if significant and change.high < -least:
        return Verdict.FASTER
    if change.same_p_value < 1 - policy.confidence:
        return Verdict.SAME
    return Verdict.UNCLEAR


def processes_needed(change: Change, policy: ChangePolicy, threshold: float) -> int | None:
    """Estimate the processes of each side after which the row would be settled, if nothing else changed.

    :param threshold: the p-value that a row must stay below to be called FASTER or SLOWER.
    :returns: more than the processes that there are; ``None`` if more than :data:`MOST_PROCESSES` would be
        needed.
    """
    least, size = math.log1p(policy.min_change), abs(change.log_ratio)
    for processes in range(change.processes + 1, MOST_PROCESSES + 1):
        error = change.error * math.sqrt(change.processes / processes)
        freedom = 2 * processes - 2
        reach = quick_t_quantile(0.5 + policy.confidence / 2, freedom) * error
        strict = quick_t_quantile(1 - min(0.5, max(threshold, 1e-12)), freedom) * error
        inner = quick_t_quantile(policy.confidence, freedom) * error
        if size - max(reach, strict) > least or size + inner < least:
            return processes
    return None


def benjamini_hochberg(p_values: Sequence[float], rate: float) -> list[bool]:
    """Say which hypotheses are rejected so that the expected share of wrong rejections stays below ``rate``.

    With m tests, all hypotheses up to the largest rank k with p(k) <= k / m * rate are rejected.
    """
    count = len(p_values)
    order = sorted(range(count), key=p_values.__getitem__)
    last = 0
    for rank, index in enumerate(order, start=1):
        if p_values[index] <= rank / count * rate:
            last = rank
    rejected = [False] * count
    for index in order[:last]:
        rejected[index] = True
    return rejected
