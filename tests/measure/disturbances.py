"""Simulated machines that break what statistics assume, and how often rounds on them find the true best.

``python -m tests.measure.disturbances [TRIALS]`` prints it for every machine, also those that were held back.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, replace

from ckprof.measure.options import RunOptions, round_options
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ranking, RoundOptions
from ckprof.model.ranking import is_tied


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """What makes a visit's time differ from the true one. Sizes are standard deviations of logarithms."""

    #: independent from visit to visit
    noise: float = 0.005
    #: share of the visits that something slows down, each by a factor of its own, 1 to 3
    contention: float = 0.0
    #: every visit is slowed down, by up to this share
    slowed: float = 0.0
    #: share of the visits, eight in a row, that something slows down 1.2 to 3 times
    bursts: float = 0.0
    #: of the factor that a kernel has in a process
    sticky: float = 0.0
    #: degrees of freedom of Student's distribution in place of the normal one
    freedom: float = math.inf
    #: of noise of which a visit keeps 0.8
    lasting: float = 0.0
    #: of the steps of a random walk
    walk: float = 0.0
    #: step of the clock in milliseconds, where the fastest kernels take 1 ms
    quantum: float = 0.0
    #: the clock has two speeds that differ by this share; it changes after ten visits or so
    two_speeds: float = 0.0
    #: the noise of kernels differs by up to this factor
    uneven: float = 1.0


CASES = {
    "quiet, 0.3 %": Disturbance(noise=0.003),
    "quiet, 1 %": Disturbance(noise=0.01),
    "noise of 3 %": Disturbance(noise=0.03),
    "10 % of visits disturbed": Disturbance(contention=0.1),
    "20 % of visits disturbed": Disturbance(contention=0.2),
    "40 % of visits disturbed": Disturbance(contention=0.4),
    "the same, noise of 3 %": Disturbance(contention=0.4, noise=0.03),
    "all slower by up to 40 %": Disturbance(slowed=0.4),
    "bursts, 10 % of the time": Disturbance(bursts=0.1),
    "bursts, 40 % of the time": Disturbance(bursts=0.4),
    "heavy tails (t with 2)": Disturbance(noise=0.02, freedom=2),
    "AR(0.8) of 10 %": Disturbance(lasting=0.1),
    "random walk": Disturbance(walk=0.01),
    "timer of 4 %": Disturbance(quantum=0.04),
}
#: what is drawn anew with each process
STICKY = {
    "1.3 % per process": Disturbance(sticky=0.013, noise=0.003),
    "2 % per process": Disturbance(sticky=0.02, noise=0.003),
    "5 % per process": Disturbance(sticky=0.05, noise=0.003),
    "15 % per process": Disturbance(sticky=0.15, noise=0.003),
    "15 % per process, 1 % noise": Disturbance(sticky=0.15, noise=0.01),
    "the same, 40 % disturbed": Disturbance(sticky=0.15, contention=0.4),
}
#: not looked at before the rules were final
HELD_BACK = {
    "held back: two speeds": Disturbance(two_speeds=0.08),
    "held back: uneven noise": Disturbance(noise=0.003, uneven=30),
}


class DisturbedDevice:
    """Gives times of kernels with known ones.

    :param times_ms: cell -> true time.
    """

    def __init__(self, times_ms, by, seed):
        self.times_ms = times_ms
        #: number of the pass
        self.process = 0
        self._by = by
        self._chance = random.Random(f"{seed}/{by}")
        self._lasting = self._chance.gauss(0, by.lasting)
        self._walk = self._busy = 0.0
        self._slow_clock = False
        self._sticky = {}
        uneven = math.log(by.uneven)
        self._noise = {cell: by.noise * math.exp(self._chance.uniform(0, uneven)) for cell in times_ms}
        self.visits = 0

    def measure(self, cell):
        """Return the time of a cell in the present process."""
        by, chance = self._by, self._chance
        self.visits += 1
        process = self.process
        if (cell, process) not in self._sticky:
            self._sticky[cell, process] = chance.gauss(0, by.sticky)
        self._lasting = 0.8 * self._lasting + 0.6 * chance.gauss(0, by.lasting)
        self._walk += chance.gauss(0, by.walk)
        log = self._own(self._noise[cell]) + self._from_others()
        log += self._sticky[cell, process] + self._lasting + self._walk
        time_ms = self.times_ms[cell] * math.exp(log)
        if by.quantum:
            time_ms = max(1, round(time_ms / by.quantum)) * by.quantum
        return Timing(time_ms=time_ms, spread=self._noise[cell] / 2, process=str(process))

    def _own(self, noise):
        by, log = self._by, self._chance.gauss(0, noise)
        if not math.isinf(by.freedom):
            log /= math.sqrt(self._chance.gammavariate(by.freedom / 2, 2) / by.freedom)
        return log + math.log1p(self._chance.uniform(0, by.slowed))

    def _from_others(self):
        by, chance, log = self._by, self._chance, 0.0
        if chance.random() < by.contention:
            log += math.log1p(min(2.0, chance.expovariate(2)))
        if by.bursts:
            share = 1 / 8 if self._busy else by.bursts / (1 - by.bursts) / 8
            if chance.random() < share:
                self._busy = 0.0 if self._busy else math.log(chance.uniform(1.2, 3))
            log += self._busy
        if by.two_speeds:
            self._slow_clock ^= chance.random() < 0.1
            log += by.two_speeds * self._slow_clock
        return log


