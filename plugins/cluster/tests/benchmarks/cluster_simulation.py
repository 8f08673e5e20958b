"""Plays a sweep on many devices: problems, an engine and devices as they are assumed, event by event.

What is handed out when, in which parts, what is copied, and what is taken from a worker whose kernel hangs is
decided by :mod:`ckprof_plugins.cluster.dispatch`, :mod:`ckprof_plugins.cluster.units` and
:mod:`ckprof_plugins.cluster.sharding` themselves. Chance is seeded: the same numbers come out every time.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from ckprof.measure.rounds import RoundOptions
from ckprof_plugins.cluster.devices import Counters
from ckprof_plugins.cluster.dispatch import Dispatcher, InFlight
from ckprof_plugins.cluster.folder import LeasePolicy, LeaseTable
from ckprof_plugins.cluster.messages import Anchor, End, Reply, Unit
from ckprof_plugins.cluster.screening import part_rounds
from ckprof_plugins.cluster.sharding import ShardedProblem, parts_of
from ckprof_plugins.cluster.units import ClusterWatch, OpenUnit, UnitQueue
from plugins.cluster.tests.benchmarks.cluster_costs import Costs, Result

#: coprime to the number of kernels
_STRIDE = 1811


class _Visit(NamedTuple):
    """What is left of an attempt."""

    cell: int
    device_id: str


class _Problem(ShardedProblem):
    """A sharded problem of which assumptions say what its parts leave.

    :param costs: how much that is.
    :param ranks: kernel -> its place among all, as a share.
    """

    costs: Costs
    ranks: list[float]

    def left(self):
        """Return the share of all kernels that the parts that are out leave."""
        costs = self.costs
        if not self._narrowed:
            return costs.finalists
        tied = min(costs.tied, costs.finalists)
        return tied + costs.narrowed * (self._narrowed / len(self.cells) - tied)

    def _compared(self):
        if not self.visits:
            return set(), None
        left, ranks = self.left(), self.ranks
        stay = [visit.cell for visit in self.visits]
        best = min(stay, key=ranks.__getitem__)
        return {cell for cell in stay if ranks[cell] > left} - {best}, Anchor(cell=best, time_ms=1.0)


class _Leases(LeaseTable):
    """Leases without a journal."""

    def _note(self, line):
        pass


class _Run:
    """A task on a device."""

    def __init__(self, sent, device, start, cut):
        self.sent, self.device, self.start, self.cut = sent, device, start, cut
        #: seconds until each kernel that hangs, with that kernel, and after the last one
        self.steps = []
        self.silent_since = None
        self.is_split = False
        self.attempts = 0.0


class Cluster:
    """Plans, an engine and devices; what is handed out when is decided by the code of ckprof."""

    def __init__(self, costs, fleet):
        self.costs, self.fleet = costs, fleet
        self.chance = chance = random.Random(fleet.seed)
        mean_s = costs.kernels * costs.attempts * costs.attempt_s
        self.whole_s = [
            mean_s * math.exp(chance.gauss(-(costs.spread**2) / 2, costs.spread))
            for _ in range(costs.problems)
        ]
        efforts = [time_s * math.exp(chance.gauss(0, costs.guess)) for time_s in self.whole_s]
        kernels = tuple(range(costs.kernels))
        # neighbours are dealt to different parts, so that each gets some of the fastest
        ranks = [number * _STRIDE % costs.kernels / costs.kernels for number in kernels]
        self.ranks, self.problems = ranks, {}
        #: problem -> kernels that hang, and those of them that are known to
        self.hung = [set() for _ in range(costs.problems)]
        self.hanging = [
            {chance.randrange(costs.kernels) for _ in range(self._poisson(costs.kernels * costs.hanging))}
            for _ in range(costs.problems)
        ]
        each = sum(efforts) / fleet.devices
        parts = [1] * costs.problems
        if fleet.divides:
            parts = parts_of(efforts, [costs.kernels] * costs.problems, fleet.devices)
        order = sorted(range(costs.problems), key=lambda problem: -efforts[problem])
        unit = Unit(id="", problem=None, problem_index=0, types=None, layout="", splits=(1,))
        units = [
            OpenUnit(
                unit=replace(unit, id=str(problem), problem_index=problem),
                planned=SimpleNamespace(
                    ranking=SimpleNamespace(active=kernels, cells=kernels, remaining_samples=1),
                    problem=SimpleNamespace(real_flop=efforts[problem] / each * 1e15),
                ),
            )
            for problem in order
        ]
        # a folder that is too slow for all of them makes every attempt slower
        syncs = fleet.devices / (costs.sync_s or costs.attempt_s)
        data = fleet.devices * costs.outcome_bytes / costs.attempt_s
        self.folder_load = max(syncs / costs.folder_syncs_per_s, data / costs.folder_bytes_per_s)
        self.slowdown = max(1.0, self.folder_load)
        self.speed = [math.exp(chance.gauss(0, costs.device_spread)) for _ in range(fleet.devices)]
        self.rounds = part_rounds(RoundOptions()).max_rounds
        work = SimpleNamespace(
            units=units,
            parts=[parts[problem] for problem in order],
            plans=self,
            leases=LeasePolicy(),
            timeout_s=costs.timeout_s,
            devices=fleet.devices,
        )
        self.sharded = sum(count > 1 for count in parts)
        self.units = 0
        self.counters = Counters(rankings=costs.problems, rankings_done=0)
        self.leases = _Leases(LeasePolicy(), Path())
        units_left = UnitQueue(work, ClusterWatch(), self.counters)
        self.tasks = Dispatcher(units_left, self.leases, costs.doubt_s)

    def _poisson(self, mean):
        """Return how many of many rare things happen."""
        count, left = 0, self.chance.expovariate(1.0)
        while left < mean:
            count, left = count + 1, left + self.chance.expovariate(1.0)
        return count

    # --- plans, as :class:`Units` ---------------------------------------------------------------------------

    def shard(self, unit, parts):
        problem = _Problem(unit, unit.planned.ranking.cells, parts, RoundOptions(), [], 0)
        problem.costs, problem.ranks = self.costs, self.ranks
        self.problems[unit.unit.id] = problem
        return problem

    def again(self, unit):
        whole = SimpleNamespace(active=unit.cells, cells=unit.cells, remaining_samples=1)
        return OpenUnit(unit=unit, planned=SimpleNamespace(ranking=whole, problem=None))

    # --- devices --------------------------------------------------------------------------------------------

    def _begin(self, run):
        """Say what a device does for a task, and when its kernels hang."""
        costs, unit = self.costs, run.sent.open.unit
        problem = unit.problem_index
        count = len(unit.cells) or costs.kernels
        if unit.part:
            again = self.problems[unit.id]._narrowed
            # nobody leaves early the second time, and the anchor runs at the beginning of each round
            attempts = count * (self.rounds if again else costs.attempts)
            attempts += costs.prepare_attempts + (3 * self.rounds if unit.anchor is not None else 0)
        elif unit.cells:
            attempts = count * costs.final_attempts + costs.prepare_attempts
        else:
            attempts = count * costs.attempts
        varies = math.sqrt(math.expm1(costs.kernel_spread**2) / count)
        each = self.whole_s[problem] / (costs.kernels * costs.attempts) * self.slowdown
        each *= self.speed[run.device] * max(0.2, self.chance.gauss(1.0, varies))
        run.attempts = attempts
        took = attempts * each
        if unit.part or not unit.cells:
            took += costs.restart_s * self._poisson(count * costs.failing)
        hanging = self.hanging[problem].intersection(unit.cells or range(costs.kernels))
        hanging -= self.hung[problem]
        at = 0.0
        # each hangs in the first round
        for place, cell in sorted((self.chance.random() * count * each, cell) for cell in hanging):
            run.steps.append((place - at, cell))
            at = place
        run.steps.append((took - at, None))
        if took + costs.timeout_s * len(hanging) > costs.walltime_s:
            raise ValueError(f"a unit of {took:.0f} s never ends within walltime_s")

    def _reply(self, run, wall_s):
        unit = run.sent.open.unit
        visits = []
        if unit.part and not run.is_split:
            left, ranks = self.problems[unit.id].left(), self.ranks
            cells = unit.cells
            if hung := self.hung[unit.problem_index]:
                cells = [cell for cell in cells if cell not in hung]
            stay = [cell for cell in cells if ranks[cell] <= left]
            stay = stay or [min(cells, key=ranks.__getitem__)]
            visits = [_Visit(cell, str(run.device)) for cell in stay]
        return Reply(
            task=run.sent.id, end=End.FINISHED, attempts=round(run.attempts), wall_s=wall_s, visits=visits
        )

    # --- the engine, and the coordinator's turns ------------------------------------------------------------

    def run(self):
        costs, fleet, chance = self.costs, self.fleet, self.chance
        events = []
        numbers = count()

        def push(time_s, kind, what):
            heapq.heappush(events, (time_s, next(numbers), kind, what))

        def queued():
            return chance.expovariate(1 / costs.queue_s) if costs.queue_s else 0.0

        begins, ends = [0.0] * fleet.devices, [math.inf] * fleet.devices
        for job in range(0, fleet.devices, costs.gpus_per_job):
            wait = queued() if job else 0.0
            for device in range(job, min(job + costs.gpus_per_job, fleet.devices)):
                begins[device], ends[device] = wait, wait + costs.walltime_s
        folder_free, hosts = 0.0, {}
        library = costs.kernels * costs.object_bytes
        for device in sorted(range(fleet.devices), key=begins.__getitem__):
            host = device // costs.gpus_per_host
            if host not in hosts:
                folder_free = max(folder_free, begins[device]) + library / costs.folder_bytes_per_s
                hosts[host] = max(folder_free, begins[device] + library / costs.host_bytes_per_s)
            push(hosts[host] + costs.start_s, "free", device)
        # the first worker says what device it is, then everything is planned
        push(events[0][0] + costs.plan_s * costs.problems, "turn", None)
        idle, waiting = deque[int](), deque[InFlight]()
        runs = {}
        answers = []
        named = []
        busy = hung = held = handing = end = outcomes = 0.0
        hangs = 0

        def step(run, now):
            """Let a device go on until a kernel hangs, it is done, or its worker is lost."""
            wait_s, cell = run.steps[0]
            at = now + wait_s
            if at > run.cut:
                push(run.cut, "lost", run)
            elif cell is None:
                push(at, "done", run)
            else:
                push(at, "hangs", run)

        while True:
            now, _, kind, what = heapq.heappop(events)
            if kind == "free":
                idle.append(what)
            elif kind == "queued":
                waiting.append(what)
            elif kind == "hangs":
                what.silent_since = now
                hangs += 1
                if costs.suspect_s < costs.timeout_s:
                    push(now + costs.suspect_s, "named", (what, what.steps[0][1]))
                push(min(now + costs.timeout_s, what.cut), "hangs no more", what)
            elif kind == "named":
                named.append(what)
            elif kind == "hangs no more":
                hung += now - what.silent_since
                if now < what.cut:
                    self.hung[what.sent.open.unit.problem_index].add(what.steps.pop(0)[1])
                    what.silent_since = None
                if now >= what.cut or not what.is_split:
                    step(what, now) if now < what.cut else push(now, "lost", what)
                else:
                    push(now, "done", what)
            elif kind in ("done", "lost"):
                run, device = what, what.device
                del runs[run.sent.id]
                busy += now - run.start
                if kind == "done":
                    outcomes += run.attempts
                    answers.append((run.sent, device, self._reply(run, now - run.start)))
                    end = max(end, now)
                    idle.append(device)
                else:
                    run.sent.seen = run.silent_since or now
                    push(now + costs.silence_s, "noticed", run)
                    if now >= ends[device]:
                        held += now - begins[device]
                        begins[device] = now + queued()
                        ends[device] = begins[device] + costs.walltime_s
                        push(begins[device] + costs.start_s, "free", device)
                    else:
                        push(now + costs.silence_s + costs.start_s, "free", device)
            elif kind == "noticed":
                answers.append((what.sent, what.device, None))
            elif kind == "turn":
                if self._answered(answers, named):
                    break
                clock = now
                if self.tasks.idle:
                    for run in runs.values():
                        run.sent.seen = run.silent_since or now
                for unit, original in self.tasks.due(fleet.devices, now):
                    clock += costs.hand_out_s
                    sent = InFlight(str(next(numbers)), unit, frozenset(), now)
                    self.tasks.add(sent, original)
                    push(clock, "queued", sent)
                handing += clock - now
                push(max(clock, now + costs.turn_s), "turn", None)
            while idle and waiting:
                device, sent = idle.popleft(), waiting.popleft()
                fails = now + chance.expovariate(1 / (3600 * costs.mtbf_h))
                run = runs[sent.id] = _Run(sent, device, now, min(fails, max(now, ends[device])))
                self.units += 1
                self.leases.renew(sent.id, now, now)
                self._begin(run)
                step(run, now)
        held += sum(max(0.0, end - begin) for begin in begins)
        useful = sum(self.whole_s) * self.slowdown
        # handing out comes first
        merged_per_s = min(costs.copied_per_s * max(0.0, 1 - handing / end), costs.read_per_s * costs.readers)
        return Result(
            problems=self.counters.rankings_done,
            units=self.units,
            sharded=self.sharded,
            build_s=costs.kernels * costs.compile_s / min(fleet.build_cpus or 64, costs.kernels),
            run_s=end,
            merge_after_s=max(0.0, outcomes / merged_per_s - end),
            # what the folder holds up is no measuring
            busy=busy / self.slowdown / held,
            useful=useful / self.slowdown / held,
            hung=hung / held,
            hangs=hangs,
            outcomes=outcomes,
            folder_load=self.folder_load,
            coordinator_load=handing / end,
        )

    def _answered(self, answers, named):
        """Do what the coordinator does in a turn before it hands out; say whether it is done."""
        for run, cell in named:
            if not run.is_split and run.sent.id in self.tasks.tasks and run.silent_since is not None:
                run.is_split = self.tasks.split(run.sent, cell)
        named.clear()
        for sent, device, reply in answers:
            self.tasks.take(sent.id)
            if sent.abandoned:
                continue
            if reply is None:
                self.tasks.put_back(sent, "lost")
            else:
                self.tasks.finish(sent, str(device), reply)
        answers.clear()
        return self.tasks.is_over


def simulate(costs, fleet):
    """Play a sweep."""
    return Cluster(costs, fleet).run()
