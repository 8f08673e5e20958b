"""A discrete-event model of a sweep of 10,000 problems x 3,000 kernels on many devices.

``python -m plugins.cluster.tests.benchmarks.cluster_model`` prints what it assumes, what comes out, and where
each assumption breaks the goal: 85 % of 5,000 devices busy. Which problems are sharded, in how many
parts, and what is handed out next, follows from :mod:`ckprof_plugins.cluster.sharding` and
:mod:`ckprof_plugins.cluster.sharding` themselves. Chance is seeded: the same numbers come out every time.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, field, fields, replace

from ckprof.measure.rounds import RoundOptions
from ckprof_plugins.cluster.folder import LeasePolicy
from ckprof_plugins.cluster.screening import part_rounds
from ckprof_plugins.cluster.sharding import (
    LEAD_KERNELS,
    ShardSchedule,
    expected_last,
    narrows,
    part_size,
    parts_of,
    remaining_s,
)

GOAL = 0.85
#: shorter jobs are not modelled
LEAST_WALLTIME_S = 600


def assumed(value: float, text: str) -> float:
    """Return a field of the costs: what it stands for, with its source."""
    return field(default=value, metadata={"text": text})


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What things cost.

    Measured on one H200 (27,800 attempts in 530 s; 200 problems x 68 kernels with 2.04 attempts each; 54
    kernels compiled in 12.7 s on 16 cores), by the benchmarks beside this file, or assumed.
    """

    problems: int = assumed(10_000, "problems")
    kernels: int = assumed(3_000, "kernels that compete on each")
    attempts: float = assumed(2.04, "attempts per kernel and problem (measured: H200)")
    attempt_s: float = assumed(
        0.019, "s of a device per attempt, its share of operands included (measured: H200)"
    )
    spread: float = assumed(0.8, "standard deviation of the logarithm of what problems take (assumed)")
    guess: float = assumed(0.5, "the same of that time sharded by what their FLOPs say (assumed)")
    finalists: float = assumed(
        0.05, "share of the kernels of a sharded problem that its parts leave (assumed)"
    )
    tied: float = assumed(
        0.05,
        "share that cannot be left out between devices: within 7 % of the best (simulated: 0.03 to 0.08)",
    )
    narrowed: float = assumed(
        0.45, "share of what is left beyond that which is left when it runs in parts again (simulated)"
    )
    final_attempts: float = assumed(4.0, "attempts of each of them (assumed)")
    prepare_attempts: float = assumed(
        10.0, "attempts that the operands of a further unit take the time of (assumed)"
    )
    compile_s: float = assumed(3.8, "s of a CPU per kernel that is compiled (measured)")
    object_bytes: float = assumed(150e3, "bytes of a kernel in the library (measured: H200)")
    outcome_bytes: float = assumed(2_700.0, "bytes of an outcome in a shard (measured)")
    copied_per_s: float = assumed(
        140_000.0, "outcomes per second that the coordinator copies from partial stores (measured)"
    )
    read_per_s: float = assumed(9_000.0, "outcomes per second that a process reads of shards (measured)")
    readers: float = assumed(16, "such processes (assumed)")
    plan_s: float = assumed(
        1.3e-3, "s of the coordinator per problem before the first one is handed out (measured)"
    )
    hand_out_s: float = assumed(
        0.5e-3, "s of the coordinator per unit (0.23 ms measured; the engine's share is assumed)"
    )
    turn_s: float = assumed(0.3, "s between looks at answers, while shards are merged (measured)")
    start_s: float = assumed(
        5.0, "s until a worker has opened device and library, and checked its device (assumed)"
    )
    gpus_per_host: int = assumed(8, "devices of a host; its workers share one copy of the library (assumed)")
    gpus_per_job: int = assumed(32, "devices of a job of the scheduler (assumed)")
    folder_bytes_per_s: float = assumed(
        50e9, "bytes per second of the shared folder (assumed: parallel file system)"
    )
    host_bytes_per_s: float = assumed(1e9, "bytes per second of one host from there (assumed)")
    folder_syncs_per_s: float = assumed(50_000.0, "synchronised writes per second that it takes (assumed)")
    sync_s: float = assumed(1.0, "s between synchronised writes of a worker; 0: one per outcome (the code's)")
    queue_s: float = assumed(60.0, "mean s that jobs begin after the first one (assumed)")
    walltime_s: float = assumed(4 * 3600.0, "s after which the scheduler ends a job (assumed)")
    mtbf_h: float = assumed(100.0, "hours of a device between two losses of its worker (assumed)")
    silence_s: float = assumed(
        60.0, "s until the loss of a worker is noticed, and another one started (assumed)"
    )
    doubt_s: float = assumed(
        1.25 * LeasePolicy().doubt_s,
        "s of silence until a device that has nothing to do begins with the same unit (the code's)",
    )

    def __post_init__(self) -> None:
        """:raises ValueError: jobs end before the model can say anything about them."""
        if self.walltime_s < LEAST_WALLTIME_S:
            raise ValueError(
                f"jobs of {self.walltime_s:g} s are not modelled, expected {LEAST_WALLTIME_S} s or more: "
                "units would end with their jobs again and again"
            )


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What it runs on."""

    devices: int
    build_cpus: int = 0
    seed: int = 0
    #: problems are sharded, as the coordinator does, or not
    divides: bool = True


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out."""

    problems: int
    units: int
    sharded: int
    build_s: float
    #: from the first job to the last unit
    run_s: float
    #: until the last outcome is in the store, after the last unit
    merge_after_s: float
    #: share of the devices' time, from the begin of their jobs on, in which they measure
    busy: float
    #: the same without what is measured because problems are sharded or workers were lost
    useful: float
    outcomes: float
    #: shares of what the shared folder and the coordinator can take
    folder_load: float
    coordinator_load: float

    def figures(self) -> dict[str, float]:
        """Return what a reader wants to see."""
        return {
            "hours of builds": self.build_s / 3600,
            "hours of runs": self.run_s / 3600,
            "units": self.units,
            "problems that are sharded": self.sharded,
            "share of devices busy": self.busy,
            "share of devices busy with what one device would do": self.useful,
            "hours of merging afterwards": self.merge_after_s / 3600,
            "outcomes": self.outcomes,
            "load of the shared folder": self.folder_load,
            "load of the coordinator": self.coordinator_load,
        }


