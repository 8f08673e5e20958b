"""A search and measuring everything, given the same seconds: a simulation in which only a clock runs.

``python -m plugins.tuning.tests.budget_figures`` prints it for ``plugins/tuning/docs/tune-figures.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ckprof.kernels.units import unit_count
from ckprof.model.outcome import RoundTime
from ckprof.model.ranking import kernel_time
from ckprof_plugins.tuning.options import SearchOptions
from ckprof_plugins.tuning.search.guarantee import GuaranteedSearch
from ckprof_plugins.tuning.search.loop import TuneLoop
from ckprof_plugins.tuning.search.observations import Costs, Observations
from ckprof_plugins.tuning.search.strategy import SearchRequest, StrategySearch
from ckprof_plugins.tuning.tuning import ReplayBench, replay_space
from plugins.tuning.tests.search.conftest import all_strategies, counted, table_of
from plugins.tuning.tests.sizes import forward_sizes

#: finalists of plain measuring are within this share of the best; visits that each gets in addition
NEAR, FURTHER = 0.1, 2
BUDGETS = (10, 20, 30, 60, 120, 300, 600)
#: tables by which the search was made, those that were looked at once when it was finished, and what neither
#: says anything of
SHOWN = ("h200_hopper_fwd_bf16", "gfx950_fwd_bf16_30kernels_even", "h200_fwd_bf16_train")
HELD_OUT = ("gfx950_fwd_bf16_20kernels", "h200_fwd_bf16_unseen")
PROBLEMS = 32


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What building and measuring take."""

    name: str
    #: compilers at once
    jobs: int
    #: seconds of a build without its compilers, of a translation unit without its kernels, and of a kernel
    start_s: float
    unit_s: float
    kernel_s: float
    per_unit: int
    #: seconds of one visit, and standard deviation of its logarithm
    visit_s: float
    noise: float
    overlaps: bool
    #: what the target declares, as a share of what it takes
    declared: float = 1.0

    def costs(self, share=1.0):
        """Return what is declared of a share of the true seconds."""
        return Costs(
            start_s=2.0 * share,
            unit_s=self.unit_s * share,
            kernel_s=self.kernel_s * share,
            jobs=self.jobs,
            per_unit=self.per_unit,
        )

    def compiling_s(self, kernels):
        """Return what compilers take for a build."""
        units = unit_count(kernels, kernels, self.jobs, self.per_unit)
        return -(-units // self.jobs) * (self.unit_s + -(-kernels // units) * self.kernel_s)


#: what an H200 with 16 cores took: 15.7 s for 42 kernels of the rule set hopper, 29.2 s for 106; 28 ms for
#: a visit
H200 = Machine(
    name="H200, 16 cores",
    jobs=14,
    start_s=4.0,
    unit_s=5.0,
    kernel_s=2.7,
    per_unit=12,
    visit_s=0.028,
    noise=0.03,
    overlaps=True,
    declared=0.6,
)
MACHINES = (
    H200,
    replace(H200, name="H200, 16 cores, fast visits", visit_s=0.003),
    replace(H200, name="H200, 2 cores", jobs=1, visit_s=0.01),
    replace(H200, name="CPU, 2 cores", jobs=2, per_unit=1, unit_s=1.0, kernel_s=2.0, overlaps=False),
)


class SimulatedBench(ReplayBench):
    """Measures with noise, and builds in other seconds than were declared."""

    visits = 1 + FURTHER

    def __init__(self, table, request, machine, seed):
        super().__init__(table, request.space, counted(visit_s=machine.visit_s, overlap=machine.overlaps))
        self._machine, self._chance = machine, np.random.default_rng(seed)
        self._visits = {}

    def observations(self):
        observations = Observations(self._space, self._machine.costs(self._machine.declared))
        observations.possible[:] = self.possible
        return observations

    def begin_build(self, kernels):
        seconds = self._machine.start_s + self._machine.compiling_s(len(kernels))
        self._building = len(kernels), self._seconds, self._seconds + seconds

    def end_build(self, costs):
        kernels, began, over = self._building
        self._building = None
        self._seconds = max(self._seconds, over) if self.overlaps else self._seconds + over - began
        units = unit_count(kernels, kernels, self._machine.jobs, self._machine.per_unit)
        size = -(-kernels // units)
        unit_s = self._machine.unit_s + size * self._machine.kernel_s
        costs.saw_build(kernels, over - began, [(size, unit_s)] * units)
        return {}

    def measure(self, pairs, most_s):
        begun = self._seconds
        for pair in pairs:
            if most_s is not None and self._seconds - begun >= most_s:
                return
            yield pair, self.visited(pair, 1)

    def confirm(self, pairs, most_s):
        begun = self._seconds
        for pair in pairs:
            if most_s is not None and self._seconds - begun >= most_s:
                return
            yield pair, self.visited(pair, FURTHER)

    def visited(self, pair, count):
        """Measure a kernel some times, and return its time by all of them."""
        for _ in range(count):
            self._seconds += self._machine.visit_s
            time_ms = float(self._times[pair]) / 1000 * np.exp(self._chance.normal(0.0, self._machine.noise))
            visits = self._visits.setdefault(pair, [])
            visits.append(RoundTime(time_ms=time_ms, spread_ms=0.0, process=str(len(visits))))
        return kernel_time(self._visits[pair])


def share_of_best(bench, log_us):
    """Return best / chosen time, mean over problems; 0 for a problem without a chosen kernel."""
    best = np.where(bench.possible, bench._times, np.inf).min(axis=1)
    chosen = np.where(np.isfinite(log_us), log_us, np.inf).argmin(axis=1)
    taken = bench._times[np.arange(len(best)), chosen]
    return float(np.where(np.isfinite(log_us).any(axis=1), best / taken, 0.0).mean())


def request_for(table, seed=0):
    return SearchRequest(
        space=replay_space(table), gemm_sizes=forward_sizes, element_bytes=2, compute_units=132, seed=seed
    )


def tuned(table, machine, budget_s, seed=0):
    """Return the share of the best that a search finds, and its loop."""
    request = request_for(table, seed)
    bench = SimulatedBench(table, request, machine, seed)
    options = SearchOptions(budget_s=budget_s)
    loop = TuneLoop(bench.observations(), bench, options)
    strategy = StrategySearch(all_strategies(), "model", request)
    loop.run(GuaranteedSearch(strategy, request.forecaster, options))
    return share_of_best(bench, loop.observations.log_us), loop


def brute_force(table, machine, budget_s, seed=0):
    """Build everything, visit each pair once, kernels in random order, and the nearest ones again."""
    request = request_for(table, seed)
    bench = SimulatedBench(table, request, machine, seed)
    bench._seconds = machine.start_s + machine.compiling_s(len(request.space.kernels))
    log_us = np.full(request.space.shape, np.nan)
    chance = np.random.default_rng(seed)
    pairs = [
        (problem, int(choice))
        for choice in chance.permutation(request.space.shape[1])
        for problem in chance.permutation(request.space.shape[0]).tolist()
        if bench.possible[problem, choice]
    ]

    def visit(pair, count):
        if bench.seconds() < budget_s:
            time = bench.visited(pair, count)
            log_us[pair] = np.log(1000 * time.time_ms)

    for pair in pairs:
        visit(pair, 1)
    if bench.seconds() < budget_s:
        near = log_us < np.nanmin(log_us, axis=1, keepdims=True) + np.log1p(NEAR)
        for problem, choice in zip(*np.nonzero(near), strict=True):
            visit((int(problem), int(choice)), FURTHER)
    return share_of_best(bench, log_us)


def some_problems(name):
    """Return a table with every n-th problem, so that there are as many."""
    table = table_of(name)
    step = max(1, len(table.problems) // PROBLEMS)
    return table.subset(tuple(range(0, len(table.problems), step))[:PROBLEMS])


def main():
    """Print a row for each machine and table, and a column for each budget."""
    print("| machine | table | | " + " | ".join(f"{budget} s" for budget in BUDGETS) + " |")
    print("| --- | --- | --- |" + " --- |" * len(BUDGETS))
    for name in (*SHOWN, *HELD_OUT):
        table = some_problems(name)
        for machine in MACHINES:
            found = [tuned(table, machine, budget)[0] for budget in BUDGETS]
            plain = [brute_force(table, machine, budget) for budget in BUDGETS]
            for what, shares in (("tune", found), ("everything", plain)):
                figures = " | ".join(f"{share:.3f}" for share in shares)
                print(f"| {machine.name} | {name} | {what} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