def play(times_ms, by, options, seed):
    """Visit one problem on a disturbed device, with a new process each time, until its ranking ends."""
    device = DisturbedDevice(times_ms, by, seed)
    ranking = Ranking(list(times_ms), replace(options, seed=seed))
    while ranking.ending is None:
        device.process += 1
        for planned in ranking.visit():
            ranking.record(planned, device.measure(planned.cell))
    return ranking, device


def ranked_set_of(ranking):
    """Return the cells of a ranking, the fastest first, and their times, as a store has them."""
    return ranking._times.ranked_set(ranking.cells)


def first_places(ranking):
    """Return the cells that share the first place, the fastest first."""
    cells, ranked = ranked_set_of(ranking)
    return [cell for cell, lead in zip(cells, ranked.intervals(), strict=True) if is_tied(lead)]


def spread(count, seed, slowest):
    """Return log-uniform times."""
    chance = random.Random(seed)
    return {number: math.exp(chance.uniform(0, math.log(slowest))) for number in range(count)}


#: kernels and rounds of a run and of a sweep, as they are by default and in one process
FIELDS = {
    "run": (round_options(RunOptions()), lambda seed: spread(25, seed, 5)),
    "sweep": (RoundOptions(), lambda seed: spread(40, seed, 12)),
}
ONE_PROCESS = {
    f"{name}, one process": (replace(options, passes=1), times_of)
    for name, (options, times_of) in FIELDS.items()
}


@dataclass(slots=True, kw_only=True)
class Tally:
    """How often rounds found what is true."""

    trials: int = 0
    #: the true best shares the first place
    first: int = 0
    #: it has it for itself, and another kernel has
    alone: int = 0
    wrong: int = 0
    #: it left the rounds
    dropped: int = 0
    #: kernels that share the first place, visits per kernel, rounds
    ties: float = 0.0
    visits: float = 0.0
    rounds: float = 0.0
    #: the best is decided when the rounds end; and that though it is more than 3 % slower than the true one
    decided: int = 0
    wrongly_decided: int = 0


def tally(times_of, by, options, seeds):
    """Run rounds once per seed."""
    found = Tally()
    for seed in seeds:
        times = times_of(seed)
        ranking, device = play(times, by, options, seed)
        first, best = first_places(ranking), min(times, key=times.__getitem__)
        assert ranking.resolution is not None
        found.trials += 1
        found.first += best in first
        found.alone += first == [best]
        found.wrong += len(first) == 1 and first != [best]
        found.dropped += best in ranking.dropped
        found.ties += len(first)
        found.visits += device.visits / len(times)
        found.rounds += ranking.rounds
        found.decided += ranking.resolution.resolved
        found.wrongly_decided += ranking.resolution.resolved and times[first[0]] > 1.03 * times[best]
    return found


def main(trials):
    """Print what rounds find on every machine."""
    for name, (options, times_of) in {**FIELDS, **ONE_PROCESS}.items():
        print(f"{name:28} first % alone %  wrong  ties  dropped  visits  rounds  decided %, wrongly")
        for case, by in {**CASES, **STICKY, **HELD_BACK}.items():
            found = tally(times_of, by, options, range(trials))
            shares = [100 * count / trials for count in (found.first, found.alone)]
            means = [value / trials for value in (found.ties, found.visits, found.rounds)]
            ends = [100 * count / trials for count in (found.decided, found.wrongly_decided)]
            print(
                f"{case:28} {shares[0]:6.1f} {shares[1]:7.1f} {found.wrong:6} {means[0]:6.2f} "
                f"{found.dropped:7} {means[1]:8.2f} {means[2]:7.2f} {ends[0]:8.1f} {ends[1]:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
