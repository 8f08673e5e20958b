"""A kernel's time on a problem, the order of kernels by their times, and which of them share the first place.

This is the only definition of these. The table of a run and its other formats, ``--best``, stores, reports,
comparisons, searches and :mod:`ckprof` itself take their times, winners and ties from here, so that the same
measurements name the same winner everywhere.

**What counts.** A kernel has one time per round, the median of its samples; where it ran several times in one
round, as the reference kernel does, the geometric mean of these medians. Rounds count if the result was
verified and they are not marked (drift, a slow device). A kernel whose latest measurement failed has no time.

**The time** is the median of the trials. A trial is what one worker process measured of the kernel on the
problem; its value is the median of its rounds. Rounds of one process share what the process does to a kernel,
and agree far better with one another than two processes do. Of an even number, the median is the geometric
mean of the middle two: what is expected does not depend on how many rounds or trials there are. No round is
left out, and one disturbed trial of three does not decide, nor does one disturbed round of three in a trial.

**Its interval**, at 95 %, is that of the trials themselves, by Student's distribution. One trial does not
show what its process did to the kernel: :data:`~ckprof.model.noise.PROCESS_SIGMA` is assumed.

**Ties.** :class:`RankedSet` gives the logarithm of the ratio to the best an interval; its limits are what the
trials of all kernels together show of the noise (:mod:`ckprof.model.noise`). The best of several kernels that
may be as fast was lucky: its limit is that of the luckiest of so many (Bonferroni). A kernel shares the first
place unless its whole interval lies beyond :data:`TIE`: the noisier the machine, the more do.

**Pruned** are kernels that leave the rounds, by the rule of ties, with the margin of the rounds in place of
:data:`TIE` and at :data:`PRUNING_CONFIDENCE`: :meth:`RankedSet.slower`. One that was pruned stands behind all
that were not and is never tied with the best, whatever later rounds of others say: the machine may have
become slower since.

**Resolved** is the first place if no kernel is faster than the best by more than a tie, at that confidence:
the indifference zone of Bechhofer, "A single-sample multiple decision procedure for ranking means of normal
populations with known variances" (1954). Sweeps end by it, and reports say it: :meth:`RankedSet.resolution`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from statistics import NormalDist, median, stdev
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof.formatting import counted
from ckprof.model.noise import PROCESS_SIGMA, Noise, quantile
from ckprof.model.outcome import Measurement, Outcome, RoundTime, Status
from ckprof.model.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")

#: half the distance of the quartiles, relative to the median, from which a time is called noisy
NOISY_SHARE: Final = 0.05
#: kernels that differ by no more than this share are as fast as each other
TIE: Final = 0.02
#: of the intervals of ratios
CONFIDENCE: Final = 0.95
#: kernels are pruned at this confidence: among thousands of kernels, none of the good ones should
PRUNING_CONFIDENCE: Final = 0.998


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """The time of one kernel on one problem."""

    time_ms: float
    #: half the distance of the quartiles: of the samples of a round, or of the times of the rounds that
    #: count, whichever is larger
    spread_ms: float
    #: every usable round, oldest first, one entry each
    rounds: tuple[RoundTime, ...]
    #: it left the rounds after the latest of its measurements
    pruned: bool = False

    @property
    def statistic(self) -> str:
        """What the time is of what was measured."""
        return f"median of {counted(len(trials_of(self.rounds)), 'trial')}"

    @property
    def interval_ms(self) -> tuple[float, float]:
        """The limits that hold the time at 95 %, as its trials alone show it."""
        return interval_of(trials_of(self.rounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The logarithm of a ratio of times and the range that holds it."""

    estimate: float
    low: float
    high: float
    #: the kernel has left the rounds, which no later round of others takes back
    pruned: bool = False

    @property
    def ratio(self) -> float:
        """The ratio itself."""
        return math.exp(self.estimate)


def kernel_time(measured: Iterable[RoundTime]) -> KernelTime | None:
    """Return the time of a kernel; ``None`` without a positive one.

    :param measured: its verified measurements, oldest first.
    """
    timed = [round_time for round_time in measured if round_time.time_ms > 0]
    if not timed:
        return None
    least = min(round_time.doubtful for round_time in timed)
    rounds = tuple(round_time for round_time in timed if round_time.doubtful == least)
    medians = sorted(round_time.time_ms for round_time in rounds)
    return KernelTime(
        time_ms=middle_of(trials_of(rounds)),
        spread_ms=max(
            median(round_time.spread_ms for round_time in rounds),
            (quantile(medians, 0.75) - quantile(medians, 0.25)) / 2,
        ),
        rounds=rounds,
        pruned=timed[-1].pruned,
    )


