"""What a sweep has to do: kernels x problems x splits, minus what the store has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, TypeAlias

from ckprof.events import Listener, Message, Progress
from ckprof.formatting import counted, duration
from ckprof.kernels.source_tree import collection_paused
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ending, KernelConfiguration, Ranking, RoundOptions
from ckprof.measure.rounds_loop import KernelGroup
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.model.ranking import Resolution
from ckprof.model.types import TypeSet
from ckprof.store.attempt import MOST_DEVICES_LOST, Mark
from ckprof.store.query import PastVisit, SharedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBefore:
    """Earlier attempts of a ranking, as far as they count."""

    #: oldest first
    visits: tuple[PastVisit, ...] = ()
    #: the device that they ran on, where a ranking is of one device alone
    device: str = ""
    #: cells that have an outcome already
    cells: frozenset[KernelConfiguration] = frozenset()
    #: those among them that failed or are not supported
    failed: frozenset[KernelConfiguration] = frozenset()
    #: cells that need not run any more, though their rounds do not count
    out: frozenset[KernelConfiguration] = frozenset()
    #: cells that are left out, because the device was lost beside their kernel too often
    given_up: tuple[KernelConfiguration, ...] = ()
    #: median wall seconds of an attempt on any device; ``None`` if nothing was measured
    attempt_s: float | None = None


def whole_rankings(
    visits: Sequence[PastVisit], cells: Sequence[KernelConfiguration], request: PlanRequest
) -> MeasuredBefore:
    """Count what ran beside all other kernels of its ranking, on whatever device."""
    del cells, request
    return MeasuredBefore(
        visits=tuple(visit for visit in visits if not visit.marks or Mark.PART not in visit.all_marks)
    )


#: (usable attempts, cells, request) -> which of them count, and what need not run because of the others
Counting: TypeAlias = Callable[
    [Sequence[PastVisit], Sequence[KernelConfiguration], "PlanRequest"], MeasuredBefore
]


#: marks of attempts that say nothing of their kernels
_UNCOUNTED: Final = frozenset({Mark.SLOW_DEVICE, Mark.NOT_LAUNCHED})


def _lost_devices(past: Iterable[PastVisit], kernels: Mapping[str, SelectedKernel]) -> frozenset[str]:
    """Return the kernels beside which the device was lost too often since they had an outcome."""
    lost: Counter[str] = Counter()
    for visit in past:
        if visit.device_lost and _same_object(visit, kernels):
            lost[visit.instance] += 1
        elif lost and _UNCOUNTED.isdisjoint(visit.all_marks):
            del lost[visit.instance]
    return frozenset(kernel for kernel, times in lost.items() if times >= MOST_DEVICES_LOST)


def usable(past: Iterable[PastVisit], kernels: Mapping[str, SelectedKernel]) -> list[PastVisit]:
    """Return the attempts that count: not of other builds, nor with marks that say they do not."""
    return [
        visit for visit in past if _same_object(visit, kernels) and _UNCOUNTED.isdisjoint(visit.all_marks)
    ]


def _same_object(visit: PastVisit, kernels: Mapping[str, SelectedKernel]) -> bool:
    kernel = kernels.get(visit.instance)
    return kernel is not None and kernel.object_digest in (None, visit.object_digest)


_OK: Final = Status.OK.value


class History:
    """Earlier attempts as rounds: what each visit gave, the marked rounds, and who left after which round."""

    def __init__(self, visits: Iterable[PastVisit], request: PlanRequest) -> None:
        self.visits: dict[KernelConfiguration, list[tuple[int, Timing | None]]] = {}
        self.disturbed: set[int] = set()
        self.dropped: dict[KernelConfiguration, int] = {}
        for visit in visits:
            if visit.marks:
                if Mark.DISTURBED in visit.all_marks:
                    self.disturbed.add(visit.round)
                if Mark.DROPPED in visit.all_marks:
                    self.dropped[visit.cell] = visit.round
            if visit.status != _OK:
                if not request.retry_failed:
                    self.visits.setdefault(visit.cell, []).append((visit.round, None))
            elif visit.time_ms and visit.wrong_elements == 0:
                timing = Timing(
                    time_ms=visit.time_ms,
                    spread=(visit.spread_ms or 0.0) / visit.time_ms,
                    process=f"{visit.session}/{visit.process}",
                )
                self.visits.setdefault(visit.cell, []).append((visit.round, timing))

    def resumed(
        self, cells: Sequence[KernelConfiguration], rounds: RoundOptions
    ) -> Ranking[KernelConfiguration]:
        """Return the ranking that goes on from there."""
        ranking: Ranking[KernelConfiguration] = Ranking(cells, rounds)
        if self.visits:
            ranking.resume(self.visits, self.disturbed, self.dropped)
        if not cells:
            ranking.ending = Ending.NO_RANKING
        return ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a sweep is asked for."""

    kernels: Sequence[SelectedKernel]
    #: what they compute; a problem may say which types, layouts and numbers of splits are meant
    problems: Sequence[Problem | ProblemCase]
    #: numbers of splits for problems that do not say them
    splits: Sequence[int]
    #: keys without data type and layout, which are those of the kernels
    shared: SharedKey
    rounds: RoundOptions
    #: measure again what the store has
    fresh: bool = False
    #: try again what failed
    retry_failed: bool = False
    #: (problem, cell) -> it takes part; ``None``: all of them do
    takes: Callable[[Problem, KernelConfiguration], bool] | None = None
    #: what counts of earlier attempts
    counting: Counting = whole_rankings


