"""What a sweep has to do: kernels x problems x splits, minus what the store has."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.model.problem_run import ProblemRun, as_problem_run
from ckprof.report.duration import duration
from ckprof.rounds.contest import Contest
from ckprof.rounds.options import RoundOptions
from ckprof.rounds.visit import Ending, Timing
from ckprof.store.attempt import KernelInfo, Mark
from ckprof.store.query import PastVisit, SharedKey


class KernelCell(NamedTuple):
    """What competes on a problem: a kernel with a number of splits."""

    #: content key of the instance
    instance: str
    #: as asked for; less than 1 leaves the number to the kernel
    split_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedKernel:
    """A kernel that takes part in a sweep."""

    #: content key of the instance
    instance: str
    ndim: int
    info: KernelInfo
    #: digest of its object; ``None`` before it is built, which any earlier object of the instance matches
    object_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a sweep is asked for."""

    kernels: Sequence[PlannedKernel]
    #: what they compute; a problem may say which types, layouts and numbers of splits are meant
    problems: Sequence[Problem | ProblemRun]
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
    #: each ranking is of one card alone: what others measured of it does not count
    one_card: bool = False


#: Reads what was measured before on a problem; nothing without a store.
PastReader = Callable[[SharedKey, Problem], Sequence[PastVisit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedContest:
    """The kernels of one data type and layout on one problem."""

    problem: Problem
    #: position of the problem in the sweep
    problem_index: int
    shared: SharedKey
    kernels: Mapping[str, PlannedKernel]
    contest: Contest[KernelCell]
    #: cells that have an outcome already
    known: frozenset[KernelCell]
    #: those among them that failed or are not supported
    failed: frozenset[KernelCell]
    #: median wall seconds of an attempt on this problem; ``None`` if nothing was measured
    visit_s: float | None
    #: earlier attempts that count
    past: tuple[PastVisit, ...] = ()
    #: the card that they ran on
    card: str = ""
    #: highest number of a round of any card
    last_round: int = 0

    @property
    def finished(self) -> bool:
        """True when nothing is left to do."""
        return self.contest.ending is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a sweep will do, problem by problem."""

    contests: Sequence[PlannedContest]
    #: seconds that an attempt took on average on the problems that were measured before
    usual_visit_s: float | None = field(default=None)

    @property
    def cells(self) -> int:
        """Kernels x problems x splits."""
        return sum(len(one.contest.cells) for one in self.contests)

    @property
    def known(self) -> int:
        """Cells that the store has an outcome of."""
        return sum(len(one.known) for one in self.contests)

    @property
    def failed(self) -> int:
        """Cells whose outcome in the store is a failure, or that are not supported."""
        return sum(len(one.failed) for one in self.contests)

    @property
    def open_contests(self) -> list[PlannedContest]:
        """The contests that are not finished."""
        return [one for one in self.contests if not one.finished]

    @property
    def most_visits(self) -> int:
        """Attempts that are left at most; kernels that leave the rounds save most of them."""
        return sum(one.contest.remaining_visits for one in self.contests)

    @property
    def least_visits(self) -> int:
        """Attempts that are left at least: one for every cell without an outcome."""
        return sum(
            len(one.contest.active) - len(one.known & set(one.contest.active)) for one in self.open_contests
        )

    def estimated_s(self) -> tuple[float, float] | None:
        """Return wall seconds that are left at least and at most; ``None`` if nothing was measured before."""
        least = most = 0.0
        for one in self.open_contests:
            each = one.visit_s if one.visit_s is not None else self.usual_visit_s
            if each is None:
                return None
            active = one.contest.active
            least += each * sum(cell not in one.known for cell in active)
            most += each * one.contest.remaining_visits
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
    groups: dict[_Group, list[PlannedKernel]] = {}
    for kernel in request.kernels:
        groups.setdefault((kernel.ndim, kernel.info.dtype, kernel.info.layout), []).append(kernel)
    # a problem that is named twice is measured once, with the splits of both
    wanted: dict[tuple[Problem, _Group], _Wanted] = {}
    for index, given in enumerate(request.problems):
        one = as_problem_run(given)
        for group in groups:
            ndim, dtype, layout = group
            if ndim == one.problem.ndim and one.dtype in (None, dtype) and one.layout in (None, layout):
                place = wanted.setdefault((one.problem, group), _Wanted(index=index))
                place.splits.update(dict.fromkeys(one.splits or request.splits))
    contests = [
        _planned(request, groups[group], problem, place, past) for (problem, group), place in wanted.items()
    ]
    seconds = [one.visit_s for one in contests if one.visit_s is not None]
    return Plan(contests=contests, usual_visit_s=sum(seconds) / len(seconds) if seconds else None)


#: number of dimensions, data type and layout
_Group = tuple[int, DataType | None, str]


@dataclass(slots=True, kw_only=True)
class _Wanted:
    """What is asked of one problem for the kernels of one type and layout."""

    #: position of the problem
    index: int
    #: numbers of splits, in the order they were asked for
    splits: dict[int, None] = field(default_factory=dict)


def _planned(
    request: PlanRequest,
    kernels: Sequence[PlannedKernel],
    problem: Problem,
    place: _Wanted,
    past: PastReader,
) -> PlannedContest:
    shared = SharedKey(
        operation=request.shared.operation,
        device=request.shared.device,
        toolchain=request.shared.toolchain,
        method=request.shared.method,
        dtype=kernels[0].info.dtype,
        layout=kernels[0].info.layout,
    )
    by_key = {kernel.instance: kernel for kernel in kernels}
    cells = [KernelCell(kernel.instance, split) for kernel in kernels for split in place.splits]
    if request.takes is not None:
        cells = [cell for cell in cells if request.takes(problem, cell)]
    visits = [
        visit for visit in past(shared, problem) if _same_object(visit, by_key) and not _doubtful(visit)
    ]
    seconds = [visit.wall_s for visit in visits if visit.wall_s]
    last_round = max((visit.round for visit in visits), default=0)
    card = ""
    if request.one_card and visits:
        card, visits = _of_one_card(visits, cells, request)
    contest: Contest[KernelCell] = Contest(
        cells, request.rounds, rounds_before=last_round if request.fresh else 0
    )
    known: set[KernelCell] = set()
    failed: set[KernelCell] = set()
    if not request.fresh:
        history, drifted, dropped = _history(visits, retry_failed=request.retry_failed)
        contest.resume(history, drifted, dropped)
        known = {cell for cell in cells if cell in history}
        failed = {cell for cell in known if any(timing is None for _, timing in history[cell])}
    return PlannedContest(
        problem=problem,
        problem_index=place.index,
        shared=shared,
        kernels=by_key,
        contest=contest,
        known=frozenset(known),
        failed=frozenset(failed),
        visit_s=median(seconds) if seconds else None,
        past=tuple(visits),
        card=card,
        last_round=last_round,
    )


def _of_one_card(
    visits: Sequence[PastVisit], cells: Sequence[KernelCell], request: PlanRequest
) -> tuple[str, list[PastVisit]]:
    """Return a card and its attempts: one that finished the ranking, else the one with most attempts."""
    groups: dict[str, list[PastVisit]] = {}
    for visit in visits:
        groups.setdefault(visit.card, []).append(visit)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    if len(ordered) > 1:
        for card, group in ordered:
            contest: Contest[KernelCell] = Contest(cells, request.rounds)
            contest.resume(*_history(group, retry_failed=request.retry_failed))
            if contest.ending is not None:
                return card, group
    return ordered[0]


def _doubtful(visit: PastVisit) -> bool:
    """Say whether the card of an attempt was found slow afterwards."""
    return visit.marks is not None and _SLOW_CARD in visit.marks.split(",")


def _same_object(visit: PastVisit, kernels: Mapping[str, PlannedKernel]) -> bool:
    kernel = kernels.get(visit.instance)
    return kernel is not None and kernel.object_digest in (None, visit.object_digest)


#: as the store spells them
_OK, _DRIFT, _DROPPED, _SLOW_CARD = (
    Status.OK.value,
    Mark.DRIFT.value,
    Mark.DROPPED.value,
    Mark.SLOW_CARD.value,
)

History = dict[KernelCell, list[tuple[int, Timing | None]]]


def _history(
    visits: Iterable[PastVisit], *, retry_failed: bool
) -> tuple[History, set[int], dict[KernelCell, int]]:
    """Return what counts of earlier attempts, the marked rounds, and who left after which round."""
    history: History = {}
    drifted: set[int] = set()
    dropped: dict[KernelCell, int] = {}
    for visit in visits:
        cell = KernelCell(visit.instance, visit.split_k)
        if visit.marks:
            marks = visit.marks.split(",")
            if _DRIFT in marks:
                drifted.add(visit.round)
            if _DROPPED in marks:
                dropped[cell] = visit.round
        if visit.status != _OK:
            if not retry_failed:
                history.setdefault(cell, []).append((visit.round, None))
        elif visit.median_ms and visit.wrong_elements == 0:
            spread = (visit.spread_ms or 0.0) / visit.median_ms
            timing = Timing(median_ms=visit.median_ms, min_ms=visit.min_ms or visit.median_ms, spread=spread)
            history.setdefault(cell, []).append((visit.round, timing))
    return history, drifted, dropped


def describe(plan: Plan) -> list[str]:
    """Return the plan in a few lines for people."""
    problems = len({one.problem_index for one in plan.contests})
    kernels = {instance for one in plan.contests for instance in one.kernels}
    lines = [
        f"{len(kernels)} kernels x {problems} problems: {plan.cells} outcomes with all splits",
        f"in the store: {plan.known}, {plan.failed} of them failed or not supported",
        f"left: {len(plan.open_contests)} of {len(plan.contests)} rankings, "
        f"{plan.least_visits} to {plan.most_visits} attempts",
    ]
    seconds = plan.estimated_s()
    if plan.open_contests:
        lines.append(
            f"estimated time: {duration(seconds[0])} to {duration(seconds[1])}"
            if seconds is not None
            else "estimated time: unknown, nothing was measured before"
        )
    endings = [one.contest.ending for one in plan.contests if one.contest.ending is not None]
    for ending in Ending:
        if ending in endings:
            lines.append(f"finished ({ending.value}): {endings.count(ending)} rankings")
    return lines
