"""The plan of a sweep as units, which are handed out one by one."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.formatting import counted
from ckprof.model.problem_case import ProblemCase
from ckprof.store.attempt import Mark
from ckprof.store.key import canonical
from ckprof.sweep.plan import make_plan, usable
from ckprof.sweep.sweep import Watch
from ckprof_plugins.cluster.folder import read_journal
from ckprof_plugins.cluster.messages import Unit
from ckprof_plugins.cluster.sharding import (
    PART_VISITS,
    ShardedProblem,
    ShardSchedule,
    expected_last,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.measure.rounds import KernelConfiguration, RoundOptions
    from ckprof.model.problem import Problem
    from ckprof.model.ranking import Resolution
    from ckprof.store.attempt import Attempt
    from ckprof.store.query import PastVisit, SharedKey
    from ckprof.sweep.plan import PastReader, PlannedRanking, PlanRequest
    from ckprof_plugins.cluster.devices import Counters
    from ckprof_plugins.cluster.folder import LeasePolicy, SweepFolder
    from ckprof_plugins.cluster.messages import ReferencePolicy, Reply, Task


class Units:
    """What a sweep has to do, and what is left of a unit after somebody has worked on it.

    :param planning: whose rankings are of one device each.
    :param past: reads what the store has.
    """

    def __init__(self, planning: PlanRequest, past: PastReader) -> None:
        self._planning = planning
        self._past = past
        self._kernels = {kernel.key: kernel for kernel in planning.kernels}
        self.plan = make_plan(planning, past)

    def open(self) -> list[OpenUnit]:
        """Return what is left, the longest first: what is short fills the gaps at the end."""
        units = [OpenUnit(unit=self._unit(ranking), planned=ranking) for ranking in self.plan.open_rankings]
        return sorted(units, key=lambda unit: -effort(unit.planned))

    def again(self, unit: Unit) -> OpenUnit | None:
        """Plan a unit again, from what the store has by now.

        What several devices have left of a problem they shared is planned as if there were no other kernels.
        """
        run = ProblemCase(problem=unit.problem, layout=unit.layout, splits=unit.splits)
        wanted = frozenset(unit.cells)
        instances = dict.fromkeys(cell.instance for cell in unit.cells) or self._kernels
        kernels = [kernel for name in instances if (kernel := self._kernels[name]).types == unit.types]
        request = replace(self._planning, problems=[run], kernels=kernels)
        past = self._past
        if wanted:
            request = replace(request, takes=lambda problem, cell: cell in wanted)
            past = self._whole
        for planned in make_plan(request, past).open_rankings:
            planned = replace(planned, problem_index=unit.problem_index)
            found = self._unit(planned)
            if not planned.before.given_up:
                found = replace(found, cells=unit.cells)
            return OpenUnit(unit=found, planned=planned)
        return None

    def shard(self, open_unit: OpenUnit, parts: int) -> ShardedProblem:
        """Return a problem as one that several devices share."""
        planned, planning = open_unit.planned, self._planning
        before = list(self._past(planned.shared, planned.problem))
        of_parts = [visit for visit in usable(before, planned.kernels) if Mark.PART in visit.all_marks]
        return ShardedProblem(
            open_unit,
            cells=(*planned.ranking.cells, *planned.before.out),
            parts=parts,
            rounds=planning.rounds,
            visits=[] if planning.fresh else of_parts,
            last_round=max((visit.round for visit in before), default=0),
        )

    def _whole(self, shared: SharedKey, problem: Problem) -> list[PastVisit]:
        """Return what was measured on a problem by devices that had it for themselves."""
        return [visit for visit in self._past(shared, problem) if Mark.PART not in visit.all_marks]

    def _unit(self, planned: PlannedRanking) -> Unit:
        shared = planned.shared
        splits = dict.fromkeys(cell.split_k for cell in planned.ranking.cells)
        types = next(iter(planned.kernels.values())).types
        text = f"{shared.operation.direction} {types} {shared.layout} "
        return Unit(
            id=hashlib.blake2b(text.encode() + canonical(planned.problem), digest_size=10).hexdigest(),
            problem=planned.problem,
            problem_index=planned.problem_index,
            types=types,
            layout=shared.layout,
            splits=tuple(splits),
            past=planned.before.visits,
            device=planned.before.device,
            fresh=self._planning.fresh,
            retry_failed=self._planning.retry_failed,
            cells=planned.ranking.cells if planned.before.out or planned.before.given_up else (),
        )


def effort(planned: PlannedRanking) -> float:
    """Return about how long a problem takes, in any unit that is the same for all."""
    return planned.ranking.remaining_samples * (1e9 + planned.problem.real_flop)


def part_counts(planned: Sequence[PlannedRanking], rounds: RoundOptions, devices: int) -> list[int]:
    """Return in how many parts problems are sharded; 1 for those that one device gets whole.

    :param planned: those that are open.
    """
    if rounds.exhaustive:
        # everything runs in all rounds beside everything else: parts would come on top of that
        return [1] * len(planned)
    return parts_of(
        [effort(ranking) for ranking in planned],
        [len(ranking.ranking.active) for ranking in planned],
        max(1, devices),
    )


#: probes that may fail before the sweep is given up
_MOST_PROBES: Final = 5
#: seconds between looks at shards and leases
POLL_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenUnit:
    """A unit that is not finished, with what is known of it."""

    unit: Unit
    planned: PlannedRanking
    #: times that it was handed out in vain
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a coordinator has to do."""

    #: all tasks but for their ids and units
    task: Task
    shared: SharedKey
    #: unfinished units, in the order in which they are handed out
    units: Sequence[OpenUnit]
    #: plans units again, from what the store has by then
    plans: Units
    #: in how many parts each of ``units`` is sharded, for so many devices
    parts: Sequence[int]
    devices: int
    reference: ReferencePolicy
    leases: LeasePolicy
    #: seconds that a kernel may take, a hang included
    timeout_s: float
    #: where shards are; workers see it if their tasks name it
    folder: SweepFolder

    @property
    def sends(self) -> bool:
        """Objects and shards travel through the engine."""
        return not self.task.folder


