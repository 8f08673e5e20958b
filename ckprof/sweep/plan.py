"""What a sweep has to do: kernels x problems x splits, minus what the store has."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ckprof.events import Listener, Message, Progress
from ckprof.measure.rounds import Ending, KernelCell, RoundOptions
from ckprof.measure.rounds_loop import KernelGroup
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.model.ranking import Standing
from ckprof.model.types import TypeSet
from ckprof.store.attempt import MOST_DEVICES_LOST
from ckprof.store.query import PastVisit, SharedKey
from ckprof.sweep.resuming import Counting, MeasuredBefore, resumed, whole_rankings
from ckprof.wording import counted, duration


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
    takes: Callable[[Problem, KernelCell], bool] | None = None
    #: what counts of earlier attempts
    counting: Counting = whole_rankings


#: Reads what was measured before on a problem; nothing without a store.
PastReader = Callable[[SharedKey, Problem], Sequence[PastVisit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedContest(KernelGroup):
    """A group of kernels with what the store has of it."""

    shared: SharedKey
    before: MeasuredBefore

    @property
    def finished(self) -> bool:
        """True when nothing is left to do."""
        return self.contest.ending is not None


_STATUSES: Final = {status.value: status for status in Status}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a sweep will do, problem by problem."""

    contests: Sequence[PlannedContest]
    #: seconds that an attempt took on average on the problems that were measured before
    usual_visit_s: float | None = field(default=None)

    @property
    def cells(self) -> int:
        """Kernels x problems x splits."""
        return sum(
            len(contest.contest.cells) + len(contest.before.out) + len(contest.before.given_up)
            for contest in self.contests
        )

    @property
    def known(self) -> int:
        """Cells that the store has an outcome of."""
        return sum(len(contest.before.cells) for contest in self.contests)

    @property
    def failed(self) -> int:
        """Cells whose outcome in the store is a failure, or that are not supported."""
        return sum(len(contest.before.failed) for contest in self.contests)

    @property
    def has_failures(self) -> bool:
        """Whether a cell failed before and is not tried again; one that is not supported has not failed."""
        return any(
            _STATUSES[visit.status].is_failure
            for contest in self.contests
            if contest.before.failed
            for visit in contest.before.visits
            if visit.cell in contest.before.failed
        )

    @property
    def given_up(self) -> list[tuple[int, str]]:
        """Position of the problem and name of each kernel that is left out for lost devices."""
        return [
            (contest.problem_index, contest.kernels[instance].name)
            for contest in self.contests
            for instance in dict.fromkeys(cell.instance for cell in contest.before.given_up)
        ]

    @property
    def open_contests(self) -> list[PlannedContest]:
        """The contests that are not finished."""
        return [contest for contest in self.contests if not contest.finished]

    @property
    def standings(self) -> list[tuple[int, Standing]]:
        """Position of the problem and what is known of its first place, of each finished contest."""
        return [
            (planned.problem_index, planned.contest.standing)
            for planned in self.contests
            if planned.finished and planned.contest.standing is not None
        ]

    @property
    def most_visits(self) -> int:
        """Attempts that are left at most; kernels that leave the rounds save most of them."""
        return sum(contest.contest.remaining_visits for contest in self.contests)

    @property
    def least_visits(self) -> int:
        """Attempts that are left at least: one for every cell without an outcome."""
        return sum(
            cell not in contest.before.cells
            for contest in self.open_contests
            for cell in contest.contest.active
        )

    def estimated_s(self) -> tuple[float, float] | None:
        """Return wall seconds that are left at least and at most; ``None`` if nothing was measured before."""
        least = most = 0.0
        for contest in self.open_contests:
            each = contest.before.visit_s if contest.before.visit_s is not None else self.usual_visit_s
            if each is None:
                return None
            active = contest.contest.active
            least += each * sum(cell not in contest.before.cells for cell in active)
            most += each * contest.contest.remaining_visits
        return least, most


def make_plan(request: PlanRequest, past: PastReader) -> Plan:
    """Plan a sweep.

    Kernels whose number of dimensions is not that of a problem do not take part on it.
    """
    with _collector_paused():
        return _make_plan(request, past)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking through what a plan is made of, all of which stays.

    With tens of thousands of past visits that takes as long as the plan itself.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _make_plan(request: PlanRequest, past: PastReader) -> Plan:
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
    cells: dict[tuple[_Group, tuple[int, ...]], Sequence[KernelCell]] = {}
    contests = []
    for (problem, group), (index, asked) in wanted.items():
        splits = tuple(asked)
        if (group, splits) not in cells:
            cells[group, splits] = [KernelCell(key, split) for key in by_key[group] for split in splits]
        contests.append(_planned(request, by_key[group], cells[group, splits], problem, index, past))
    seconds = [contest.before.visit_s for contest in contests if contest.before.visit_s is not None]
    return Plan(contests=contests, usual_visit_s=sum(seconds) / len(seconds) if seconds else None)


#: number of dimensions, types and layout
_Group = tuple[int, TypeSet, str]


def _planned(
    request: PlanRequest,
    by_key: Mapping[str, SelectedKernel],
    cells: Sequence[KernelCell],
    problem: Problem,
    index: int,
    past: PastReader,
) -> PlannedContest:
    first = next(iter(by_key.values()))
    shared = SharedKey(
        operation=request.shared.operation,
        device=request.shared.device,
        toolchain=request.shared.toolchain,
        method=request.shared.method,
        dtype=first.dtype,
        layout=first.layout,
    )
    if request.takes is not None:
        cells = [cell for cell in cells if request.takes(problem, cell)]
    contest, shares, before = resumed(past(shared, problem), cells, by_key, request)
    return PlannedContest(
        problem=problem,
        problem_index=index,
        shared=shared,
        kernels=by_key,
        contest=contest,
        shares=shares,
        before=before,
    )


def describe(plan: Plan) -> list[str]:
    """Return the plan in a few lines for people."""
    problems = len({contest.problem_index for contest in plan.contests})
    kernels = {instance for contest in plan.contests for instance in contest.kernels}
    lines = [
        f"{counted(len(kernels), 'kernel')} x {counted(problems, 'problem')}: "
        f"{counted(plan.cells, 'outcome')} with all splits",
        f"in the store: {plan.known}, {plan.failed} of them failed or not supported",
        f"left: {len(plan.open_contests)} of {counted(len(plan.contests), 'ranking')}, "
        f"{plan.least_visits} to {counted(plan.most_visits, 'attempt')}",
    ]
    seconds = plan.estimated_s()
    if plan.open_contests:
        lines.append(
            f"estimated time: {duration(seconds[0])} to {duration(seconds[1])}"
            if seconds is not None
            else "estimated time: unknown, nothing was measured before"
        )
    lines += given_up_lines(plan)
    endings = [contest.contest.ending for contest in plan.contests if contest.contest.ending is not None]
    for ending in Ending:
        if ending in endings:
            lines.append(f"finished ({ending.value}): {counted(endings.count(ending), 'ranking')}")
    return lines


def announce(plan: Plan, tell: Listener) -> None:
    """Tell what a sweep is about to do."""
    for line in describe(plan):
        tell(Message(line))
    tell(Progress(what="sweep", done=0, total=plan.most_visits, at_once=True))


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
