"""Verdicts about all rows of a comparison together, and what all rows share.

What the visits say of each row is :mod:`ckprof.compare.visits`'; rows whose sides were measured side by side
need no such model: the machine moves both alike.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.compare.visits import LEAST_SIGMA, Visits, common_change, contrasts
from ckprof.model.student import quick_t_quantile, t_quantile, t_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.visits import Array

#: visits of each side without which nothing shows how much they scatter
ENOUGH_VISITS: Final = 2
#: no more passes than this are ever asked for
MOST_PASSES: Final = 100
#: other ways of splitting the visits into two sides that are looked at, at most
_SPLITS: Final = 40
#: ways of splitting that are listed; of more, some are drawn
_ALL_SPLITS: Final = 2000
#: chance counts from this share of a row's size on: few rows with two states show no larger one
_NEARLY: Final = 0.6
#: confidence that a shift of all rows is beyond the smallest change of interest, of a one-sided test
_SURE_SHIFT: Final = 0.99
#: false verdicts that these may predict among those that stand
_FALSE_SHARE: Final = 0.01


class Verdict(Enum):
    """What became of a time."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """By how much one row changed. Logarithms of new time / old time: positive is slower."""

    log_ratio: float
    #: the interval that holds what the code changed by, whatever the machine did; ``None`` where nothing
    #: shows how much the row scatters
    interval: tuple[float, float] | None = None
    #: probability that chance alone shows a change as large, beyond the smallest one of interest
    p_value: float = 1.0
    #: standard deviation of the change
    error: float | None = None
    #: smallest number of visits of a side
    visits: int
    verdict: Verdict = Verdict.UNCLEAR
    #: passes of each side that would settle an unclear row; ``None`` if it is settled, if it would need more
    #: than :data:`MOST_PASSES`, or if the machine's share hides it, which no passes settle
    passes_needed: int | None = None

    @property
    def ratio(self) -> float:
        """New time / old time."""
        return math.exp(self.log_ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What all rows changed by."""

    log_ratio: float
    #: it is more than the smallest change of interest, and machine and code cannot be distinguished
    unexplained: bool = False

    @property
    def ratio(self) -> float:
        """New time / old time."""
        return math.exp(self.log_ratio)