@dataclass(slots=True, kw_only=True)
class ClusterWatch(Watch):
    """What the caller of a sweep on an engine is notified of, and how it ends the sweep."""

    #: called with each problem before it is handed out
    on_unit: Callable[[PlannedRanking], None] = lambda planned: None
    #: called with each new outcome after it is stored
    on_attempt: Callable[[Attempt], None] | None = None
    #: seconds that workers get to end after a stop was requested
    stop_s: float = 60.0
    poll_s: float = POLL_S

    def warn(self, text: str) -> None:
        """Tell what disturbs the sweep."""
        self.emit(Message(text, Level.WARNING))

    def say(self, text: str) -> None:
        """Tell what else the user should know."""
        self.emit(Message(text))


class UnitQueue:
    """The units that are not handed out: those that can be, and those that others may still be at."""

    def __init__(self, work: Work, watch: ClusterWatch, counters: Counters) -> None:
        self._work = work
        self._watch = watch
        self._counters = counters
        planned = list(zip(work.units, work.parts, strict=True))
        self._schedule = ShardSchedule(
            [unit for unit, parts in planned if parts > 1],
            [(effort(unit.planned), unit) for unit, parts in planned if parts == 1],
            work.timeout_s,
            sum(effort(unit.planned) for unit in work.units) / max(1, work.devices),
        )
        #: id -> unit, and until when it is left alone
        self._leased: dict[str, tuple[OpenUnit, float]] = {}
        #: id -> in how many parts a problem is sharded
        self._parts = {unit.unit.id: parts for unit, parts in planned if parts > 1}
        #: id -> a sharded problem that was begun
        self._sharded: dict[str, ShardedProblem] = {}
        #: id of units that nobody could finish -> why
        self.given_up: dict[str, str] = {}
        #: how many of them in a row, and how many problems were finished when that began
        self._in_a_row, self._done_before = 0, counters.rankings_done

    def __len__(self) -> int:
        return len(self._schedule) + len(self._leased)

    def clear(self) -> None:
        """Hand out nothing more."""
        self._schedule.keep(lambda unit: False)

    def set_leased_aside(self) -> None:
        """Leave units alone that workers of a killed coordinator may still be at."""
        wall = time.time()
        others: dict[str, float] = {}
        for lease, end in read_journal(self._work.folder.leases, wall).items():
            # whoever has a part of a problem has the problem
            name = lease.partition("/")[0]
            others[name] = max(end, others.get(name, 0.0))
        for unit in self._work.units:
            until = others.get(unit.unit.id)
            if until is not None:
                self._leased[unit.unit.id] = unit, self._watch.clock() + until - wall
        self._schedule.keep(lambda unit: unit.unit.id not in self._leased)
        if self._leased:
            text = (
                f"{counted(len(self._leased), 'problem')} may still be measured by workers of an earlier call"
            )
            self._watch.say(f"{text}; they are handed out again when their leases are over")

    def release_leased(self) -> None:
        """Take back the units whose leases are over."""
        now = self._watch.clock()
        for unit, (held, until) in list(self._leased.items()):
            if until <= now:
                del self._leased[unit]
                self.requeue(held)

    def pop(self) -> OpenUnit | None:
        """Take the next unit, a part where a problem is sharded; ``None`` if there is nothing to hand out."""
        while (unit := self._schedule.pop()) is not None and self._begin(unit):
            pass
        return unit

    def _begin(self, unit: OpenUnit) -> bool:
        """Begin with a problem if it is one that several devices share; its first part is small."""
        name = unit.unit.id
        if name not in self._parts or name in self._sharded:
            return False
        self._sharded[name] = self._work.plans.shard(unit, self._parts[name])
        self._go_on(name)
        return True

    def finish_part(self, unit: OpenUnit, device: str, reply: Reply) -> None:
        """Take what a part leaves, and have done what follows from it."""
        problem = self._sharded[unit.unit.id]
        if unit.unit.id in self.given_up:
            return
        if problem.visit_s is None and reply.attempts and unit.unit.part not in problem.split_parts:
            problem.visit_s = reply.wall_s / reply.attempts
            problem_s = problem.visit_s * PART_VISITS * len(unit.planned.ranking.active)
            pace = self._schedule.pace
            problem.parts = pace.corrected(problem.parts, problem_s, effort(unit.planned))
        problem.finish(unit.unit.part, device, reply.visits)
        if problem.last is None:
            self._go_on(unit.unit.id)
        elif not problem.is_complete:
            # it seemed to hang, and competes after all
            self._reopen(unit.unit.id)

    def finish(self, unit: OpenUnit, resolution: Resolution | None = None) -> None:
        """Note that what competes for the first place of a problem was measured.

        :param resolution: what is known of that place.
        """
        sharded = self._sharded.get(unit.unit.id)
        if sharded is not None:
            if sharded.ended or sharded.last is None:
                return  # others compete by now
            sharded.ended = True
        self._counters.rankings_done += 1
        if resolution is not None:
            self._counters.measured_resolutions[unit.unit.id] = unit.unit.problem_index, resolution

    def copy(self, unit: OpenUnit) -> OpenUnit:
        """Return what another device can do as well, in case the one that has the unit never answers."""
        if not unit.unit.part:
            return unit
        return replace(unit, unit=self._sharded[unit.unit.id].copy(unit.unit.part))

    def split(self, unit: OpenUnit, cell: KernelConfiguration) -> bool:
        """Hand out what waits behind a kernel that hangs in a part; say whether that can be done."""
        others = self._sharded[unit.unit.id].split(unit.unit.part, cell) if unit.unit.part else None
        self._schedule.hangs += 1
        if others is not None:
            self._schedule.put_first(replace(unit, unit=others))
        return others is not None

    def drop(self, unit: OpenUnit) -> None:
        """Wait no longer for a unit that another device does as well."""
        if unit.unit.part:
            self._sharded[unit.unit.id].drop(unit.unit.part)

    def requeue(self, unit: OpenUnit) -> None:
        """Hand a unit out again, with what is known of it by now."""
        name = unit.unit.id
        if unit.unit.part:
            if name not in self.given_up:
                again = self.copy(unit)
                self.drop(unit)
                self._schedule.put_first(again)
            return
        planned = self._work.plans.again(unit.unit)
        if planned is None:
            self.finish(unit)
        else:
            self._schedule.put_first(replace(planned, failed=unit.failed))

    def measure_again(self, unit: OpenUnit, devices: Sequence[str]) -> None:
        """Hand out again what is missing of a problem without what some devices measured of it."""
        sharded = self._sharded.get(unit.unit.id)
        if sharded is not None:
            sharded.forget(devices)
            if sharded.last is None or not sharded.is_complete:
                self._reopen(unit.unit.id)
                return
            if not sharded.ended:
                return
            unit, sharded.ended = sharded.last, False
        again = self._work.plans.again(unit.unit)
        if again is not None:
            self._counters.rankings_done -= 1
            self._counters.measured_resolutions.pop(unit.unit.id, None)
            self._schedule.put_first(again)
        elif sharded is not None:
            sharded.ended = True

    def _reopen(self, name: str) -> None:
        """Have parts of a problem measured whose last step may have begun: others may compete in it now."""
        sharded = self._sharded[name]
        self._schedule.keep(lambda other: other is not sharded.last)
        self._counters.rankings_done -= sharded.ended
        self._counters.measured_resolutions.pop(name, None)
        sharded.last, sharded.ended = None, False
        self._go_on(name)

    def fail(self, unit: OpenUnit, reason: str) -> None:
        """Hand a unit out again, unless it has failed often enough.

        :raises ToolchainError: no worker finishes anything, or none does any more.
        """
        unit = replace(unit, failed=unit.failed + 1)
        if unit.failed < self._work.leases.attempts:
            self.requeue(unit)
            return
        if unit.unit.id in self.given_up:
            return
        why = last_line(reason)
        self.given_up[unit.unit.id] = why
        self._schedule.keep(lambda other: other.unit.id != unit.unit.id)
        self._watch.warn(f"problem {unit.unit.problem_index} is given up after {unit.failed} times: {why}")
        self._in_a_row = self._in_a_row + 1 if self._counters.rankings_done == self._done_before else 1
        self._done_before = self._counters.rankings_done
        if self._in_a_row >= _MOST_PROBES:
            raise ToolchainError(f"no worker finishes a problem: {why}")

    def _go_on(self, name: str) -> None:
        """Have handed out what a sharded problem allows now."""
        problem = self._sharded[name]
        expected = expected_last(len(problem.cells))
        for part in problem.next_parts():
            unit = OpenUnit(unit=part, planned=problem.whole.planned)
            if part.anchor is None or problem.visit_s is None:
                self._schedule.put_first(unit)
            else:
                self._schedule.put_part(unit, problem.visit_s, len(part.cells), expected)
        if not problem.is_complete:
            return
        finalists = problem.finalists
        problem.last = self._work.plans.again(replace(problem.whole.unit, cells=finalists))
        if problem.last is None:
            problem.ended = True
            self._counters.rankings_done += 1
        else:
            self._schedule.put_last(problem.last, problem.visit_s or 0.0, len(finalists))


def last_line(text: str) -> str:
    """Return the last line of an error's text that says something."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason is known"
