"""A simulated machine that has other work for a while, and two ways to measure kernels on it."""

import math
import random
from statistics import quantiles
from types import SimpleNamespace

from ckprof.measure.options import RunOptions, round_options, round_timing
from ckprof.measure.rounds import KernelConfiguration, Ranking
from ckprof.measure.rounds_loop import KernelGroup
from ckprof.measure.run_outcomes import RunRounds
from ckprof.model.device import Reading
from ckprof.model.outcome import MAX_TIME, Outcome, Status, Verification
from ckprof.model.ranking import ranking, summarise
from ckprof.session import ignore


class BusyMachine:
    """Gives samples of kernels with known times; every sample takes its time.

    :param seed: of the phases and of the noise.
    :param calm_s: mean length of the phases without other work in seconds; busy ones are half as long.
    """

    def __init__(self, seed, *, calm_s=4.0, noise=0.03):
        self.chance = random.Random(seed)
        self.calm_s = calm_s
        self.noise = noise
        self.now_s = 0.0
        self.phase_end_s = 0.0
        self.factor = 1.0

    def sample_ms(self, time_ms):
        while self.now_s >= self.phase_end_s:
            busy = self.factor == 1.0
            self.factor = self.chance.uniform(1.5, 3.0) if busy else 1.0
            mean_s = self.calm_s / 2 if busy else self.calm_s
            self.phase_end_s += self.chance.expovariate(1 / mean_s)
        found = time_ms * self.factor * math.exp(abs(self.chance.gauss(0, self.noise)))
        self.now_s += found / 1e3 + 2e-3
        return found

    def samples_ms(self, time_ms, budget_s, fewest):
        end, found = self.now_s + budget_s, []
        while self.now_s < end or len(found) < fewest:
            found.append(self.sample_ms(time_ms))
        return found


def in_turn(times, machine):
    """Measure one kernel after the other; return the order, and who shares the first place."""
    options = RunOptions()
    found = {}
    for name, time_ms in times.items():
        samples = machine.samples_ms(time_ms, options.max_time_s, 3)
        first, middle, third = quantiles(samples, n=4)
        found[name] = middle, (third - first) / 2
    order = sorted(found, key=lambda name: found[name][0])
    best = found[order[0]]
    return order, {name for name in order if found[name][0] - found[name][1] <= best[0] + best[1]}


def in_rounds(times, machine):
    """Measure as ``ckprof run`` does; return the order, and who shares the first place."""
    options = RunOptions()
    group = KernelGroup(
        problem=None,
        problem_index=0,
        kernels={name: SimpleNamespace(name=name, shown=name) for name in times},
        ranking=Ranking([KernelConfiguration(name, 1) for name in times], round_options(options)),
        timing=round_timing(options, once=False),
    )
    run = RunRounds(SimulatedBench(times, machine), options, ignore)
    positions = {name: number for number, name in enumerate(times)}
    found = ranking(list(run.outcomes([group])), positions)
    return [one.outcome.key for one in found], {one.outcome.key for one in found if one.rank == 1}


class SimulatedBench:
    """Measures on a simulated machine, in place of a worker."""

    def __init__(self, times, machine):
        self.process = 0
        self.seen = set()
        self.times = times
        self.machine = machine

    def open_group(self, group):
        pass

    def new_process(self):
        self.process += 1

    def observe(self):
        return Reading()

    def measure(self, group, planned):
        key = planned.cell.instance
        timing = group.timing[key in self.seen]
        self.seen.add(key)
        samples = self.machine.samples_ms(self.times[key], timing.max_time_s, timing.fewest_samples)
        return Outcome(
            key=key,
            problem_index=group.problem_index,
            status=Status.OK,
            measurement=summarise(samples, MAX_TIME, keep_samples=True),
            verification=Verification(max_error=0, wrong_elements=0, elements=1, rtol=0, atol=0),
        )


def agreement(first, second, top=5):
    """Return the share of the first ``top`` of each order that the other has there too, or tied."""
    hits = 0
    for (order, _), (other, tied) in ((first, second), (second, first)):
        hits += sum(name in other[:top] or name in tied for name in order[:top])
    return hits / (2 * top)
