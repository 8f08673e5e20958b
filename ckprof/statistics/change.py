"""How much a time changed between two sides that were each measured in rounds.

All arithmetic is on logarithms of the medians of rounds, so that a change is a ratio and slowing down by a
factor is the opposite of speeding up by it. The unit of resampling is the round: samples of one round share
its conditions and say nothing about the next round.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.errors import UsageError
from ckprof.statistics.student import normal_tail, t_quantile, t_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: rounds of a side below which its scatter is too little known to be relied on
ENOUGH_ROUNDS: Final = 4

#: rows with enough rounds that tell the scatter of the others
_ENOUGH_ROWS: Final = 10

#: share of their scatters that is not larger than what the others are taken to have
_SCATTER_QUANTILE: Final = 0.9

#: random halvings of a side's rounds that its noise is taken from
_HALVINGS: Final = 200

#: values of one block of resampled means, which bounds the memory
_BLOCK: Final = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """What counts as a change, and how sure a verdict must be."""

    #: R: the smallest change of interest, as a share, e.g. 0.02
    min_change: float = 0.02
    #: of the intervals
    confidence: float = 0.95
    #: expected share of wrong verdicts among those that say FASTER or SLOWER
    false_discovery_rate: float = 0.05
    #: scatter between rounds that is assumed where a side has fewer than :data:`ENOUGH_ROUNDS`, and too few
    #: other rows have more
    assumed_noise: float = 0.05
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("min_change", "confidence", "false_discovery_rate", "assumed_noise"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise UsageError(f"{name} is {value}, expected more than 0 and less than 1")
        if self.resamples < 200:
            raise UsageError(f"resamples is {self.resamples}, expected at least 200")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPair:
    """The rounds of one row: logarithms of the median times, in milliseconds, of both sides."""

    old: tuple[float, ...]
    new: tuple[float, ...]
    #: round i of one side ran right beside round i of the other: their difference is free of common drift
    interleaved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """By how much one row changed. Logarithms of ratios new / old: positive is slower."""

    log_ratio: float
    low: float
    high: float
    #: A: what the same kernel changes against itself
    noise: float
    #: max(R, A)
    margin: float
    #: that a change within the margin shows as one like this by chance
    p_value: float
    #: standard deviation of one round
    scatter: float
    #: smallest number of rounds of a side
    rounds: int

    @property
    def ratio(self) -> float:
        """New time / old time."""
        return math.exp(self.log_ratio)


def estimate_changes(pairs: Sequence[RoundPair], policy: ChangePolicy) -> list[Change]:
    """Estimate all rows at once.

    A row's noise is never taken to be below the median noise of all rows: few rounds agree by chance.

    :param pairs: each side with at least one round.
    """
    scatter = _usual_scatter(pairs, policy)
    estimates = [_Estimate(pair, scatter) for pair in pairs]
    _fill_intervals(estimates, policy)
    noises = _noises(estimates, policy, scatter)
    floor = float(np.median(noises)) if len(noises) else 0.0
    return [
        estimate.change(max(noise, floor), policy) for estimate, noise in zip(estimates, noises, strict=True)
    ]


def _usual_scatter(pairs: Sequence[RoundPair], policy: ChangePolicy) -> float:
    """Return the scatter of one round that rows with few rounds are taken to have.

    A sweep stops measuring a kernel that is surely slow: such rows have the scatter of the machine that the
    others were measured on. With few others, it is assumed. It is never less than what the changes of the
    rows with few rounds say: most kernels did not change, so that most changes are noise.
    """
    known = [
        max(float(np.std(side, ddof=1)) for side in (pair.old, pair.new))
        for pair in pairs
        if _is_enough(pair)
    ]
    enough = len(known) >= _ENOUGH_ROWS
    scatter = float(np.quantile(known, _SCATTER_QUANTILE)) if enough else policy.assumed_noise
    few = [pair for pair in pairs if not _is_enough(pair)]
    if len(few) < _ENOUGH_ROWS:
        return scatter
    changes = np.array([np.mean(pair.new) - np.mean(pair.old) for pair in few])
    scales = np.sqrt([1 / len(pair.old) + 1 / len(pair.new) for pair in few])
    spread = float(np.quantile(np.abs(changes - np.median(changes)) / scales, _SCATTER_QUANTILE))
    return max(scatter, spread / t_quantile(0.5 + _SCATTER_QUANTILE / 2, math.inf))


def _is_enough(pair: RoundPair) -> bool:
    return min(len(pair.old), len(pair.new)) >= ENOUGH_ROUNDS


class _Estimate:
    """One row on its way to a :class:`Change`.

    :param scatter: of one round, for rows with few rounds.
    """

    def __init__(self, pair: RoundPair, scatter: float) -> None:
        old, new = np.asarray(pair.old), np.asarray(pair.new)
        # resampled independently of each other; the mean of the last minus that of the first is the change
        self.parts: tuple[Array, ...] = (new - old,) if pair.interleaved else (old, new)
        self.rounds = min(len(old), len(new))
        self.assumed = not _is_enough(pair)
        least = scatter**2 * (2 if pair.interleaved else 1) if self.assumed else 0.0
        self.variances = [_variance(part, least) for part in self.parts]
        self.log_ratio = float(self.parts[-1].mean() - (0 if pair.interleaved else self.parts[0].mean()))
        self.scatter = math.sqrt(sum(self.variances) / (2 if pair.interleaved else len(self.parts)))
        self.error, self.freedom = self._error()
        self.low = self.high = self.log_ratio

    def _error(self) -> tuple[float, float]:
        """Return the standard error of the change and its degrees of freedom (Welch and Satterthwaite)."""
        shares = [variance / len(part) for variance, part in zip(self.variances, self.parts, strict=True)]
        total = sum(shares)
        if self.assumed or total == 0:
            return math.sqrt(total), math.inf
        below = sum(share**2 / (len(part) - 1) for share, part in zip(shares, self.parts, strict=True))
        return math.sqrt(total), total**2 / below

    def change(self, noise: float, policy: ChangePolicy) -> Change:
        margin = max(math.log1p(policy.min_change), noise)
        distance = abs(self.log_ratio) - margin
        if distance <= 0:
            p_value = 1.0
        elif self.error == 0:
            p_value = 0.0
        else:
            p_value = t_tail(distance / self.error, self.freedom)
        return Change(
            log_ratio=self.log_ratio,
            low=self.low,
            high=self.high,
            noise=noise,
            margin=margin,
            p_value=p_value,
            scatter=self.scatter,
            rounds=self.rounds,
        )


def _variance(part: Array, least: float) -> float:
    return max(float(part.var(ddof=1)) if len(part) > 1 else 0.0, least)


def _fill_intervals(estimates: Sequence[_Estimate], policy: ChangePolicy) -> None:
    """Set the intervals: bootstrap percentiles over rounds, expanded for small numbers of rounds.

    Percentiles of resampled means are too narrow for few rounds. They are taken further out, at the level
    where the normal distribution has sqrt(n / (n - 1)) times the t quantile (Hesterberg 2015, section 3.3).
    """
    groups: dict[tuple[int, ...], list[_Estimate]] = defaultdict(list)
    for estimate in estimates:
        if estimate.assumed:
            reach = t_quantile(0.5 + policy.confidence / 2, math.inf) * estimate.error
            estimate.low, estimate.high = estimate.log_ratio - reach, estimate.log_ratio + reach
        else:
            groups[tuple(map(len, estimate.parts))].append(estimate)
    for sizes, group in groups.items():
        rounds = min(sizes)
        quantile = t_quantile(0.5 + policy.confidence / 2, sum(size - 1 for size in sizes))
        level = normal_tail(quantile * math.sqrt(rounds / (rounds - 1)))
        weights = [_bootstrap_weights(size, policy, number) for number, size in enumerate(sizes)]
        block = max(1, _BLOCK // policy.resamples)
        for start in range(0, len(group), block):
            some = group[start : start + block]
            means = _resampled(some, weights)
            low, high = np.quantile(means, [level, 1 - level], axis=1)
            for estimate, least, largest in zip(some, low, high, strict=True):
                estimate.low, estimate.high = float(least), float(largest)


def _bootstrap_weights(size: int, policy: ChangePolicy, number: int) -> Array:
    """Return (resamples, size) weights: how often each round is drawn, over the number of rounds."""
    generator = np.random.default_rng([policy.seed, number, size])
    return generator.multinomial(size, np.full(size, 1 / size), policy.resamples) / size


def _resampled(group: Sequence[_Estimate], weights: Sequence[Array]) -> Array:
    """Return (rows, resamples) changes."""
    means = [
        np.stack([estimate.parts[part] for estimate in group]) @ matrix.T
        for part, matrix in enumerate(weights)
    ]
    result: Array = means[-1] - means[0] if len(means) > 1 else means[0]
    return result


def _noises(estimates: Sequence[_Estimate], policy: ChangePolicy, scatter: float) -> list[float]:
    """Return A of each row: what halves of a side's own rounds differ by, the larger of both sides.

    It is the ``confidence`` quantile of the differences over random halvings.
    """
    values: dict[tuple[int, int], float] = {}
    groups: dict[int, list[tuple[int, int, Array]]] = defaultdict(list)
    for row, estimate in enumerate(estimates):
        if estimate.assumed:
            # there are no halves to compare: what two sides of so many rounds would differ by
            reach = t_quantile(0.5 + policy.confidence / 2, math.inf)
            values[row, 0] = reach * math.sqrt(2 / estimate.rounds) * scatter
            continue
        for number, rounds in enumerate(estimate.parts):
            groups[len(rounds)].append((row, number, rounds))
    for size, members in groups.items():
        halvings = _halving_weights(size, policy)
        differences = np.abs(np.stack([rounds for _, _, rounds in members]) @ halvings.T)
        quantiles = np.quantile(differences, policy.confidence, axis=1)
        for (row, number, _), noise in zip(members, quantiles, strict=True):
            values[row, number] = float(noise)
    return [max(values[row, 0], values.get((row, 1), 0.0)) for row in range(len(estimates))]


def _halving_weights(size: int, policy: ChangePolicy) -> Array:
    """Return (halvings, size) weights: the mean of one random half minus that of the other."""
    generator = np.random.default_rng([policy.seed, size])
    half = size // 2
    weights = np.zeros((_HALVINGS, size))
    for row in weights:
        order = generator.permutation(size)
        row[order[:half]] = 1 / half
        row[order[half : 2 * half]] = -1 / half
    return weights
