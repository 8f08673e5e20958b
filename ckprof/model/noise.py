"""How far the times of the kernels on a problem may be from the truth, as their trials show it.

Nothing is assumed of the shape of noise: other work makes trials slower by any factor, timers jump, clocks
have two speeds. By how much trials differ from the other trials of their kernel, all kernels taken together,
*is* the distribution of the noise. The time of a kernel is the median of its trials; how far the median of n
values may be from that of the distribution follows from fractional order statistics (Hutson, "Calculating
nonparametric confidence intervals for quantiles using fractional order statistics", 1999).

**What rounds share.** The clock or the load that all kernels of a round see cancels out: the state of a round
is a median over the kernels, shrunk by what few kernels show of it by chance (James and Stein).

**Few trials** say little. Each is compared with the *others* of its kernel, limits are widened as Student's
distribution widens normal ones, and those of a kernel that varies more than the others are wider.

**One process** cannot show what it does to a kernel: where its memory lies, how its code is aligned. Where no
kernel was measured in two, rounds are compared in place of trials, and such factors are taken to be large,
see :data:`PROCESS_SIGMA`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import chain
from statistics import NormalDist, fmean, median
from typing import TYPE_CHECKING, Final

from ckprof.model.student import beta_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.outcome import RoundTime

#: standard deviation of the logarithm of the factor that a kernel may keep for as long as a process runs,
#: where one process measured: what was seen on a machine that is busy in other ways
PROCESS_SIGMA: Final = 0.15
#: at least, on a noisy machine, divided by that of a round
_PROCESS_SHARE: Final = 0.5
#: of the differences between rounds, what tells how noisy the machine is: share, and its normal quantile
_BUSY: Final = (0.8, 1.2816)
#: variance of the median of n normally distributed values, times n and divided by theirs
MEDIAN_VARIANCE: Final = math.pi / 2
#: trials that all kernels add to what a kernel's own ones say of how much it varies
_PRIOR_TRIALS: Final = 5
#: standard deviation of a normal distribution / median of its absolute values
MEDIAN_TO_SIGMA: Final = 1.4826
#: a visit is disturbed where a canary is off by more than this many standard deviations, and than this share
DISTURBED_SIGMAS: Final = 6.0
DISTURBED_SHARE: Final = 0.03
_NORMAL: Final = NormalDist()


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return what that share of some numbers does not exceed; between two of them it is interpolated.

    numpy's functions for it import its masked arrays, which takes longer than many a measurement.

    :param ordered: ascending, at least one.
    :param share: 0 to 1.
    """
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


class Track:
    """The trials of one kernel, as logarithms of times without what rounds share.

    :param whole: trials are compared; else rounds.
    """

    def __init__(
        self, rounds: Sequence[RoundTime], states: Mapping[object, float], *, whole: bool = True
    ) -> None:
        groups: dict[str, list[float]] = defaultdict(list)
        for one in rounds:
            groups[one.trial].append(math.log(one.time_ms) - states.get(one.place, 0.0))
        self.rounds = len(rounds)
        self.processes = len(groups)
        #: what is compared, ascending
        self.logs = sorted(map(median, groups.values()) if whole else chain.from_iterable(groups.values()))
        #: logarithm of the time
        self.middle = median(self.logs)
        #: by how much it varies, divided by how much all kernels do
        self.scale = 1.0

    def differences(self) -> list[float]:
        """Return by how much each trial differs from the fastest other one, with the noise of a single one.

        The fastest is the last that other work disturbs. The variance of the least of n normally distributed
        values is theirs divided by about the root of n.
        """
        if len(self.logs) < 2:
            return []
        first, second, *_ = self.logs
        single = 1 / math.sqrt(1 + 1 / math.sqrt(len(self.logs) - 1))
        return [single * (log - (first if place else second)) for place, log in enumerate(self.logs)]