@dataclass(frozen=True)
class _Unit:
    problem: int
    #: seconds of a device
    seconds: float
    #: ``whole``, ``lead``, ``part`` or ``final``
    kind: str
    kernels: int


class _Model:
    def __init__(self, costs: Costs, fleet: Fleet) -> None:
        self.costs, self.fleet = costs, fleet
        self.chance = random.Random(fleet.seed)
        outcomes = costs.kernels * costs.attempts
        mean_s = outcomes * costs.attempt_s
        self.whole_s = [
            mean_s * math.exp(self.chance.gauss(-(costs.spread**2) / 2, costs.spread))
            for _ in range(costs.problems)
        ]
        efforts = [time_s * math.exp(self.chance.gauss(0, costs.guess)) for time_s in self.whole_s]
        one = [1] * costs.problems
        kernels = [costs.kernels] * costs.problems
        self.parts = parts_of(efforts, kernels, fleet.devices) if fleet.divides else one
        self.efforts = efforts
        #: kernels that ran in parts again
        self.before = [0] * costs.problems
        order = sorted(range(costs.problems), key=lambda problem: -efforts[problem])
        syncs = fleet.devices / (costs.sync_s or costs.attempt_s)
        data = fleet.devices * costs.outcome_bytes / costs.attempt_s
        # a folder that is too slow for all of them makes every attempt slower
        self.folder_load = max(syncs / costs.folder_syncs_per_s, data / costs.folder_bytes_per_s)
        self.slowdown = max(1.0, self.folder_load)
        units = [self._first(problem) for problem in order]
        self.schedule = ShardSchedule(
            [unit for unit in units if unit.kind == "lead"],
            [(efforts[unit.problem], unit) for unit in units if unit.kind == "whole"],
        )
        self.flying_parts = [0] * costs.problems
        self.rounds = part_rounds(RoundOptions()).max_rounds
        self.units = self.done = 0
        self.busy = self.coordinator = self.handing = 0.0
        self.outcomes = 0.0

    def _attempts(self, problem: int, attempts: float) -> float:
        """Return the seconds of some attempts on a problem."""
        each = self.whole_s[problem] / (self.costs.kernels * self.costs.attempts)
        return attempts * each * self.slowdown

    def _first(self, problem: int) -> _Unit:
        costs = self.costs
        if self.parts[problem] == 1:
            return _Unit(problem, self.whole_s[problem] * self.slowdown, "whole", costs.kernels)
        attempts = LEAD_KERNELS * costs.attempts + costs.prepare_attempts
        return _Unit(problem, self._attempts(problem, attempts), "lead", LEAD_KERNELS)

    def _after(self, unit: _Unit) -> list[_Unit]:
        """Return what can be handed out once a unit is finished."""
        costs, problem = self.costs, unit.problem
        if unit.kind == "lead":
            self.parts[problem] = self.schedule.pace.corrected(
                self.parts[problem], self.whole_s[problem], self.efforts[problem]
            )
            return self._deal(problem, costs.kernels - LEAD_KERNELS, costs.attempts)
        if unit.kind == "part":
            self.flying_parts[problem] -= 1
            return [] if self.flying_parts[problem] else self._after_parts(problem)
        self.done += 1
        return []

    def _after_parts(self, problem: int) -> list[_Unit]:
        costs = self.costs
        tied = min(costs.tied, costs.finalists)
        share = costs.finalists
        if self.before[problem]:
            share = tied + costs.narrowed * (self.before[problem] / costs.kernels - tied)
        left = round(share * costs.kernels)
        if narrows(left, self.before[problem], costs.kernels, self.parts[problem]):
            self.before[problem] = left
            # nobody among them leaves early
            return self._deal(problem, left, self.rounds)
        attempts = left * costs.final_attempts + costs.prepare_attempts
        return [_Unit(problem, self._attempts(problem, attempts), "final", left)]

    def _deal(self, problem: int, kernels: int, each: float) -> list[_Unit]:
        """Return the parts of some kernels of a problem, as :class:`ShardedProblem` deals them."""
        costs = self.costs
        parts = math.ceil(kernels / part_size(costs.kernels, self.parts[problem]))
        # the anchor at the beginning of each round, and among the others
        attempts = kernels / parts * each + 3 * self.rounds + costs.prepare_attempts
        self.flying_parts[problem] = parts
        unit = _Unit(problem, self._attempts(problem, attempts), "part", math.ceil(kernels / parts))
        return [unit] * parts

    def _put(self, unit: _Unit) -> None:
        """Have a unit handed out when its turn comes, as :class:`UnitQueue` does."""
        last = expected_last(self.costs.kernels)
        own, last = (unit.kernels, last) if unit.kind == "part" else (0, unit.kernels)
        self.schedule.put(unit, remaining_s(self._attempts(unit.problem, 1.0), own, last))

    def _doubted(self, silent: dict[int, tuple[_Unit, float]], now: float) -> _Unit | None:
        """Return what a device that has nothing to do begins with, in case; the lost worker never answers."""
        for name, (unit, since) in silent.items():
            if now >= since + self.costs.doubt_s:
                del silent[name]
                return unit
        return None

    def run(self) -> Result:
        costs, fleet = self.costs, self.fleet
        library = costs.kernels * costs.object_bytes
        folder_free = 0.0
        #: (time, number, device or unit)
        events: list[tuple[float, int, str, int]] = []
        number = 0
        begins, ends = [0.0] * fleet.devices, [math.inf] * fleet.devices
        held = 0.0

        def push(time_s: float, kind: str, what: int) -> None:
            nonlocal number
            number += 1
            heapq.heappush(events, (time_s, number, kind, what))

        hosts: dict[int, float] = {}
        for job in range(0, fleet.devices, costs.gpus_per_job):
            wait = self.chance.expovariate(1 / costs.queue_s) if job and costs.queue_s else 0.0
            for device in range(job, min(job + costs.gpus_per_job, fleet.devices)):
                begins[device], ends[device] = wait, wait + costs.walltime_s
        order = sorted(range(fleet.devices), key=lambda device: begins[device])
        for device in order:
            host = device // costs.gpus_per_host
            if host not in hosts:
                folder_free = max(folder_free, begins[device]) + library / costs.folder_bytes_per_s
                hosts[host] = max(folder_free, begins[device] + library / costs.host_bytes_per_s)
            push(hosts[host] + costs.start_s, "free", device)
        # the first worker says what device it is, then everything is planned
        self.coordinator = events[0][0] + costs.plan_s * costs.problems
        sent: dict[int, tuple[_Unit, float]] = {}
        idle: deque[int] = deque()
        now = end = 0.0
        later: dict[int, list[_Unit]] = {}
        #: what lost workers had in hand -> when they fell silent
        silent: dict[int, tuple[_Unit, float]] = {}
        while self.done < costs.problems:
            now, _, kind, what = heapq.heappop(events)
            if kind == "free":
                idle.append(what)
            elif kind == "ready":
                for unit in later.pop(what):
                    self._put(unit)
            elif kind == "noticed":
                if what in silent:
                    self.schedule.put_first(silent.pop(what)[0])
            elif kind == "done":
                unit, start = sent.pop(what)
                self.busy += now - start
                self.outcomes += (now - start) / self._attempts(unit.problem, 1.0)
                end = max(end, now)
                following = self._after(unit)
                if following:
                    later[number] = following
                    push(now + costs.turn_s, "ready", number)
                idle.append(what)
            elif kind == "lost":
                unit, start = sent.pop(what)
                self.busy += now - start
                name = number
                silent[name] = unit, now
                push(now + costs.doubt_s, "doubted", name)
                push(now + costs.silence_s, "noticed", name)
                if now >= ends[what]:
                    held += now - begins[what]
                    begins[what] = now + (
                        self.chance.expovariate(1 / costs.queue_s) if costs.queue_s else 0.0
                    )
                    ends[what] = begins[what] + costs.walltime_s
                    push(begins[what] + costs.start_s, "free", what)
                else:
                    push(now + costs.silence_s + costs.start_s, "free", what)
            while idle and (unit := self.schedule.pop() or self._doubted(silent, now)) is not None:
                device = idle.popleft()
                self.coordinator = max(self.coordinator, now) + costs.hand_out_s
                self.handing += costs.hand_out_s
                start, self.units = self.coordinator, self.units + 1
                if unit.seconds > costs.walltime_s:
                    raise ValueError(f"a unit of {unit.seconds:.0f} s never ends within walltime_s")
                over = start + unit.seconds
                fails = start + self.chance.expovariate(1 / (3600 * costs.mtbf_h))
                sent[device] = unit, start
                cut = min(fails, max(start, ends[device]))
                push(min(over, cut), "done" if over <= cut else "lost", device)
        held += sum(max(0.0, end - begin) for begin in begins)
        useful = sum(self.whole_s) * self.slowdown
        outcomes = self.outcomes
        # handing out comes first
        left = max(0.0, 1 - self.handing / end)
        merged_per_s = min(costs.copied_per_s * left, costs.read_per_s * costs.readers)
        return Result(
            problems=self.done,
            units=self.units,
            sharded=sum(parts > 1 for parts in self.parts),
            build_s=costs.kernels * costs.compile_s / min(fleet.build_cpus or 64, costs.kernels),
            run_s=end,
            merge_after_s=max(0.0, outcomes / merged_per_s - end),
            # what the folder holds up is no measuring
            busy=self.busy / self.slowdown / held,
            useful=useful / self.slowdown / held,
            outcomes=outcomes,
            folder_load=self.folder_load,
            coordinator_load=self.handing / end,
        )


