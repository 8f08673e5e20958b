"""A simulated device: kernels with known times, noise between rounds and kernels, and what it cost.

Each pass is a process of its own, which does nothing to kernels.
"""

import math
import random

from ckprof.measure.round_times import Timing


class SimulatedDevice:
    """Measures cells with known times.

    :param times_ms: cell -> true time.
    :param noise: standard deviation of the logarithm of a sample.
    :param bursts: probability that a sample is disturbed, which makes it up to twice as slow.
    """

    def __init__(self, times_ms, *, noise=0.01, bursts=0.0, seed=0, failing=()):
        self.times_ms = dict(times_ms)
        self.noise = noise
        self.bursts = bursts
        self.chance = random.Random(seed)
        self.failing = set(failing)
        self.samples = []
        #: passes that were begun
        self.passes = 0
        #: simulated wall time: as many samples of each kernel
        self.cost_ms = 0.0

    def measure(self, planned):
        self.samples.append(planned)
        if planned.cell in self.failing:
            return None
        time_ms = self.times_ms[planned.cell] * math.exp(self.chance.gauss(0, self.noise))
        if self.chance.random() < self.bursts:
            time_ms *= self.chance.uniform(1.2, 2)
        self.cost_ms += 20 * time_ms
        return Timing(time_ms=time_ms, spread=self.noise / 2, process=str(self.passes))


def samples_of(ranking, device):
    """Yield what is to be measured, visit after visit, until the ranking ends."""
    while ranking.ending is None:
        device.passes += 1
        yield from ranking.visit()


def run(ranking, device, *, most=None):
    """Measure until the ranking ends, or until ``most`` samples; say whether it ended."""
    for number, planned in enumerate(samples_of(ranking, device)):
        if number == most:
            return False
        ranking.record(planned, device.measure(planned))
    return True


def spread_times(count, seed, *, slowest=12.0):
    """Return log-uniform times of kernels: few leaders, many that are far slower."""
    chance = random.Random(seed)
    return {number: math.exp(chance.uniform(0, math.log(slowest))) for number in range(count)}