class Noise:
    """What the trials of all kernels of a problem say of their noise.

    :param kernels: the rounds of each kernel, at least one, one entry per round.
    """

    def __init__(self, kernels: Sequence[Sequence[RoundTime]]) -> None:
        #: kernels were measured in several processes
        self.several = any(len({one.trial for one in rounds}) > 1 for rounds in kernels)
        states = _states(kernels)
        self.tracks = [Track(rounds, states, whole=self.several) for rounds in kernels]
        differences = [track.differences() for track in self.tracks]
        self._differences = sorted(chain.from_iterable(differences))
        middle = median(self._differences) if self._differences else 0.0
        sizes = sorted(abs(difference - middle) for difference in self._differences) or [0.0]
        usual = median(sizes)
        #: standard deviation of the logarithm of one trial's time, whatever few trials far off say
        self.sigma = MEDIAN_TO_SIGMA * usual
        self._busy = quantile(sizes, _BUSY[0]) / _BUSY[1]
        for track, own in zip(self.tracks, differences, strict=True):
            if own and usual > 0:
                more = (median(abs(difference - middle) for difference in own) / usual) ** 2
                track.scale = math.sqrt((_PRIOR_TRIALS + len(own) * more) / (_PRIOR_TRIALS + len(own)))
        self._freedom = sum(len(track.logs) - 1 for track in self.tracks)
        self._found: dict[tuple[float, int, float], float] = {}

    @property
    def known(self) -> bool:
        """False where no kernel has two trials, nor two rounds."""
        return bool(self._differences)

    def above(self, track: Track, probability: float) -> float:
        """Return by how much the logarithm of a time may be too high, but for this probability.

        Where many trials are disturbed, the fastest says best what the time is not below; else their median.
        """
        count, certain = len(track.logs), 1 - probability / 2
        least = track.logs[0] - track.scale * self._excess(1, count, certain)
        half = track.middle - track.scale * self._excess((count + 1) / 2, count, certain)
        return track.middle - max(least, half)

    def below(self, track: Track, probability: float) -> float:
        """Return by how much the logarithm of a time may be too low, but for this probability."""
        count = len(track.logs)
        return -track.scale * self._excess((count + 1) / 2, count, probability)

    def _excess(self, place: float, count: int, probability: float) -> float:
        """Return what one of so many trials in order exceeds the truth by at most, with this probability.

        :param place: in the order, from 1 to the count; between two for the median of an even number.
        """
        key = place, count, probability
        if key not in self._found:
            certain = max(probability, 1 - probability)
            few = t_quantile(certain, self._freedom) / _NORMAL.inv_cdf(certain)
            usual = self._at(place / (count + 1))
            far = self._at(beta_quantile(probability, place, count + 1 - place))
            self._found[key] = few * (far - usual) + usual - self._at(0.5)
        return self._found[key]

    def _at(self, share: float) -> float:
        """Return a quantile of the differences: the i-th of n stands for (i - 0.5) / n, as Hazen has it."""
        ordered, count = self._differences, len(self._differences)
        return quantile(ordered, min(max((share * count - 0.5) / max(1, count - 1), 0.0), 1.0))

    def of_process(self, probability: float, sigma: float = PROCESS_SIGMA) -> float:
        """Return by how much the factor of its process may move a time, but for this probability.

        Nothing where several processes measured: trials show it.

        :param sigma: standard deviation, where trials do not show it.
        """
        if self.several:
            return 0.0
        return max(sigma, _PROCESS_SHARE * self._busy) * _NORMAL.inv_cdf(1 - probability)


def _states(kernels: Sequence[Sequence[RoundTime]]) -> Mapping[object, float]:
    """Return the logarithms of what rounds share, as the kernels tell that have more than half of them."""
    most = max(map(len, kernels), default=0)
    core = [
        [(one.place, math.log(one.time_ms)) for one in rounds if one.place]
        for rounds in kernels
        if 2 * len(rounds) > max(most, 2)
    ]
    core = [logs for logs in core if len(logs) > 1]
    if len(core) < 2:
        return {}
    states: dict[object, float] = {}
    for _ in range(2):
        seen: dict[object, list[float]] = defaultdict(list)
        for logs in core:
            middle = median(log - states.get(place, 0.0) for place, log in logs)
            for place, log in logs:
                seen[place].append(log - middle)
        states = {place: median(some) for place, some in seen.items()}
    shared = [(place, count) for place, some in seen.items() if (count := len(some)) > 1]
    if len(shared) < 2:
        return {}
    mean = fmean(states[place] for place, _ in shared)
    square = fmean((states[place] - mean) ** 2 for place, _ in shared)
    chance = _chance(core, states, count=median(count for _, count in shared), rounds=most)
    weight = max(0.0, 1 - chance / square) if square > 0 else 0.0
    return {place: weight * (states[place] - mean) for place, _ in shared}


def _chance(
    core: Sequence[Sequence[tuple[object, float]]],
    states: Mapping[object, float],
    *,
    count: float,
    rounds: int,
) -> float:
    """Return the variance that states of rounds have by chance.

    :param count: of the kernels in a round.
    """
    sizes: list[float] = []
    for logs in core:
        beside = [log - states[place] for place, log in logs]
        middle = median(beside)
        sizes += [abs(log - middle) for log in beside]
    # states and middles took away a part of the noise of few kernels in few rounds
    taken = count / (count - 1) * rounds / (rounds - 1)
    return (MEDIAN_TO_SIGMA * median(sizes)) ** 2 * taken * MEDIAN_VARIANCE / count