def simulate(costs: Costs, fleet: Fleet) -> Result:
    """Play a sweep."""
    return _Model(costs, fleet).run()


#: assumption -> values that are tried with 5,000 devices, one assumption at a time
BREAKS: dict[str, tuple[float, ...]] = {
    "guess": (0.0, 1.0),
    "finalists": (0.02, 0.1, 0.33),
    "prepare_attempts": (50,),
    "folder_bytes_per_s": (1e9, 5e9),
    "folder_syncs_per_s": (1_000,),
    "sync_s": (0.0,),
    "start_s": (30,),
    "plan_s": (10e-3,),
    "hand_out_s": (1e-3, 5e-3),
    "queue_s": (0, 600),
    "walltime_s": (600,),
    "mtbf_h": (10, 1e6),
    "problems": (40_000,),
}


def main() -> None:
    """Print assumptions, results and limits."""
    costs = Costs()
    print("assumptions")
    for item in fields(costs):
        print(f"  {item.name:20} {getattr(costs, item.name):>12g}  {item.metadata['text']}")
    print(
        f"\n{'devices':>8} {'spread':>7} {'busy':>7} {'useful':>7} {'whole':>7} {'hours':>7} {'units':>8} "
        f"{'folder':>7} {'coord.':>7} {'merging':>8}"
    )
    for devices in (100, 512, 1000, 5000):
        for spread in (0.8, 1.2, 1.6):
            changed = replace(costs, spread=spread)
            found = simulate(changed, Fleet(devices=devices))
            whole = simulate(changed, Fleet(devices=devices, divides=False))
            print(
                f"{devices:8} {spread:7} {found.busy:7.1%} {found.useful:7.1%} {whole.busy:7.1%} "
                f"{found.run_s / 3600:7.2f} {found.units:8} {found.folder_load:7.1%} "
                f"{found.coordinator_load:7.1%} {found.merge_after_s / 60:4.0f} min"
            )
    print("\n5,000 devices busy, by seed; * below the goal of 85 %")
    for name, changed in (("as above", costs), ("finalists 0.33", replace(costs, finalists=0.33))):
        shares = [simulate(changed, Fleet(devices=5000, seed=seed)).busy for seed in range(10)]
        cells = (f"{share:.1%}{'*' if share < GOAL else ''}" for share in shares)
        print(f"  {name:20} {',  '.join(cells)}; mean {sum(shares) / len(shares):.1%}")
    print("\n5,000 devices busy, one assumption changed at a time; * below the goal of 85 %")
    for name, values in BREAKS.items():
        shares = [simulate(replace(costs, **{name: value}), Fleet(devices=5000)).busy for value in values]
        cells = (
            f"{value:g}: {share:.1%}{'*' if share < GOAL else ''}"
            for value, share in zip(values, shares, strict=True)
        )
        print(f"  {name:20} {',  '.join(cells)}")


if __name__ == "__main__":
    main()