#: Reads what was measured before on a problem; nothing without a store.
PastReader = Callable[[SharedKey, Problem], Sequence[PastVisit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRanking(KernelGroup):
    """A group of kernels with what the store has of it."""

    shared: SharedKey
    before: MeasuredBefore

    @property
    def finished(self) -> bool:
        """True when nothing is left to do."""
        return self.ranking.ending is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a sweep will do, problem by problem."""

    rankings: Sequence[PlannedRanking]
    #: seconds that an attempt took on average on the problems that were measured before
    usual_attempt_s: float | None = None

    @property
    def cells(self) -> int:
        """Kernels x problems x splits."""
        return sum(
            len(ranking.ranking.cells) + len(ranking.before.out) + len(ranking.before.given_up)
            for ranking in self.rankings
        )

    @property
    def known(self) -> int:
        """Cells that the store has an outcome of."""
        return sum(len(ranking.before.cells) for ranking in self.rankings)

    @property
    def failed(self) -> int:
        """Cells whose outcome in the store is a failure, or that are not supported."""
        return sum(len(ranking.before.failed) for ranking in self.rankings)

    @property
    def second(self) -> dict[str, str]:
        """Content key of each kernel with a time in the store -> its :attr:`Outcome.second`, or empty."""
        visits = (visit for ranking in self.rankings for visit in ranking.before.visits if visit.round_time)
        return {visit.instance: visit.second for visit in sorted(visits, key=lambda one: bool(one.second))}

    @property
    def has_failures(self) -> bool:
        """Whether a cell failed before and is not tried again; one that is not supported has not failed."""
        return any(
            Status(visit.status).is_failure
            for ranking in self.rankings
            if ranking.before.failed
            for visit in ranking.before.visits
            if visit.cell in ranking.before.failed
        )

    @property
    def given_up(self) -> list[tuple[int, str]]:
        """Position of the problem and name of each kernel that is left out for lost devices."""
        return [
            (ranking.problem_index, ranking.kernels[instance].name)
            for ranking in self.rankings
            for instance in dict.fromkeys(cell.instance for cell in ranking.before.given_up)
        ]

    @property
    def open_rankings(self) -> list[PlannedRanking]:
        """The rankings that are not finished."""
        return [ranking for ranking in self.rankings if not ranking.finished]

    @property
    def resolutions(self) -> list[tuple[int, Resolution]]:
        """Position of the problem and what is known of its first place, of each finished ranking."""
        return [
            (planned.problem_index, planned.ranking.resolution)
            for planned in self.rankings
            if planned.finished and planned.ranking.resolution is not None
        ]

    @property
    def most_attempts(self) -> int:
        """Attempts that are left at most; kernels that are pruned save most of them."""
        return sum(ranking.ranking.remaining_samples for ranking in self.rankings)

    @property
    def least_attempts(self) -> int:
        """Attempts that are left at least: one for every cell without an outcome."""
        return sum(
            cell not in ranking.before.cells
            for ranking in self.open_rankings
            for cell in ranking.ranking.active
        )

    def estimated_s(self) -> tuple[float, float] | None:
        """Return wall seconds that are left at least and at most; ``None`` if nothing was measured before."""
        least = most = 0.0
        for ranking in self.open_rankings:
            each = ranking.before.attempt_s if ranking.before.attempt_s is not None else self.usual_attempt_s
            if each is None:
                return None
            active = ranking.ranking.active
            least += each * sum(cell not in ranking.before.cells for cell in active)
            most += each * ranking.ranking.remaining_samples
        return least, most


@collection_paused()
def make_plan(request: PlanRequest, past: PastReader) -> Plan:
    """Plan a sweep.

    Kernels whose number of dimensions is not that of a problem do not take part on it.
    """
    groups: dict[_Group, list[SelectedKernel]] = {}
    for kernel in request.kernels:
        groups.setdefault((kernel.ndim, kernel.types, kernel.layout), []).append(kernel)
    # a problem that is named twice is measured once, with the splits of both, in the order they are given
    wanted: dict[tuple[Problem, _Group], tuple[int, dict[int, None]]] = {}
    for index, listed in enumerate(request.problems):
        run = as_case(listed)
        for group, kernels in groups.items():
            if kernels[0].ndim == run.problem.ndim and run.takes(kernels[0]):
                _, asked = wanted.setdefault((run.problem, group), (index, {}))
                asked.update(dict.fromkeys(run.splits or request.splits))
    # thousands of problems have the same thousands of kernels
    by_key = {group: {kernel.key: kernel for kernel in kernels} for group, kernels in groups.items()}
    cells: dict[tuple[_Group, tuple[int, ...]], Sequence[KernelConfiguration]] = {}
    rankings = []
    for (problem, group), (index, asked) in wanted.items():
        splits = tuple(asked)
        if (group, splits) not in cells:
            cells[group, splits] = [
                KernelConfiguration(key, split) for key in by_key[group] for split in splits
            ]
        rankings.append(_planned(request, by_key[group], cells[group, splits], problem, index, past))
    seconds = [ranking.before.attempt_s for ranking in rankings if ranking.before.attempt_s is not None]
    return Plan(rankings=rankings, usual_attempt_s=sum(seconds) / len(seconds) if seconds else None)


#: number of dimensions, types and layout
_Group = tuple[int, TypeSet, str]


def _planned(
    request: PlanRequest,
    kernels: Mapping[str, SelectedKernel],
    cells: Sequence[KernelConfiguration],
    problem: Problem,
    index: int,
    past: PastReader,
) -> PlannedRanking:
    """Return a ranking as earlier attempts leave it, and which of these count.

    Left out are attempts with other builds of a kernel, on devices that were found slow afterwards, and those
    that ended before the kernel was launched; and kernels beside which the device was lost too often, unless
    failures are tried again.
    """
    first, rounds = next(iter(kernels.values())), request.rounds
    shared = replace(request.shared, dtype=first.dtype, layout=first.layout)
    attempts = past(shared, problem)
    if request.takes is not None:
        cells = [cell for cell in cells if request.takes(problem, cell)]
    killers = frozenset() if request.fresh or request.retry_failed else _lost_devices(attempts, kernels)
    given_up = tuple(cell for cell in cells if cell.instance in killers)
    visits = usable(attempts, kernels)
    cells = tuple(cell for cell in cells if cell.instance not in killers) if given_up else cells
    before = request.counting(visits, cells, request)
    if before.out:
        cells = tuple(cell for cell in cells if cell not in before.out)
    seconds = [visit.wall_s for visit in visits if visit.wall_s]
    before = replace(before, given_up=given_up, attempt_s=median(seconds) if seconds else None)
    if request.fresh:
        last_round = max((visit.round for visit in visits), default=0)
        ranking: Ranking[KernelConfiguration] = Ranking(cells, rounds, rounds_before=last_round)
    else:
        history = History(before.visits, request)
        measured = frozenset(filter(history.visits.__contains__, cells)) if before.visits else frozenset()
        failed = {cell for cell in measured if any(timing is None for _, timing in history.visits[cell])}
        before = replace(before, cells=measured | before.out, failed=before.failed | failed)
        ranking = history.resumed(cells, rounds)
    return PlannedRanking(
        problem=problem,
        problem_index=index,
        shared=shared,
        kernels=kernels,
        ranking=ranking,
        before=before,
    )


def describe(plan: Plan) -> list[str]:
    """Return the plan in a few lines for people."""
    problems = len({ranking.problem_index for ranking in plan.rankings})
    kernels = {instance for ranking in plan.rankings for instance in ranking.kernels}
    lines = [
        f"{counted(len(kernels), 'kernel')} x {counted(problems, 'problem')}: "
        f"{counted(plan.cells, 'outcome')} with all splits",
        f"in the store: {plan.known}, {plan.failed} of them failed or not supported",
        f"left: {len(plan.open_rankings)} of {counted(len(plan.rankings), 'ranking')}, "
        f"{plan.least_attempts} to {counted(plan.most_attempts, 'attempt')}",
    ]
    seconds = plan.estimated_s()
    if plan.open_rankings:
        lines.append(
            f"estimated time: {duration(seconds[0])} to {duration(seconds[1])}"
            if seconds is not None
            else "estimated time: unknown, nothing was measured before"
        )
    lines += given_up_lines(plan)
    endings = [ranking.ranking.ending for ranking in plan.rankings if ranking.ranking.ending is not None]
    for ending in Ending:
        if ending in endings:
            lines.append(f"finished ({ending.value}): {counted(endings.count(ending), 'ranking')}")
    return lines


def announce(plan: Plan, emit: Listener) -> None:
    """Tell what a sweep is about to do."""
    for line in describe(plan):
        emit(Message(line))
    emit(Progress(what="sweep", done=0, total=plan.most_attempts, at_once=True))


#: kernels that are left out and named
_MOST_NAMED: Final = 20


def given_up_lines(plan: Plan) -> list[str]:
    """Return which kernels a sweep leaves out because of lost devices, for people."""
    given_up = plan.given_up
    lines = [
        f"excluded: {kernel} on problem {problem}: the device failed at least {MOST_DEVICES_LOST} times "
        "while it ran, which may have other reasons; --retry-failed tries it again"
        for problem, kernel in given_up[:_MOST_NAMED]
    ]
    left = len(given_up) - _MOST_NAMED
    return [*lines, f"excluded: {left} more, which ckprof report shows"] if left > 0 else lines