def judge_visits(visits: Visits, policy: ChangePolicy, *, same_clock: bool) -> tuple[list[Change], Shift]:
    """Judge every row that has a trial on both sides, in the order of problems and kernels.

    SLOWER or FASTER: the change exceeds the machine's share by more than the smallest one of interest, R, and

    * the row is among those that the Benjamini-Hochberg procedure keeps, and
    * other ways of splitting the visits into two sides predict at most 1 % of chance among those that are
      kept: that sees kernels with two states and heavy tails.

    SAME: changes of R and of its opposite are both refuted, which is an interval inside of R at a confidence
    of 90 %. UNCLEAR: neither.

    :param same_clock: what the sides say of clock and power limit is alike.
    """
    if not visits.times.size:
        return [], Shift(log_ratio=0.0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing are NaN, as they should be
        visits = visits.undisturbed()
        found = contrasts(visits, visits.sides)
        counts = np.minimum(*(np.isfinite(visits.times[..., side]).sum(axis=-1) for side in visits.sides))
        known = (counts >= ENOUGH_VISITS) & np.isfinite(found.strict_sigma)
        exceeds = np.where(known, found.beyond(math.log1p(policy.min_change)), 0.0)
        p_values = _p_values(exceeds, found.strict_freedom)
        significant = (exceeds != 0) & _kept_by_rate(p_values, counts > 0, policy.false_discovery_rate)
        significant &= _kept_by_splits(visits, np.abs(exceeds), significant, policy)
        shift = _shift(visits, policy, tellable=bool(len(visits.canaries)) and same_clock)
    places = map(tuple, np.argwhere(counts > 0).tolist())
    changes = [
        _change(
            float(found.change[place]),
            (float(found.low[place]), float(found.high[place])),
            float(found.sigma[place]),
            float(found.freedom[place]),
            visits=int(counts[place]),
            p_value=float(p_values[place]),
            significant=bool(significant[place]),
            policy=policy,
        )
        if known[place]
        else Change(log_ratio=float(found.change[place]), visits=int(counts[place]))
        for place in places
    ]
    return changes, shift


def judge_pairs(rows: Sequence[Sequence[float]], policy: ChangePolicy) -> list[Change]:
    """Judge rows whose sides were measured in pairs, one right after the other: the machine moves both alike.

    By Student's t distribution, with the Benjamini-Hochberg procedure over the rows.

    :param rows: of each row, the logarithms of new time / old time of at least one pair.
    """
    least = math.log1p(policy.min_change)
    means, sigmas = [fmean(row) for row in rows], [_standard_error(row) for row in rows]
    exceeds = [
        math.copysign(max(0.0, abs(mean) - least) / sigma, mean) if sigma else 0.0
        for mean, sigma in zip(means, sigmas, strict=True)
    ]
    freedom = [max(1.0, len(row) - 1.0) for row in rows]
    p_values = _p_values(np.array(exceeds), np.array(freedom))
    significant = _kept_by_rate(p_values, np.ones(len(rows), bool), policy.false_discovery_rate)
    return [
        _change(
            mean,
            (0.0, 0.0),
            sigma,
            len(row) - 1.0,
            visits=len(row),
            p_value=float(p_value),
            significant=bool(kept),
            policy=policy,
        )
        if sigma
        else Change(log_ratio=mean, visits=len(row))
        for row, mean, sigma, p_value, kept in zip(rows, means, sigmas, p_values, significant, strict=True)
    ]


def _standard_error(values: Sequence[float]) -> float | None:
    """Return that of the mean; never 0: no clock is that good. ``None`` of one value."""
    if len(values) < ENOUGH_VISITS:
        return None
    return math.hypot(stdev(values) / math.sqrt(len(values)), LEAST_SIGMA)


def _p_values(exceeds: Array, freedom: Array) -> Array:
    """Return two-sided probabilities of Student's t distribution; 1 of what exceeds nothing."""
    result = np.ones(exceeds.shape)
    some = exceeds != 0
    pairs = zip(np.abs(exceeds[some]).tolist(), freedom[some].tolist(), strict=True)
    result[some] = [min(1.0, 2 * t_tail(size, degrees)) for size, degrees in pairs]
    return result


def _kept_by_rate(p_values: Array, tested: NDArray[np.bool_], rate: float) -> NDArray[np.bool_]:
    """Say which hypotheses are rejected so that the expected share of wrong rejections stays below ``rate``.

    With m tests, all up to the largest rank k with p(k) <= k / m * rate are rejected (Benjamini and Hochberg,
    1995).

    :param tested: which values are of tests.
    """
    ordered = np.sort(p_values[tested])
    below = np.flatnonzero(ordered <= rate * np.arange(1, len(ordered) + 1) / len(ordered))
    return tested & (p_values <= ordered[below[-1]]) if len(below) else np.zeros(tested.shape, bool)


def _kept_by_splits(
    visits: Visits, exceeds: Array, significant: NDArray[np.bool_], policy: ChangePolicy
) -> NDArray[np.bool_]:
    """Say for which rows chance is rare enough, as other ways of splitting the visits into sides show it."""
    kept = np.zeros(significant.shape, bool)
    if not significant.any():
        return kept
    least = math.log1p(policy.min_change)
    splits = _splits(visits.times.shape[-1], visits.old, policy.seed)
    chance = np.sort(
        np.concatenate([np.abs(contrasts(visits, sides).beyond(least)).ravel() for sides in splits])
    )
    places = np.argwhere(significant)
    sizes = exceeds[significant]
    order = np.argsort(-sizes)
    # the largest set whose expected number of false ones is small enough
    expected = (len(chance) - np.searchsorted(chance, _NEARLY * sizes[order])) / len(splits)
    enough = np.flatnonzero(expected <= _FALSE_SHARE * np.arange(1, len(order) + 1))
    if len(enough):
        kept[tuple(places[order[: enough[-1] + 1]].T)] = True
    return kept


def _splits(count: int, old: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return other ways of splitting visits into sides than into the first ones and the rest, as large."""
    whole = np.arange(count)
    if math.comb(count, old) <= _ALL_SPLITS:
        found = [np.array(one) for one in itertools.combinations(range(count), old)]
    else:
        chance = np.random.default_rng(seed)
        found = [np.sort(chance.permutation(count)[:old]) for _ in range(2 * _SPLITS)]
    # of halves, each split is found twice
    others = [one for one in found if one[-1] >= old and (2 * old != count or one[0] == 0)]
    if len(others) > _SPLITS:
        chosen = np.random.default_rng(seed).choice(len(others), _SPLITS, replace=False)
        others = [others[place] for place in chosen]
    return [(one, np.setdiff1d(whole, one)) for one in others]


def _shift(visits: Visits, policy: ChangePolicy, *, tellable: bool) -> Shift:
    """Return what all rows share.

    :param tellable: canaries and clocks say what the machine did.
    """
    common, error, freedom = common_change(visits)
    if tellable or freedom < 1:
        return Shift(log_ratio=common)
    beyond = abs(common) - t_quantile(_SURE_SHIFT, freedom) * error
    return Shift(log_ratio=common, unexplained=beyond > math.log1p(policy.min_change))


def _change(
    log_ratio: float,
    machine: tuple[float, float],
    sigma: float,
    freedom: float,
    *,
    visits: int,
    p_value: float,
    significant: bool,
    policy: ChangePolicy,
) -> Change:
    """Return a row with its verdict.

    :param machine: the machine's share.
    """
    least, degrees = math.log1p(policy.min_change), round(freedom, 1)
    # what the code changed by
    low, high = log_ratio - machine[1], log_ratio - machine[0]
    reach = t_quantile(0.5 + policy.confidence / 2, degrees) * sigma
    inner = t_quantile(policy.confidence, degrees) * sigma
    verdict, needed = Verdict.UNCLEAR, None
    if significant:
        verdict = Verdict.SLOWER if low > 0 else Verdict.FASTER
    elif -least < low - inner and high + inner < least:
        verdict = Verdict.SAME
    else:
        needed = _passes_needed(low, high, sigma, visits, policy)
    return Change(
        log_ratio=log_ratio,
        interval=(low - reach, high + reach),
        p_value=p_value,
        error=sigma,
        visits=visits,
        verdict=verdict,
        passes_needed=needed,
    )


def _passes_needed(low: float, high: float, sigma: float, visits: int, policy: ChangePolicy) -> int | None:
    """Estimate the passes of each side after which a row would be settled, if nothing else changed."""
    least, error = math.log1p(policy.min_change), sigma * math.sqrt(visits)
    room = (
        (max(low, -high) - least, quick_t_quantile(1 - policy.false_discovery_rate / 2, 2 * visits)),
        (least - max(high, -low), quick_t_quantile(policy.confidence, 2 * visits)),
    )
    enough = [math.ceil((quantile * error / some) ** 2) for some, quantile in room if some > 0]
    needed = max(visits + 1, min(enough)) if enough else None
    return needed if needed is not None and needed <= MOST_PASSES else None