def middle_of(times: Iterable[float]) -> float:
    """Return the median of some times, at least one: the geometric mean of two in the middle."""
    ordered = sorted(times)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if len(ordered) % 2 else math.sqrt(low * high)


def trials_of(rounds: Iterable[RoundTime]) -> list[float]:
    """Return the value of each trial, in the unit of the rounds: the median of its rounds."""
    trials: dict[str, list[float]] = {}
    for round_time in rounds:
        trials.setdefault(round_time.trial, []).append(round_time.time_ms)
    return [middle_of(times) for times in trials.values()]


def interval_of(trials: Sequence[float]) -> tuple[float, float]:
    """Return the limits that hold the median of some trials, at least one, at :data:`CONFIDENCE`."""
    count, time = len(trials), middle_of(trials)
    certain = (1 + CONFIDENCE) / 2
    if count == 1:
        reach = _NORMAL.inv_cdf(certain) * PROCESS_SIGMA
    else:
        variance = math.pi / 2 / (count + 0.5)
        reach = t_quantile(certain, count - 1) * stdev(map(math.log, trials)) * math.sqrt(variance)
    return time * math.exp(-reach), time * math.exp(reach)


def summarise(samples_ms: Sequence[float], stopped_by: str, *, keep_samples: bool) -> Measurement:
    """Return the time, which is the median, spread, least and mean of one visit's samples in milliseconds.

    Quartiles between two samples are interpolated linearly.
    """
    ordered = sorted(samples_ms)
    low_ms, high_ms = interval_of([middle_of(ordered)])
    return Measurement(
        time_ms=quantile(ordered, 0.5),
        low_ms=low_ms,
        high_ms=high_ms,
        spread_ms=(quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 2,
        min_ms=ordered[0],
        mean_ms=math.fsum(ordered) / len(ordered),
        samples=len(ordered),
        stopped_by=stopped_by,
        samples_ms=tuple(samples_ms) if keep_samples else (),
    )


def summed_up(
    outcome: Outcome,
    visits: Sequence[tuple[RoundTime, Measurement]],
    stopped_by: Callable[[Sequence[Measurement], Sequence[float]], str],
) -> Outcome:
    """Return the outcome of several visits of a kernel or a baseline, with the samples of rounds that count.

    :param outcome: of the last visit.
    :param visits: the times of all, with their samples.
    :param stopped_by: says of the visits that count, and of their samples, what ended the sampling.
    """
    rounds = tuple(of_round for of_round, _ in visits)
    time = kernel_time(rounds)
    if time is None:
        return outcome
    places = {round_time.place for round_time in time.rounds}
    counted = [measured for of_round, measured in visits if of_round.place in places]
    samples = [sample for measurement in counted for sample in measurement.samples_ms]
    pooled = summarise(samples, stopped_by(counted, samples), keep_samples=True)
    low_ms, high_ms = time.interval_ms
    return replace(
        outcome,
        # near the limit, rounds may differ in their launches
        measurement=replace(
            pooled,
            time_ms=time.time_ms,
            low_ms=low_ms,
            high_ms=high_ms,
            spread_ms=time.spread_ms,
            launches=max(measurement.launches for measurement in counted),
            units=tuple(dict.fromkeys(unit for measurement in counted for unit in measurement.units)),
        ),
        rounds=rounds,
    )


def is_noisy(measured: Measurement | KernelTime) -> bool:
    """Say whether the spread is more than :data:`NOISY_SHARE` of the time."""
    return measured.time_ms > 0 and measured.spread_ms / measured.time_ms > NOISY_SHARE


_NORMAL: Final = NormalDist()
#: of the best to itself
_SELF: Final = Interval(estimate=0.0, low=0.0, high=0.0)


class Order(Enum):
    """How certain it is which kernel of a problem is the fastest."""

    #: the best alone: all others are surely slower by more than a tie
    CLEAR = "clear"
    #: others share the first place, but none is surely missed: the best is within a tie of the fastest
    TIE = "tie"
    #: another kernel may be faster than the best by more than a tie
    OPEN = "open"
    #: there is no other verified kernel
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What is known of the first place."""

    order: Order
    #: kernels that share it, the best included
    first: int
    #: worker processes that measured the best
    processes: int
    #: rounds in all that would decide an open one, about; ``None`` where no number of them would in as many
    #: processes
    rounds: int | None = None

    @property
    def resolved(self) -> bool:
        """False where more measurements may name another best."""
        return self.order is not Order.OPEN


class RankedSet:
    """The kernels of a problem beside each other.

    :param kernels: the fastest first, what was pruned behind the others.
    """

    def __init__(self, kernels: Sequence[KernelTime]) -> None:
        if kernels and kernels[0].pruned:  # what they were slower than has failed since
            kernels = [replace(kernel, pruned=False) for kernel in kernels]
        self.kernels = kernels
        self.noise = Noise([kernel.rounds for kernel in kernels])

    def intervals(
        self, confidence: float = CONFIDENCE, *, process_sigma: float = PROCESS_SIGMA
    ) -> list[Interval]:
        """Return the intervals of the ratios of all kernels to the first one.

        :param process_sigma: standard deviation of what a kernel keeps in a process, where no kernel was
            measured in several.
        """
        if not self.noise.known:
            reach = math.sqrt(2) * _NORMAL.inv_cdf((1 + confidence) / 2) * process_sigma
            others = [_of_samples(kernel, self.kernels[0], reach) for kernel in self.kernels[1:]]
            return [_SELF, *others][: len(self.kernels)]
        error = (1 - confidence) / 2
        alone = self._intervals(error, error, process_sigma)
        near = sum(map(is_tied, alone)) - 1
        # powers of two, so that few quantiles are needed
        return self._intervals(error, error / (1 << near.bit_length()), process_sigma) if near else alone

    def _intervals(self, error: float, lucky: float, process_sigma: float) -> list[Interval]:
        noise, (best, *others) = self.noise, self.noise.tracks
        of_process = noise.of_process(error, process_sigma)
        low = math.hypot(noise.below(best, lucky), of_process)
        high = math.hypot(noise.above(best, error), of_process)
        found = [_SELF]
        for track, kernel in zip(others, self.kernels[1:], strict=True):
            estimate = track.middle - best.middle
            found.append(
                Interval(
                    estimate=estimate,
                    low=estimate - math.hypot(noise.above(track, error), of_process, low),
                    high=estimate + math.hypot(noise.below(track, error), of_process, high),
                    pruned=kernel.pruned,
                )
            )
        return found

    def slower(self, margin: float) -> list[bool]:
        """Say of each kernel whether it is slower than the best by more than a margin: such a one is pruned.

        No kernel with a single round is, and no kernel that is tied with the best, whatever the margin.
        """
        intervals = (replace(interval, pruned=False) for interval in self.intervals(PRUNING_CONFIDENCE))
        return [
            len(kernel.rounds) > 1 and not is_tied(interval, max(margin, TIE))
            for interval, kernel in zip(intervals, self.kernels, strict=True)
        ]

    def resolution(
        self, tie: float = TIE, confidence: float = CONFIDENCE, *, process_sigma: float = PROCESS_SIGMA
    ) -> Resolution:
        """Return what is known of the first place: sweeps end by it, and reports say it."""
        intervals = self.intervals(confidence, process_sigma=process_sigma)
        processes = self.noise.tracks[0].processes if intervals else 0
        if len(intervals) < 2:
            return Resolution(order=Order.ALONE, first=len(intervals), processes=processes)
        first = sum(is_tied(interval, tie) for interval in intervals)
        may_be_faster = -math.log1p(tie)
        unsure = [
            n for n, interval in enumerate(intervals) if interval.low < may_be_faster and not interval.pruned
        ]
        if not unsure:
            order = Order.CLEAR if first == 1 else Order.TIE
            return Resolution(order=order, first=first, processes=processes)
        needed = [self._rounds_for(index, intervals[index], tie, confidence) for index in unsure]
        rounds = None if None in needed else max(count for count in needed if count is not None)
        return Resolution(order=Order.OPEN, first=first, processes=processes, rounds=rounds)

    def _rounds_for(self, index: int, interval: Interval, tie: float, confidence: float) -> int | None:
        """Return how many rounds would show that a kernel is not faster by more than a tie, about."""
        if not self.noise.known:
            return None
        best, track = self.noise.tracks[0], self.noise.tracks[index]
        error = (1 - confidence) / 2
        of_process = math.sqrt(2) * self.noise.of_process(error)
        wanted = (interval.estimate + math.log1p(tie)) ** 2 - of_process**2
        if interval.estimate <= -math.log1p(tie) or wanted <= 0:
            return None
        noise = (interval.estimate - interval.low) ** 2 - of_process**2
        # limits shrink with the square root of the rounds
        return math.ceil(min(best.rounds, track.rounds) * noise / wanted)


def _of_samples(kernel: KernelTime, best: KernelTime, of_process: float) -> Interval:
    """Return the interval of kernels that have one round: the middle halves of samples must be apart.

    :param of_process: by how much their process may move them apart.
    """
    estimate = math.log(kernel.time_ms / best.time_ms)
    reach = math.hypot(sum(side.spread_ms / side.time_ms for side in (kernel, best)), of_process)
    return Interval(estimate=estimate, low=estimate - reach, high=estimate + reach, pruned=kernel.pruned)


def is_tied(interval: Interval, tie: float = TIE) -> bool:
    """Say whether a kernel may be as fast as the best: is tied with it, or the best itself.

    :param interval: of the kernel over the best.
    """
    return interval.low <= math.log1p(tie) and not interval.pruned


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """An outcome and its place."""

    outcome: Outcome
    #: from 1 among the verified ``ok`` outcomes; all that may be as fast as the fastest have 1
    rank: int | None
    #: it shares the first place with a faster one
    tied: bool = False
    #: time divided by that of the best; ``None`` where it is not ranked
    ratio: float | None = None


def time_of(outcome: Outcome) -> KernelTime | None:
    """Return the time of an outcome that may be ranked: verified, ``ok`` and timed."""
    return None if outcome.verification is None else unranked_time_of(outcome)


def unranked_time_of(outcome: Outcome) -> KernelTime | None:
    """Return the time of an outcome that is ``ok`` and timed, also of one that nobody asked to verify.

    Ratios of kernels to baselines are of these.
    """
    measured = outcome.measurement
    if outcome.status is not Status.OK or measured is None:
        return None
    whole = RoundTime(time_ms=measured.time_ms, spread_ms=measured.spread_ms)
    return kernel_time(outcome.rounds or (whole,))


def unranked_ms(outcome: Outcome) -> float | None:
    """Return the time in milliseconds, of a kernel or of a baseline."""
    time = unranked_time_of(outcome)
    return time.time_ms if time is not None else None


def ranked_set_of(outcomes: Iterable[Outcome]) -> tuple[list[Outcome], RankedSet]:
    """Return the outcomes of a problem that may be ranked, the fastest first, and their times."""
    return ranked_set(
        (time, outcome.key, outcome.split_k, outcome)
        for outcome in outcomes
        if (time := time_of(outcome)) is not None
    )


def ranked_set(timed: Iterable[tuple[KernelTime, str, int, T]]) -> tuple[list[T], RankedSet]:
    """Return what has times on a problem, the fastest first, and these times; what was pruned stands behind.

    :param timed: time, content key and splits of a kernel, and what stands for it.
    """
    ordered = sorted(timed, key=lambda entry: (entry[0].pruned, entry[0].time_ms, *entry[1:3]))
    return [entry[3] for entry in ordered], RankedSet([entry[0] for entry in ordered])


def ranking(outcomes: Sequence[Outcome], positions: Mapping[str, int]) -> list[Ranked]:
    """Return the outcomes of a problem, best first: verified ``ok`` by time, then the others.

    Unverified ``ok`` outcomes (``--no-verify``) keep the order of the verified ones among themselves and
    follow them.

    :param positions: content key -> position of the instance, which decides between those without a time.
    """
    timed, kernels = ranked_set_of(outcomes)
    times = [kernel.time_ms for kernel in kernels.kernels]
    first = [is_tied(interval) for interval in kernels.intervals()]
    ranked = []
    for position, index in enumerate(sorted(range(len(timed)), key=lambda number: not first[number]), 1):
        rank, ratio = 1 if first[index] else position, times[index] / times[0]
        tied = first[index] and position > 1
        ranked.append(Ranked(outcome=timed[index], rank=rank, tied=tied, ratio=ratio))
    with_time = {id(outcome) for outcome in timed}
    others = [outcome for outcome in outcomes if id(outcome) not in with_time]
    others.sort(key=lambda outcome: _unranked(outcome, positions))
    return [*ranked, *(Ranked(outcome=outcome, rank=None) for outcome in others)]


def _unranked(outcome: Outcome, positions: Mapping[str, int]) -> tuple[bool, float, int]:
    measured = outcome.measurement if outcome.status is Status.OK else None
    return measured is None, measured.time_ms if measured is not None else 0.0, positions[outcome.key]
