"""Running a plan: one attempt after the other, each stored before the next begins."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.report.rows import NOISY_SHARE
from ckprof.rounds.visit import RoundReport, Timing, Visit
from ckprof.store.attempt import Attempt, Conditions, Mark, Session
from ckprof.store.key import KernelKey, MeasurementKey
from ckprof.sweep.observer import Reading
from ckprof.sweep.plan import KernelCell, Plan, PlannedContest
from ckprof.sweep.shape import is_bimodal


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitResult:
    """What became of one attempt."""

    status: Status
    reason: str = ""
    requirements: tuple[str, ...] = ()
    split_chosen: int | None = None
    measurement: Measurement | None = None
    verification: Verification | None = None
    workspace_bytes: int | None = None
    #: time was over before the stopping criterion held
    cut_off: bool = False


class Bench(Protocol):
    """Where kernels are measured."""

    def open_problem(self, planned: PlannedContest) -> None:
        """Prepare operands and reference of a problem; called before its first attempt."""

    def measure(self, planned: PlannedContest, visit: Visit[KernelCell]) -> VisitResult:
        """Measure one kernel once: verified, timed, and its last output compared again."""

    def observe(self) -> Reading:
        """Return evidence about the machine; called once per round."""


class Sink(Protocol):
    """Where attempts go: the writer of a store, or of a shard."""

    def append(self, attempt: Attempt) -> bool:
        """Add an attempt durably."""

    def add_marks(self, marks: Iterable[tuple[str, int, Mark]]) -> None:
        """Mark attempts that were added."""


class Stop(Enum):
    """Why a sweep ended."""

    #: nothing is left to do
    DONE = "done"
    MAX_TIME = "max-time"
    #: asked for from outside: Ctrl-C, SIGTERM, SIGHUP
    REQUESTED = "requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a sweep is."""

    planned: PlannedContest
    #: rankings that are finished, and all of them
    contests_done: int
    contests: int
    #: attempts of this session
    attempts: int
    #: attempts that failed in this session
    failures: int
    #: attempts that are left at most
    left: int
    #: seconds that are left, from what the last attempts took
    eta_s: float | None
    last: Attempt | None
    #: name and time in milliseconds of the fastest attempt on the problem so far
    best: tuple[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a sweep did."""

    stop: Stop
    attempts: int
    wall_s: float
    statuses: Counter[Status]
    contests_done: int
    contests: int
    rounds: int
    drifted_rounds: int
    dropped: int
    #: warning -> how often
    warnings: Counter[str]


@dataclass(slots=True, kw_only=True)
class Watch:
    """What the caller of a sweep is told, and how it ends one."""

    on_progress: Callable[[Progress], None] = lambda progress: None
    on_round: Callable[[PlannedContest, RoundReport[KernelCell]], None] = lambda planned, report: None
    #: told each warning when it is seen for the first time
    on_warning: Callable[[str], None] = lambda text: None
    #: told each attempt after it is stored
    on_attempt: Callable[[PlannedContest, Attempt], None] = lambda planned, attempt: None
    #: asked before every attempt
    should_stop: Callable[[], bool] = lambda: False
    #: seconds after which no further attempt begins
    max_time_s: float | None = None
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class _Tally:
    attempts: int = 0
    rounds: int = 0
    drifted: int = 0
    dropped: int = 0
    done: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)


class Sweep:
    """Runs the open contests of a plan.

    :param plan: what to do.
    :param bench: where to measure.
    :param sink: where attempts go.
    :param session: evidence that all attempts share.
    :param first_sequence: number of the first attempt within the session.
    """

    def __init__(
        self,
        plan: Plan,
        bench: Bench,
        sink: Sink,
        session: Session,
        watch: Watch,
        *,
        first_sequence: int = 0,
    ) -> None:
        self._plan = plan
        self._bench = bench
        self._sink = sink
        self._session = session
        self._watch = watch
        self._first_sequence = first_sequence
        self._tally = _Tally(done=len(plan.contests) - len(plan.open_contests))
        self._reading = Reading()
        #: sequence numbers of this round's attempts, and of each cell's latest one
        self._round_sequences: list[int] = []
        self._latest: dict[KernelCell, int] = {}
        self._visit_s = plan.usual_visit_s
        self._started = 0.0
        #: attempts that the contests behind the current one still take at most
        self._left_later = plan.most_visits
        #: name and time of the fastest attempt on the current problem
        self._best: tuple[str, float] | None = None

    @property
    def attempts(self) -> int:
        """How many attempts there were so far."""
        return self._tally.attempts

    def run(self) -> Summary:
        """Measure until nothing is left, the time is over, or a stop is requested.

        :raises CkprofError: attempts cannot be stored or measured any more; what is stored stays.
        """
        self._started = self._watch.clock()
        stop = Stop.DONE
        for planned in self._plan.open_contests:
            stop = self._run_contest(planned)
            if stop is not Stop.DONE:
                break
            self._tally.done += 1
        tally = self._tally
        return Summary(
            stop=stop,
            attempts=tally.attempts,
            wall_s=self._watch.clock() - self._started,
            statuses=tally.statuses,
            contests_done=tally.done,
            contests=len(self._plan.contests),
            rounds=tally.rounds,
            drifted_rounds=tally.drifted,
            dropped=tally.dropped,
            warnings=tally.warnings,
        )

    def _run_contest(self, planned: PlannedContest) -> Stop:
        contest = planned.contest
        contest.listen(lambda report: self._after_round(planned, report))
        self._round_sequences, self._latest, self._best = [], {}, None
        self._left_later -= contest.remaining_visits
        opened = False
        round_number = 0
        for visit in contest.visits():
            stop = self._reason_to_stop()
            if stop is not None:
                return stop
            if not opened:
                self._bench.open_problem(planned)
                opened = True
            if visit.round != round_number:
                round_number = visit.round
                self._observe()
            attempt = self._attempt(planned, visit)
            contest.record(visit, _timing(attempt))
            self._report(planned, attempt)
        return Stop.DONE

    def _reason_to_stop(self) -> Stop | None:
        if self._watch.should_stop():
            return Stop.REQUESTED
        limit = self._watch.max_time_s
        if limit is not None and self._watch.clock() - self._started >= limit:
            return Stop.MAX_TIME
        return None

    def _observe(self) -> None:
        self._reading = self._bench.observe()
        for text in self._reading.warnings():
            self._warn(text, kind=text.split(" is ")[0])

    def _warn(self, text: str, *, kind: str) -> None:
        if not self._tally.warnings[kind]:
            self._watch.on_warning(text)
        self._tally.warnings[kind] += 1

    def _attempt(self, planned: PlannedContest, visit: Visit[KernelCell]) -> Attempt:
        started = time.time()
        before = self._watch.clock()
        result = self._bench.measure(planned, visit)
        wall_s = self._watch.clock() - before
        attempt = self._make_attempt(planned, visit, result, started, wall_s)
        self._sink.append(attempt)
        self._round_sequences.append(attempt.sequence)
        self._latest[visit.cell] = attempt.sequence
        self._tally.attempts += 1
        self._tally.statuses[result.status] += 1
        self._visit_s = wall_s if self._visit_s is None else 0.9 * self._visit_s + 0.1 * wall_s
        if Mark.BIMODAL in attempt.marks:
            text = f"the samples of {attempt.kernel.name} fall into two groups: the machine has two speeds"
            self._warn(text, kind="samples in two groups")
        if Mark.CUT_OFF in attempt.marks:
            text = f"{attempt.kernel.name} got too little time for its samples; see --round-time"
            self._warn(text, kind="samples cut off")
        self._watch.on_attempt(planned, attempt)
        return attempt

    def _make_attempt(
        self,
        planned: PlannedContest,
        visit: Visit[KernelCell],
        result: VisitResult,
        started: float,
        wall_s: float,
    ) -> Attempt:
        kernel, shared = planned.kernels[visit.cell.instance], planned.shared
        return Attempt(
            key=MeasurementKey(
                operation=shared.operation,
                problem=planned.problem,
                split_k=visit.cell.split_k,
                kernel=KernelKey(instance=kernel.instance, object_digest=kernel.object_digest or ""),
                device=shared.device,
                toolchain=shared.toolchain,
                method=shared.method,
            ),
            session=self._session,
            sequence=self._first_sequence + self._tally.attempts,
            kernel=kernel.info,
            status=result.status,
            reason=result.reason,
            requirements=result.requirements,
            split_chosen=result.split_chosen,
            measurement=result.measurement,
            verification=result.verification,
            workspace_bytes=result.workspace_bytes,
            marks=tuple(self._marks(visit, result)),
            conditions=Conditions(
                started=started,
                round=visit.round,
                order=visit.order,
                wall_s=wall_s,
                load=self._reading.load,
                clock_mhz=self._reading.clock_mhz,
                temperature_c=self._reading.temperature_c,
                extra=self._reading.extra,
            ),
        )

    def _marks(self, visit: Visit[KernelCell], result: VisitResult) -> Iterable[Mark]:
        seen, timing = self._reading, result.measurement
        if visit.reference:
            yield Mark.REFERENCE
        if timing is not None and timing.median_ms > 0 and timing.spread_ms / timing.median_ms > NOISY_SHARE:
            yield Mark.NOISY
        if timing is not None and is_bimodal(timing.samples_ms):
            yield Mark.BIMODAL
        if result.cut_off:
            yield Mark.CUT_OFF
        if seen.load is not None and seen.cores is not None and seen.load > seen.cores + 1:
            yield Mark.BUSY_HOST
        if seen.low_clock:
            yield Mark.LOW_CLOCK
        if seen.other_processes:
            yield Mark.SHARED_DEVICE

    def _after_round(self, planned: PlannedContest, report: RoundReport[KernelCell]) -> None:
        self._tally.rounds += 1
        self._tally.dropped += len(report.dropped)
        uid = self._session.uid
        marks = [(uid, self._latest[cell], Mark.DROPPED) for cell in report.dropped if cell in self._latest]
        if report.drifted:
            self._tally.drifted += 1
            marks += [(uid, sequence, Mark.DRIFT) for sequence in self._round_sequences]
        if marks:
            self._sink.add_marks(marks)
        self._round_sequences = []
        self._watch.on_round(planned, report)

    def _report(self, planned: PlannedContest, attempt: Attempt) -> None:
        timing = _timing(attempt)
        if timing is not None and (self._best is None or timing.median_ms < self._best[1]):
            self._best = attempt.kernel.name, timing.median_ms
        left = self._left_later + planned.contest.remaining_visits
        self._watch.on_progress(
            Progress(
                planned=planned,
                contests_done=self._tally.done,
                contests=len(self._plan.contests),
                attempts=self._tally.attempts,
                failures=sum(count for status, count in self._tally.statuses.items() if status.is_failure),
                left=left,
                eta_s=self._visit_s * left if self._visit_s is not None else None,
                last=attempt,
                best=self._best,
            )
        )


def _timing(attempt: Attempt) -> Timing | None:
    """Return the time of an attempt that may be ranked."""
    measured = attempt.measurement
    if not attempt.ranked or measured is None or measured.median_ms <= 0:
        return None
    return Timing(
        median_ms=measured.median_ms,
        min_ms=measured.min_ms,
        spread=measured.spread_ms / measured.median_ms,
    )
