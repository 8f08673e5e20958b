"""A simulated device: kernels with known times, noise between rounds and kernels, and what it cost.

Three processes take turns, and do nothing to kernels.
"""

from __future__ import annotations

import math
import random

from ckprof.measure.round_times import Timing


class SimulatedDevice:
    """Measures cells with known times.

    :param times_ms: cell -> true time.
    :param noise: standard deviation of the logarithm of a visit's median.
    :param bursts: probability that a visit is disturbed, which makes it up to twice as slow.
    :param drift: (visit number, factor): from that visit on everything takes that factor.
    """

    def __init__(self, times_ms, *, noise=0.01, bursts=0.0, seed=0, drift=(), failing=()):
        self.times_ms = dict(times_ms)
        self.noise = noise
        self.bursts = bursts
        self.chance = random.Random(seed)
        self.drift = dict(drift)
        self.failing = set(failing)
        self.factor = 1.0
        self.visits = []
        #: simulated wall time: as many samples of each kernel
        self.cost_ms = 0.0

    def measure(self, visit):
        self.factor *= self.drift.get(len(self.visits), 1.0)
        self.visits.append(visit)
        if visit.cell in self.failing:
            return None
        time_ms = self.times_ms[visit.cell] * self.factor * math.exp(self.chance.gauss(0, self.noise))
        if self.chance.random() < self.bursts:
            time_ms *= self.chance.uniform(1.2, 2)
        self.cost_ms += 20 * time_ms
        process = str(visit.round % 3)
        return Timing(time_ms=time_ms, min_ms=time_ms * 0.99, spread=self.noise / 2, process=process)


def run(ranking, device, *, most=None):
    """Measure until the ranking ends, or until ``most`` visits; say whether it ended."""
    for number, visit in enumerate(ranking.visits()):
        if number == most:
            return False
        ranking.record(visit, device.measure(visit))
    return True


def spread_times(count, seed, *, slowest=12.0):
    """Return log-uniform times of kernels: few leaders, many that are far slower."""
    chance = random.Random(seed)
    return {number: math.exp(chance.uniform(0, math.log(slowest))) for number in range(count)}
