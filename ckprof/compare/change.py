"""How much times changed between two sides, and how sure that is.

All arithmetic is on logarithms of times, so that a change is a ratio and slowing down by a factor is the
opposite of speeding up by it. The error of a row has two parts:

* what its rounds, or its processes where a side has several, vary by: :mod:`ckprof.compare.row_times`;
* what processes differ by where a side has only one: the rows themselves show it, since most kernels did not
  change, so that the middle half of their changes is noise (an empirical null distribution, Efron, 2004).

A shift that all rows share is the clock's or the load's: it is reported once, and rows are judged after it.
The same holds for what all kernels of one problem share: operands that lie elsewhere do that. How far they do
is known from the processes of a side where it has several, and assumed where it has one.

Verdicts are about all rows of a comparison together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.compare.common_moves import (
    Shift,
    common_shift,
    placed_moves,
    problem_moves,
    without_process_effects,
)
from ckprof.compare.row_times import ENOUGH_ROWS, MEDIAN_ABSOLUTE, row_errors
from ckprof.model.student import quick_t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.row_times import Array, Errors, RowTimes


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


#: the logarithm of the factor by which a disturbed round is slower, as a standard deviation
_DISTURBANCE: Final = 0.5
#: relative standard error of the median of n absolute values of a normal variable, times the root of n
_MEDIAN_ERROR: Final = 1.17
#: errors that are larger by this factor may be so because a part of the rows changed
_MULTIPLIED: Final = 1.35
#: rows with like errors that are looked at together
_LIKE_ROWS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """By how much one row changed, beside what all rows share. Logarithms of ratios: positive is slower."""

    log_ratio: float
    low: float
    high: float
    #: that a change within the smallest one of interest shows as one like this by chance
    p_value: float
    #: that a change of the smallest size of interest shows as one like this by chance: the larger one of two
    #: one-sided tests (Schuirmann, 1987)
    same_p_value: float
    #: standard deviation of the change
    error: float
    #: smallest number of processes of a side
    processes: int
    #: smallest number of rounds of a side
    rounds: int
    #: see :func:`~ckprof.compare.change.judge`, which looks at all rows together
    verdict: Verdict = Verdict.UNCLEAR
    #: processes of each side, of :data:`~ckprof.compare.change.ROUNDS_EACH` rounds, that would settle an
    #: unclear row; ``None`` if it is settled, or would need more than
    #: :data:`~ckprof.compare.change.MOST_PROCESSES`
    processes_needed: int | None = None

    @property
    def ratio(self) -> float:
        """New time / old time."""
        return math.exp(self.log_ratio)


def estimate_changes(
    times: Sequence[RowTimes], policy: ChangePolicy
) -> tuple[list[Change], Shift | None, float | None]:
    """Estimate all rows at once; verdicts are left to :func:`~ckprof.compare.change.judge`.

    :param times: each side with at least one process of one round.
    :returns: the change of each row; what all of them share, ``None`` with too few to tell; and the standard
        deviation of what one process of a side differs from another by, of rows that have only one, ``None``
        without such rows.
    """
    if not times:
        return [], None, None
    rows, placement, freedom = without_process_effects(times)
    changes = np.array([row.log_ratio for row in rows])
    errors = row_errors(rows, policy)
    single = np.array([row.single for row in rows])
    # rows whose sides ran beside each other are free of all that the others may share
    apart = ~np.array([row.paired for row in times])
    groups = (single, ~single & apart)
    spread = np.zeros(len(rows))
    shift = common_shift(changes[apart], errors.variance[apart], policy)
    if shift is not None:
        shared = shift.log_ratio if shift.shared else 0.0
        moves, spread = problem_moves(times, changes - shared, errors.variance, single)
        moves = moves + placed_moves(times, changes - shared, groups[1], placement, freedom)
        changes = changes - moves - np.where(apart, shift.log_ratio if shift.removed else 0.0, 0.0)
    errors = errors.widened(_beyond_errors(changes, errors, groups, policy) + spread)
    disturbed = [np.array([row.disturbed[side] for row in rows]) for side in (0, 1)]
    below = errors.contaminated(disturbed[1], _DISTURBANCE)
    above = errors.contaminated(disturbed[0], _DISTURBANCE)
    tail = (1 - policy.confidence) / 2
    low, high = changes - below.quantile(tail), changes + above.quantile(tail)
    beyond = np.abs(changes) - math.log1p(policy.min_change)
    p_values = np.where(changes > 0, below.tail(beyond), above.tail(beyond))
    p_values[beyond <= 0] = 1.0
    same = np.maximum(above.tail(-beyond), below.tail(-beyond))
    same[beyond >= 0] = 1.0
    figures = np.stack([changes, low, high, p_values, same, np.sqrt(errors.variance)], axis=1).tolist()
    estimated = [
        Change(
            log_ratio=some[0],
            low=some[1],
            high=some[2],
            p_value=some[3],
            same_p_value=some[4],
            error=some[5],
            processes=row.processes,
            rounds=row.rounds,
        )
        for some, row in zip(figures, rows, strict=True)
    ]
    return estimated, shift, float(np.sqrt(np.median(errors.extra[single]) / 2)) if single.any() else None


def _beyond_errors(
    changes: Array,
    errors: Errors,
    groups: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    policy: ChangePolicy,
) -> Array:
    """Return the variance, per row, by which changes vary beyond what the errors of their rows say.

    Of rows with one process a side that is what processes differ by; of others, what sweeps do. Half of the
    rows should be within half of what their errors make likely. Somewhat more than that is laid to all errors
    alike: rows that did change do it, too. Rows with small errors may be the only ones that show it, so that
    rows of one process a side are also looked at among those with like errors, where all may have moved.

    :param groups: which rows have one process a side, and which have more.
    """
    variances, result = errors.variance, np.zeros(len(changes))
    assumed = (2 * policy.process_noise**2, 0.0)
    for group, prior in zip(groups, assumed, strict=True):
        places = np.flatnonzero(group)
        if len(places) < ENOUGH_ROWS:
            result[places] = prior
            continue
        own = variances[places]
        beside = np.abs(changes[places] - np.median(changes[places]))
        ratio = _excess(beside, own)
        if ratio <= _MULTIPLIED:
            result[places] = own * max(0.0, ratio**2 - 1)
        else:
            result[places] = _added(beside, own)
    return np.maximum(result, _among_like_rows(changes, variances, np.flatnonzero(groups[0])))


def _among_like_rows(changes: Array, variances: Array, places: NDArray[np.int64]) -> Array:
    """Return the variance beyond their errors of some rows among those with like errors; 0 of others."""
    result = np.zeros(len(changes))
    if len(places) < ENOUGH_ROWS:
        return result
    ordered = places[np.argsort(variances[places], kind="stable")]
    for like in np.array_split(ordered, max(1, len(ordered) // _LIKE_ROWS)):
        beside, own = np.abs(changes[like] - np.median(changes[like])), variances[like]
        chance = _MEDIAN_ERROR / math.sqrt(len(like))
        if _excess(beside, own) > 1 + 2 * chance:
            result[like] = (1 + chance) ** 2 * _added(beside, own)
    return result


def _excess(beside: Array, variances: Array) -> float:
    """Return by which factor errors are larger than what their variances make likely."""
    return float(np.median(beside / np.sqrt(variances))) / MEDIAN_ABSOLUTE


def _added(beside: Array, variances: Array) -> float:
    """Return the variance that makes errors as large as they are."""
    low, high = 0.0, 4.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _excess(beside, variances + middle) > 1 else (low, middle)
    return low
