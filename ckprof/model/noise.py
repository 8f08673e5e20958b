"""How far the times of the kernels on a problem may be from the truth, as their rounds show it.

Nothing is assumed of the shape of noise: other work makes rounds slower by any factor, timers jump, clocks
have two speeds. By how much rounds differ from the other rounds of their kernel, all kernels taken together,
*is* the distribution of the noise. The time of a kernel is a quartile of its rounds; how far a quartile of n
values may be from that of the distribution follows from fractional order statistics (Hutson, "Calculating
nonparametric confidence intervals for quantiles using fractional order statistics", 1999).

**What rounds share.** The clock or the load that all kernels of a round see cancels out: the state of a round
is a quartile over the kernels, shrunk by what few kernels show of it by chance (James and Stein).

**Few rounds** say little. Each is compared with the *others* of its kernel, limits are widened as Student's
distribution widens normal ones, and those of a kernel that varies more than the others are wider.

**Processes.** A kernel keeps a factor of its own in a worker process: where its memory lies, how its code is
aligned. Where kernels ran in several processes, rounds are compared with those of the other processes, and
count as fewer than they are by the design effect of clusters (Kish, "Survey sampling", 1965). One process
cannot show such factors: where no other one measured, they are taken to be large, see :data:`PROCESS_SIGMA`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import chain, pairwise
from statistics import NormalDist, fmean, median
from typing import TYPE_CHECKING, Final

from ckprof.model.student import beta_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.outcome import RoundTime

#: a time is what this share of the rounds does not exceed: three of four rounds may be disturbed
QUARTILE: Final = 0.25
#: standard deviation of the logarithm of the factor that a kernel may keep for as long as a process runs,
#: where one process measured: what was seen on a machine that is busy in other ways
PROCESS_SIGMA: Final = 0.15
#: at least, on a noisy machine, divided by that of a round
_PROCESS_SHARE: Final = 0.5
#: of the differences between rounds, what tells how noisy the machine is: share, and its normal quantile
_BUSY: Final = (0.8, 1.2816)
#: variance of a quartile of n normally distributed values, times n and divided by theirs
_QUARTILE_VARIANCE: Final = 1.86
#: rounds that all kernels add to what a kernel's own ones say of how much it varies
_PRIOR_ROUNDS: Final = 5
#: standard deviation of a normal distribution / median of its absolute values
_MEDIAN_TO_SIGMA: Final = 1.4826
_NORMAL: Final = NormalDist()
#: quantiles of a kernel's rounds that limit its time
_SHARES: Final = (0.0, QUARTILE, 0.5)
#: independent chances that these have together to be wrong
_CHANCES: Final = 2


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


def quartile(ordered: Sequence[float]) -> float:
    """Return the least of some numbers that a quarter of them does not exceed: one of them, nothing between.

    With few rounds what lies between two of them is half disturbed as soon as one of them is.

    :param ordered: ascending, at least one.
    """
    return ordered[(len(ordered) - 1) // 4]


class Track:
    """The rounds of one kernel, as logarithms of times beside the states of the rounds."""

    def __init__(self, rounds: Iterable[RoundTime], states: Mapping[object, float]) -> None:
        #: process -> its rounds
        self.groups: dict[str, list[float]] = {}
        for one in rounds:
            # sessions are different processes, whether or not it is known which ones
            process = one.process or (one.place[0] if one.place else "")
            log = math.log(one.time_ms) - states.get(one.place, 0.0)
            self.groups.setdefault(process, []).append(log)
        #: those of all processes, ascending
        self.logs = sorted(chain.from_iterable(self.groups.values()))
        #: logarithm of the time
        self.middle = quartile(self.logs)
        #: what :data:`_SHARES` of them do not exceed
        self.ends = [quantile(self.logs, share) for share in _SHARES]
        #: by how much it varies, divided by how much all kernels do
        self.scale = 1.0
        #: independent rounds that its rounds are worth
        self.worth = 1.0

    @property
    def rounds(self) -> int:
        """Return how many rounds it has."""
        return len(self.logs)

    def beside_others(self) -> list[float]:
        """Return by how much each round differs from the fastest other one, of other processes if any.

        The fastest is the last that other work disturbs.
        """
        if self.rounds < 2:
            return []
        if len(self.groups) == 1:
            first, second, *_ = self.logs
            single = _single(len(self.logs) - 1)
            return [single * (log - (first if place else second)) for place, log in enumerate(self.logs)]
        found = []
        for process, own in self.groups.items():
            others = [logs for name, logs in self.groups.items() if name != process]
            fastest, count = min(map(min, others)), sum(map(len, others))
            found += [_single(count) * (log - fastest) for log in own]
        return found


class Noise:
    """What the rounds of all kernels of a problem say of their noise.

    :param kernels: the rounds of each kernel, at least one, one entry per round.
    """

    def __init__(self, kernels: Sequence[Sequence[RoundTime]]) -> None:
        states = _states(kernels)
        self.tracks = [Track(rounds, states) for rounds in kernels]
        differences = [track.beside_others() for track in self.tracks]
        self._differences = sorted(chain.from_iterable(differences))
        middle = median(self._differences) if self._differences else 0.0
        sizes = sorted(abs(difference - middle) for difference in self._differences) or [0.0]
        usual = median(sizes)
        #: standard deviation of the logarithm of one round's time, whatever few rounds far off say
        self.sigma = _MEDIAN_TO_SIGMA * usual
        self._busy = quantile(sizes, _BUSY[0]) / _BUSY[1]
        #: of the logarithms of processes' factors; ``None`` where no kernel ran in two
        self.between = _between(self.tracks)
        for track, own in zip(self.tracks, differences, strict=True):
            if own and usual > 0:
                more = (median(abs(difference - middle) for difference in own) / usual) ** 2
                track.scale = math.sqrt((_PRIOR_ROUNDS + len(own) * more) / (_PRIOR_ROUNDS + len(own)))
            track.worth = self._worth(track)
        self._freedom = sum(track.worth - 1 for track in self.tracks)
        self._found: dict[tuple[float, float], tuple[float, float, float]] = {}

    @property
    def known(self) -> bool:
        """False where no kernel has two rounds."""
        return bool(self._differences)

    def _worth(self, track: Track) -> float:
        if not self.between or len(track.groups) < 2:
            return float(track.rounds)
        within = self.between**2 / (self.between**2 + self.sigma**2)
        worth = track.rounds / (1 + (track.rounds / len(track.groups) - 1) * within)
        return round(4 * worth) / 4

    def above(self, track: Track, probability: float) -> float:
        """Return by how much the logarithm of a time may be too high, but for this probability."""
        return track.middle - max(self._limits(track, 1 - probability / _CHANCES))

    def below(self, track: Track, probability: float) -> float:
        """Return by how much the logarithm of a time may be too low, but for this probability."""
        return min(self._limits(track, probability / _CHANCES)) - track.middle

    def _limits(self, track: Track, probability: float) -> tuple[float, float, float]:
        """Return what quantiles of a kernel's rounds say that its true time is, but for this probability."""
        first, second, third = self._excess(track.worth, probability)
        least, quarter, half = track.ends
        scale = track.scale
        return least - scale * first, quarter - scale * second, half - scale * third

    def _excess(self, worth: float, probability: float) -> tuple[float, float, float]:
        """Return by how much quantiles of a kernel's rounds exceed its true time at most.

        Where many rounds are disturbed, the fastest says best what the time is not below; where several
        agree, their median says best what it is not above.
        """
        key = worth, probability
        if key not in self._found:
            certain = max(probability, 1 - probability)
            few = t_quantile(certain, self._freedom) / _NORMAL.inv_cdf(certain)
            true = self._at(QUARTILE)

            def excess(share: float) -> float:
                place = share * (worth - 1) + 1
                usual = self._at(place / (worth + 1))
                far = self._at(beta_quantile(probability, place, worth + 1 - place))
                return few * (far - usual) + usual - true

            least, quarter, half = map(excess, _SHARES)
            self._found[key] = least, quarter, half
        return self._found[key]

    def _at(self, share: float) -> float:
        """Return a quantile of the differences: the i-th of n stands for (i - 0.5) / n, as Hazen has it."""
        ordered, count = self._differences, len(self._differences)
        return quantile(ordered, min(max((share * count - 0.5) / max(1, count - 1), 0.0), 1.0))

    def of_process(self, track: Track, probability: float, sigma: float = PROCESS_SIGMA) -> float:
        """Return by how much the factor of its process may move a time, but for this probability.

        Nothing where several processes measured the kernel: its rounds show it.

        :param sigma: standard deviation where no kernel was measured by several processes.
        """
        if len(track.groups) > 1:
            return 0.0
        known = self.between if self.between is not None else max(sigma, _PROCESS_SHARE * self._busy)
        return known * _NORMAL.inv_cdf(1 - probability)


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
            middle = quantile(sorted(log - states.get(place, 0.0) for place, log in logs), QUARTILE)
            for place, log in logs:
                seen[place].append(log - middle)
        states = {place: quantile(sorted(some), QUARTILE) for place, some in seen.items()}
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
    return (_MEDIAN_TO_SIGMA * median(sizes)) ** 2 * taken * _QUARTILE_VARIANCE / count


def _single(others: int) -> float:
    """Return what differences from the fastest of others are multiplied by to have the noise of one round.

    The variance of the least of n normally distributed values is theirs divided by about the root of n.
    """
    return 1 / math.sqrt(1 + 1 / math.sqrt(others))


def _between(tracks: Sequence[Track]) -> float | None:
    """Return the standard deviation of the factors of processes; ``None`` where no kernel ran in two."""
    several = [track for track in tracks if len(track.groups) > 1]
    if not several:
        return None
    steps = [abs(b - a) for track in tracks for logs in track.groups.values() for a, b in pairwise(logs)]
    within = (_MEDIAN_TO_SIGMA * median(steps)) ** 2 / 2 if steps else 0.0
    distances, expected = [], []
    for track in several:
        ends = [(quantile(sorted(logs), QUARTILE), len(logs)) for logs in track.groups.values()]
        for (first, n), (second, m) in pairwise(ends):
            distances.append(abs(first - second))
            expected.append(_QUARTILE_VARIANCE * within * (1 / n + 1 / m))
    square = (_MEDIAN_TO_SIGMA * median(distances)) ** 2 - median(expected)
    return math.sqrt(max(0.0, square) / 2)
