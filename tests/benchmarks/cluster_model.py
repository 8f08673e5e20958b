"""A discrete-event model of a sweep of 10,000 problems x 3,000 kernels on many devices.

The costs are measured; see :class:`Costs`. Chance is seeded: the same numbers come out every time.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What things cost.

    Measured on one H200 (27,800 attempts in 530 s; 200 problems x 68 kernels with 2.04 attempts each; 54
    kernels compiled in 12.7 s on 16 cores) and by the benchmarks beside this file.
    """

    problems: int = 10_000
    kernels: int = 3_000
    #: attempts per kernel and problem, with rounds that slow kernels leave early
    attempts: float = 2.04
    #: seconds of a device per attempt, operands and reference of the problem included
    attempt_s: float = 0.019
    #: standard deviation of the logarithm of what problems take
    spread: float = 0.8
    #: seconds of a CPU per kernel that is compiled
    compile_s: float = 3.8
    #: bytes of a kernel's object and in the library
    object_bytes: float = 150e3
    #: bytes of an outcome in a shard
    outcome_bytes: float = 2_700.0
    #: outcomes that the coordinator merges per second
    merged_per_s: float = 5_600.0
    #: seconds of the coordinator per unit: planning, encoding, the answer
    hand_out_s: float = 0.025
    #: seconds that a worker needs to start and open the library
    start_s: float = 5.0
    #: bytes per second of the shared folder, and file operations: one sync per outcome
    folder_bytes_per_s: float = 1e9
    folder_syncs_per_s: float = 50_000.0
    #: probability that a worker is lost during a unit
    lost: float = 1e-4


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What it runs on."""

    devices: int
    build_cpus: int
    seed: int = 0
    #: longest first, as the coordinator does, or in the order of the problems
    longest_first: bool = True
    #: the coordinator merges everything before it hands out the next unit, as it must not
    merges_first: bool = False


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out."""

    units: int
    build_s: float
    load_s: float
    #: from the first to the last unit
    run_s: float
    #: until the last outcome is in the store, after the last unit
    merge_after_s: float
    busy: float
    outcomes: float
    #: share of what the shared folder can take
    folder_load: float
    coordinator_load: float

    def figures(self) -> dict[str, float]:
        """Return what a reader wants to see."""
        return {
            "hours of builds": self.build_s / 3600,
            "hours of runs": self.run_s / 3600,
            "share of devices busy": self.busy,
            "hours of merging afterwards": self.merge_after_s / 3600,
            "outcomes": self.outcomes,
            "load of the shared folder": self.folder_load,
            "load of the coordinator by handing out": self.coordinator_load,
        }


def simulate(costs: Costs, fleet: Fleet) -> Result:
    """Play a sweep."""
    chance = random.Random(fleet.seed)
    outcomes = costs.kernels * costs.attempts
    mean_s = outcomes * costs.attempt_s
    units = [
        mean_s * math.exp(chance.gauss(-(costs.spread**2) / 2, costs.spread)) for _ in range(costs.problems)
    ]
    if fleet.longest_first:
        units.sort(reverse=True)
    syncs_per_s = min(fleet.devices / costs.attempt_s, costs.folder_syncs_per_s)
    # a folder that is too slow for all of them makes every attempt slower
    slowdown = fleet.devices / costs.attempt_s / syncs_per_s
    build_s = costs.kernels * costs.compile_s / min(fleet.build_cpus, costs.kernels)
    library = costs.kernels * costs.object_bytes
    load_s = costs.start_s + fleet.devices * library / costs.folder_bytes_per_s
    free = [(load_s * chance.uniform(0.5, 1.0), device) for device in range(fleet.devices)]
    heapq.heapify(free)
    queue = list(reversed(units))
    busy = coordinator = handing = merged_until = 0.0
    end = 0.0
    finished = 0
    while queue:
        now, device = heapq.heappop(free)
        # one process hands out; whoever comes meanwhile waits
        coordinator = max(coordinator, now) + costs.hand_out_s
        handing += costs.hand_out_s
        if fleet.merges_first:
            coordinator += outcomes / costs.merged_per_s
        unit_s = queue.pop() * slowdown
        start = coordinator
        if chance.random() < costs.lost:
            part = unit_s * chance.random()
            queue.insert(len(queue) // 2, unit_s / slowdown)
            busy += part
            heapq.heappush(free, (start + part + 60.0 + costs.start_s, device))
            continue
        finished += 1
        busy += unit_s
        done = start + unit_s
        end = max(end, done)
        merged_until = max(merged_until, start) + outcomes / costs.merged_per_s
        heapq.heappush(free, (done, device))
    return Result(
        units=finished,
        build_s=build_s,
        load_s=load_s,
        run_s=end,
        merge_after_s=max(0.0, merged_until - end),
        busy=busy / slowdown / (fleet.devices * end),
        outcomes=finished * outcomes,
        folder_load=fleet.devices * costs.outcome_bytes / costs.attempt_s / costs.folder_bytes_per_s,
        coordinator_load=handing / end,
    )
