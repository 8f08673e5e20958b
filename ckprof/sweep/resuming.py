"""Where a sweep resumes: what the store has of a ranking, and what that leaves to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Contest, Ending, KernelCell
from ckprof.model.outcome import Status
from ckprof.store.attempt import MOST_DEVICES_LOST, Mark
from ckprof.store.query import PastVisit

if TYPE_CHECKING:
    from ckprof.measure.rounds import RoundOptions
    from ckprof.model.kernel import SelectedKernel
    from ckprof.sweep.plan import PlanRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBefore:
    """Earlier attempts of a ranking, as far as they count."""

    #: oldest first
    visits: tuple[PastVisit, ...] = ()
    #: the device that they ran on, where a ranking is of one device alone
    device: str = ""
    #: cells that have an outcome already
    cells: frozenset[KernelCell] = frozenset()
    #: those among them that failed or are not supported
    failed: frozenset[KernelCell] = frozenset()
    #: cells that need not run any more, though their rounds do not count
    out: frozenset[KernelCell] = frozenset()
    #: cells that are left out, because the device was lost beside their kernel too often
    given_up: tuple[KernelCell, ...] = ()
    #: median wall seconds of an attempt on any device; ``None`` if nothing was measured
    visit_s: float | None = None


def resumed(
    past: Sequence[PastVisit],
    cells: Sequence[KernelCell],
    kernels: Mapping[str, SelectedKernel],
    request: PlanRequest,
) -> tuple[Contest[KernelCell], tuple[int, int] | None, MeasuredBefore]:
    """Return the rounds that are left of a ranking, how they are dealt, and what counts of earlier attempts.

    Left out are attempts with other builds of a kernel, on devices that were found slow afterwards, and those
    that ended before the kernel was launched; and kernels beside which the device was lost too often, unless
    failures are tried again.

    :param past: attempts on the problem, oldest first.
    :param cells: what competes.
    :param kernels: content key -> kernel.
    """
    killers = frozenset() if request.fresh or request.retry_failed else _lost_devices(past, kernels)
    given_up = tuple(cell for cell in cells if cell.instance in killers)
    if given_up:
        cells = tuple(cell for cell in cells if cell.instance not in killers)
    visits = usable(past, kernels)
    seconds = [visit.wall_s for visit in visits if visit.wall_s]
    before = replace(
        request.counting(visits, cells, request),
        given_up=given_up,
        visit_s=median(seconds) if seconds else None,
    )
    if before.out:
        cells = tuple(cell for cell in cells if cell not in before.out)
    if request.fresh:
        last_round = max((visit.round for visit in visits), default=0)
        contest: Contest[KernelCell] = Contest(cells, request.rounds, rounds_before=last_round)
        return contest, request.rounds.shares, before
    history = History(before.visits, request)
    measured = frozenset(cell for cell in cells if cell in history.visits) if before.visits else frozenset()
    failed = {cell for cell in measured if any(timing is None for _, timing in history.visits[cell])}
    before = replace(before, cells=measured | before.out, failed=before.failed | failed)
    return *_in_enough_processes(history, cells, request.rounds), before


def whole_rankings(
    visits: Sequence[PastVisit], cells: Sequence[KernelCell], request: PlanRequest
) -> MeasuredBefore:
    """Count what ran beside all other kernels of its ranking, on whatever device."""
    del cells, request
    return MeasuredBefore(
        visits=tuple(visit for visit in visits if not visit.marks or Mark.PART not in visit.all_marks)
    )


#: (usable attempts, cells, request) -> which of them count, and what need not run because of the others
Counting: TypeAlias = Callable[[Sequence[PastVisit], Sequence[KernelCell], "PlanRequest"], MeasuredBefore]


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
        self.visits: dict[KernelCell, list[tuple[int, Timing | None]]] = {}
        self.drifted: set[int] = set()
        self.dropped: dict[KernelCell, int] = {}
        self._processes: dict[KernelCell, set[tuple[str, int]]] = {}
        for visit in visits:
            if visit.marks:
                if Mark.DRIFT in visit.all_marks:
                    self.drifted.add(visit.round)
                if Mark.DROPPED in visit.all_marks:
                    self.dropped[visit.cell] = visit.round
            if visit.status != _OK:
                if not request.retry_failed:
                    self.visits.setdefault(visit.cell, []).append((visit.round, None))
            elif visit.median_ms and visit.wrong_elements == 0:
                timing = Timing(
                    median_ms=visit.median_ms,
                    min_ms=visit.min_ms or visit.median_ms,
                    spread=(visit.spread_ms or 0.0) / visit.median_ms,
                    process=f"{visit.session}/{visit.process}",
                )
                self.visits.setdefault(visit.cell, []).append((visit.round, timing))
                if Mark.DRIFT not in visit.all_marks:
                    self._processes.setdefault(visit.cell, set()).add((visit.session, visit.process))

    def resumed(self, cells: Sequence[KernelCell], rounds: RoundOptions) -> Contest[KernelCell]:
        """Return the rounds that go on from there."""
        contest: Contest[KernelCell] = Contest(cells, rounds)
        if self.visits:
            contest.resume(self.visits, self.drifted, self.dropped)
        if not cells:
            contest.ending = Ending.NO_CONTEST
        return contest

    def processes(self, cells: Iterable[KernelCell]) -> int:
        """Return in how many processes each of some cells was measured at least, in rounds that count."""
        return min((len(self._processes.get(cell, ())) for cell in cells), default=0)


def _in_enough_processes(
    history: History, cells: Sequence[KernelCell], rounds: RoundOptions
) -> tuple[Contest[KernelCell], tuple[int, int] | None]:
    """Return the rounds that are left, and how they are dealt so that the processes are as many as asked for.

    Where all rounds there may be were measured in fewer processes, each that is missing gets a round.
    """
    contest = history.resumed(cells, rounds)
    if rounds.shares is None:
        return contest, None
    missing = rounds.processes - history.processes(contest.active)
    if missing <= 0 or contest.ending is Ending.NO_CONTEST:
        return contest, rounds.shares
    least = max(rounds.least_rounds, contest.rounds + missing)
    more = replace(rounds, min_rounds=least, max_rounds=max(rounds.max_rounds, least))
    return history.resumed(cells, more), (missing, least - contest.rounds)
