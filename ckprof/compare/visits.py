"""What the visits of two sides say of how much each row changed, and how far machine and chance reach.

A row is one kernel on one problem; a visit is that problem in one pass, which is one process that goes once
over all problems. So visits of one problem are far apart in time, and what is independent of one another are
passes.

The model, on logarithms of times::

    time = row + side + problem x side + pass + visit + residual

**The machine's share** of a change is an interval, never a number that is subtracted: kernels follow clock
and bandwidth between not at all and wholly. Two reference kernels as extreme as can be, the canaries, are
measured in every visit; the interval is the hull of 0 and of what each canary moved by, over all problems and
on this one as far as that is more than chance, widened by half for kernels that follow more than a canary
does. Without canaries it reaches from 0 to what all rows have in common.

**Chance** is what remains: the residual of the row, and the scatter of the problem's visits, moderated as
Smyth does ("Linear models and empirical Bayes methods", 2004); what passes differ by and no canary shows; and
the scatter of the canaries. Degrees of freedom are Satterthwaite's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ckprof.model.noise import DISTURBED_SHARE, DISTURBED_SIGMAS, MEDIAN_TO_SIGMA, MEDIAN_VARIANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


#: kernels may follow the machine by this many times as much as a canary does
_REACH: Final = 1.5
#: standard deviations by which a canary moves on one problem by chance, as it does from visit to visit: what
#: rows do then is in their own scatter
_BY_CHANCE: Final = 2.0
#: share of a problem's rows, at either end, that say nothing of what all of them share
_TRIMMED: Final = 0.2
#: problems from which on they say what passes have in common
_ENOUGH_PROBLEMS: Final = 3
#: rows from which on they say how alike their variances are, and degrees of freedom of fewer
_ENOUGH_ROWS: Final = 20
_FEW_ROWS: Final = 4.0
#: degrees of freedom that the prior may have
_PRIORS: Final = range(2, 61)
#: of numerical derivatives of log gamma
_STEP: Final = 1e-3
#: standard deviation below which no clock tells times apart
LEAST_SIGMA: Final = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """Logarithms of the times of two sides; NaN for what was not measured."""

    #: (problems, kernels, visits): a trial each. Problems with fewer kernels than others have rows of NaN
    times: Array
    #: (canaries, problems, visits)
    canaries: Array
    #: the first so many visits are the old side's
    old: int

    @property
    def sides(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which visits each side has."""
        count = self.times.shape[-1]
        return np.arange(self.old), np.arange(self.old, count)

    def undisturbed(self) -> Visits:
        """Leave out visits in which a canary is off, where two other ones of that side have the row."""
        times, canaries = self.times.copy(), self.canaries.copy()
        for side in self.sides if len(canaries) else ():
            own = canaries[..., side]
            away = np.nanmax(np.abs(own - np.nanmedian(own, axis=-1, keepdims=True)), axis=0)
            limit = max(DISTURBED_SIGMAS * MEDIAN_TO_SIGMA * float(np.nanmedian(away)), DISTURBED_SHARE)
            off = away > limit
            enough = (np.isfinite(times[..., side]) & ~off[:, None]).sum(axis=-1, keepdims=True) >= 2
            times[..., side] = np.where(off[:, None] & enough, np.nan, times[..., side])
            canaries[..., side] = np.where(off & enough.all(axis=1), np.nan, own)
        return replace(self, times=times, canaries=canaries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasts:
    """New side - old side, as logarithms of ratios, of each row: (problems, kernels)."""

    change: Array
    #: the machine's share
    low: Array
    high: Array
    #: standard deviation, and degrees of freedom: what is likely
    sigma: Array
    freedom: Array
    #: the same where no row, and no problem, is taken to be quieter than all are on average: few trials that
    #: happen to agree shall not make a row faster or slower
    strict_sigma: Array
    strict_freedom: Array

    def beyond(self, least: float) -> Array:
        """Return how far changes exceed the machine's share by more than ``least``, in strict deviations.

        0 within it; negative where the new side is faster; 0 of rows that are not known.
        """
        above = np.maximum(self.change - self.high - least, 0.0)
        below = np.minimum(self.change - self.low + least, 0.0)
        return np.nan_to_num((above + below) / self.strict_sigma)


def contrasts(visits: Visits, sides: Sequence[NDArray[np.intp]]) -> Contrasts:
    """Estimate every row.

    :param sides: which visits each side has; other ones than it has show what chance does.
    """
    times, canaries = visits.times, visits.canaries
    problems, _, count = times.shape
    residuals = _within(times, sides)
    shared = _trimmed_mean(residuals)
    weight = sum(1 / np.isfinite(times[..., side]).sum(axis=-1) for side in sides)
    parts: list[tuple[Array, Array]] = []
    of_passes, hull = [np.zeros(count)], [np.zeros(problems)]
    for canary in canaries:
        within, moved = _within(canary, sides), _contrast(canary, sides)
        of_passes.append(np.nanmedian(within, axis=0))
        left = within - of_passes[-1]
        canary_freedom = max(float(_freedom(left).sum()), 1.0)
        variance = float(np.nansum(left**2)) / canary_freedom * sum(1 / len(side) for side in sides)
        parts.append((np.full(1, MEDIAN_VARIANCE * variance / problems), np.full(1, canary_freedom)))
        usual, chance = np.nanmedian(moved), _BY_CHANCE * math.sqrt(variance)
        own = moved - np.clip(moved - usual, -chance, chance)
        hull += [_REACH * own, np.full(problems, _REACH * usual)]
    scatter = shared
    whole = _whole_passes(shared, _ENOUGH_PROBLEMS)
    if whole.any():
        common = np.where(whole, np.nanmedian(shared, axis=0), 0.0)
        unseen = common - np.clip(common, *_hull(of_passes))
        pass_freedom = max(whole.sum() - 2.0, 1.0)
        passes = np.nansum(unseen[whole] ** 2) / pass_freedom * weight
        parts.append((passes, np.full(1, pass_freedom)))
        scatter = (shared - common) * math.sqrt(problems / (problems - 1))
    of_visits, visit_average, visit_freedom = _moderated(scatter, _freedom(shared))
    of_rows, row_average, row_freedom = _moderated(residuals - shared[:, None, :], _freedom(times))
    likely, strict = (
        _added(
            [
                *parts,
                (np.maximum(of_rows, row_least) * weight, row_freedom),
                (np.maximum(of_visits, visit_least)[:, None] * weight, visit_freedom[:, None]),
            ]
        )
        for row_least, visit_least in ((0.0, 0.0), (row_average, visit_average))
    )
    change = _contrast(times, sides)
    if not len(canaries):
        hull.append(np.full(problems, _common(change)))
    low, high = _hull(hull)
    return Contrasts(
        change=change,
        low=np.broadcast_to(low[:, None], change.shape),
        high=np.broadcast_to(high[:, None], change.shape),
        sigma=likely[0],
        freedom=likely[1],
        strict_sigma=strict[0],
        strict_freedom=strict[1],
    )


def common_change(visits: Visits) -> tuple[float, float, int]:
    """Return what all rows changed by, problems counting alike.

    :returns: with its standard deviation, and the degrees of freedom of that.
    """
    shared = _trimmed_mean(_within(visits.times, visits.sides))
    whole = _whole_passes(shared, 1)
    passes = np.nanmedian(shared[:, whole], axis=0)
    variance = float(np.nansum(passes**2)) / max(len(passes) - 2, 1)
    error = math.sqrt(variance * sum(1 / max(whole[side].sum(), 1) for side in visits.sides))
    return _common(_contrast(visits.times, visits.sides)), error, len(passes) - 2


def _whole_passes(shared: Array, least: int) -> NDArray[np.bool_]:
    """Say which passes visited half of the problems, and ``least``: what these share is the pass's.

    Others are of searches that went on with few problems, and say nothing of the rest.
    """
    result: NDArray[np.bool_] = np.isfinite(shared).sum(axis=0) >= max(least, len(shared) / 2)
    return result


def _common(change: Array) -> float:
    return float(np.nan_to_num(np.nanmedian(np.nanmedian(change, axis=1))))


def _within(values: Array, sides: Sequence[NDArray[np.intp]]) -> Array:
    """Return the differences to the means of the sides."""
    result: Array = values.copy()
    for side in sides:
        result[..., side] -= np.nanmean(values[..., side], axis=-1, keepdims=True)
    return result


def _contrast(values: Array, sides: Sequence[NDArray[np.intp]]) -> Array:
    old, new = (np.nanmean(values[..., side], axis=-1) for side in sides)
    result: Array = new - old
    return result


def _freedom(values: Array) -> Array:
    """Return the degrees of freedom along the last axis, after the means of two sides."""
    result: Array = np.maximum(np.isfinite(values).sum(axis=-1) - 2.0, 0.0)
    return result


def _hull(values: Sequence[Array]) -> tuple[Array, Array]:
    return np.nanmin(values, axis=0), np.nanmax(values, axis=0)


def _trimmed_mean(values: Array) -> Array:
    """Return the means along the middle axis without the outer rows: (problems, visits)."""
    ordered = np.sort(values, axis=1)  # NaN last
    count = np.isfinite(values).sum(axis=1, keepdims=True)
    cut = (_TRIMMED * count).astype(int)
    place = np.arange(values.shape[1])[None, :, None]
    kept = (place >= cut) & (place < count - cut)
    rows = np.where(count > 0, count - 2 * cut, np.nan)[:, 0]
    result: Array = np.where(kept, ordered, 0.0).sum(axis=1) / rows
    return result


def _added(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the standard deviations of sums, and their degrees of freedom.

    :param parts: variances, and degrees of freedom of these.
    """
    variance = LEAST_SIGMA**2 + sum((part for part, _ in parts), np.zeros(1))
    freedom: Array = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return np.sqrt(variance), freedom


def _moderated(residuals: Array, freedom: Array) -> tuple[Array, float, Array]:
    """Return the likely variance of each row or problem, that of all on average, and degrees of freedom."""
    own = np.nansum(residuals**2, axis=-1) / np.maximum(freedom, 1)
    known = own[freedom > 0]
    if not known.size:
        return np.full(own.shape, np.nan), math.nan, freedom
    degrees = float(np.median(freedom[freedom > 0]))
    prior = _prior_freedom(known, degrees) if known.size > 1 else 0.0
    positive = known[known > 0]
    center = 0.0
    if prior and positive.size:
        center = math.exp(np.log(positive).mean() + _log_bias(prior) - _log_bias(degrees))
    return (prior * center + freedom * own) / (prior + freedom), float(known.mean()), prior + freedom


def _log_bias(freedom: float) -> float:
    """Return what the logarithm of a variance of so many degrees of freedom is too low by, negated."""
    half, step = freedom / 2, _STEP
    return (math.lgamma(half + step) - math.lgamma(half - step)) / (2 * step) - math.log(half)


def _log_variance(freedom: float) -> float:
    """Return the variance of the logarithm of a variance of so many degrees of freedom."""
    half, step = freedom / 2, _STEP
    return (math.lgamma(half + step) - 2 * math.lgamma(half) + math.lgamma(half - step)) / step**2


def _prior_freedom(variances: Array, freedom: float) -> float:
    """Return the degrees of freedom that all rows' mean variance counts as: many where rows are alike.

    By moments: what logarithms of variances differ by is what both kinds of freedom leave them.
    """
    positive = variances[variances > 0]
    if len(positive) < _ENOUGH_ROWS:
        return _FEW_ROWS
    excess = float(np.log(positive).var(ddof=1)) - _log_variance(freedom)
    return min(_PRIORS, key=lambda prior: abs(_log_variance(prior) - excess))
