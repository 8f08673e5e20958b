"""Running a plan: one attempt after the other, each stored before the next begins."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from ckprof.events import Level, Message
from ckprof.measure.rounds_loop import RoundsLoop, timing_of
from ckprof.session import ignore
from ckprof.store.attempt import Attempt, Mark
from ckprof.sweep.requests import SweepProgress
from ckprof.wording import change, factor

if TYPE_CHECKING:
    from ckprof.events import Event
    from ckprof.measure.rounds import KernelCell, RoundReport
    from ckprof.measure.rounds_loop import Bench, Sample
    from ckprof.model.outcome import Status
    from ckprof.model.ranking import Standing
    from ckprof.sweep.plan import Plan, PlannedContest
    from ckprof.sweep.recording import Recorder


class Stop(Enum):
    """Why a sweep ended."""

    #: nothing is left to do
    DONE = "done"
    MAX_TIME = "max-time"
    #: asked for from outside: Ctrl-C, SIGTERM, SIGHUP
    REQUESTED = "requested"


@dataclass(slots=True, kw_only=True)
class Summary:
    """What a sweep did, or has done so far."""

    stop: Stop = Stop.DONE
    wall_s: float = 0.0
    #: of the attempts of this session
    statuses: Counter[Status] = field(default_factory=Counter)
    #: rankings that are finished, and all of them
    contests_done: int
    contests: int
    rounds: int = 0
    drifted_rounds: int = 0
    dropped: int = 0
    #: how often another worker process took over between rounds, and the seconds it took
    turns: int = 0
    turning_s: float = 0.0
    #: position of the problem, and what is known of its first place, of each ranking that is finished
    standings: list[tuple[int, Standing]] = field(default_factory=list)
    #: warning -> how often
    warnings: Counter[str] = field(default_factory=Counter)

    @property
    def attempts(self) -> int:
        """Attempts of this session."""
        return self.statuses.total()

    @property
    def failures(self) -> int:
        """Attempts that failed."""
        return sum(count for status, count in self.statuses.items() if status.is_failure)


@dataclass(slots=True, kw_only=True)
class Watch:
    """What the caller of a sweep is notified of, and how it ends one."""

    #: called with what happens, see :mod:`ckprof.sweep.requests`
    tell: Callable[[Event], None] = ignore
    #: called with each visit, and its attempt, after it is stored
    on_stored: Callable[[Sample, Attempt], None] = lambda sample, attempt: None
    #: asked before every attempt
    should_stop: Callable[[], bool] = lambda: False
    #: seconds after which no further attempt begins
    max_time_s: float | None = None
    clock: Callable[[], float] = time.monotonic


class Sweep:
    """Runs the open contests of a plan.

    :param bench: where to measure.
    :param recorder: stores each attempt before the next begins.
    """

    def __init__(self, plan: Plan, bench: Bench, recorder: Recorder, watch: Watch) -> None:
        self._plan = plan
        self._recorder = recorder
        self._watch = watch
        self._loop = RoundsLoop(
            bench=bench,
            on_warning=lambda text: watch.tell(Message(text, Level.WARNING)),
            on_device_lost=recorder.add_lost,
            should_stop=self._should_stop,
            clock=watch.clock,
        )
        contests = len(plan.contests)
        self._summary = Summary(
            contests=contests,
            contests_done=contests - len(plan.open_contests),
            warnings=self._loop.warnings,
        )
        self._visit_s = plan.usual_visit_s
        self._started = 0.0
        #: attempts that the contests after the current one still take at most
        self._left_later = plan.most_visits
        #: name and time of the fastest attempt on the current problem
        self._best: tuple[str, float] | None = None

    def run(self) -> Summary:
        """Measure until nothing is left, the time is over, or a stop is requested.

        :raises CkprofError: attempts cannot be stored or measured any more; what is stored stays.
        """
        self._started = self._watch.clock()
        for planned in self._plan.open_contests:
            self._best = None
            self._left_later -= planned.contest.remaining_visits
            for sample in self._loop.run(planned, partial(self._after_round, planned)):
                self._store(planned, sample)
            if self._summary.stop is not Stop.DONE:
                break
            self._summary.contests_done += 1
        self._summary.standings = self._plan.standings
        self._summary.wall_s = self._watch.clock() - self._started
        self._summary.turns, self._summary.turning_s = self._loop.turns, self._loop.turning_s
        return self._summary

    def _should_stop(self) -> bool:
        limit = self._watch.max_time_s
        if self._watch.should_stop():
            self._summary.stop = Stop.REQUESTED
        elif limit is not None and self._watch.clock() - self._started >= limit:
            self._summary.stop = Stop.MAX_TIME
        return self._summary.stop is not Stop.DONE

    def _store(self, planned: PlannedContest, sample: Sample) -> None:
        attempt = self._recorder.add(sample)
        self._summary.statuses[attempt.status] += 1
        wall_s = attempt.conditions.wall_s or 0.0
        self._visit_s = wall_s if self._visit_s is None else 0.9 * self._visit_s + 0.1 * wall_s
        if Mark.BIMODAL in attempt.marks:
            text = f"the samples of {attempt.kernel.name} fall into two groups: the machine has two speeds"
            self._loop.warn(text, kind="samples in two groups")
        if Mark.CUT_OFF in attempt.marks:
            text = f"{attempt.kernel.name} got too little time for its samples; see --round-time"
            self._loop.warn(text, kind="samples cut off")
        if Mark.NOT_LAUNCHED in attempt.marks:
            text = f"kernels cannot be launched, {attempt.reason}; the same command measures them again"
            self._loop.warn(text, kind="kernels that were not launched")
        self._watch.on_stored(sample, attempt)
        timing = timing_of(sample.outcome)
        if timing is not None and (self._best is None or timing.median_ms < self._best[1]):
            self._best = attempt.kernel.name, timing.median_ms
        if attempt.status.is_failure:
            text = f"{attempt.status.value}: {attempt.kernel.name} {attempt.reason}".rstrip()
            self._watch.tell(Message(text, Level.DETAIL))
        left = self._left_later + planned.contest.remaining_visits
        self._watch.tell(
            SweepProgress(
                contests_done=self._summary.contests_done,
                contests=self._summary.contests,
                attempts=self._summary.attempts,
                failures=self._summary.failures,
                left=left,
                eta_s=self._visit_s * left if self._visit_s is not None else None,
                last=attempt,
                best=self._best,
            )
        )

    def _after_round(self, planned: PlannedContest, report: RoundReport[KernelCell]) -> None:
        self._summary.rounds += 1
        self._summary.dropped += len(report.dropped)
        self._summary.drifted_rounds += report.drifted
        self._recorder.end_round(report)
        tell, kernels = self._watch.tell, planned.kernels
        where = f"problem {planned.problem_index}, round {report.round}"
        if report.drifted and report.drift is not None:
            moved = change(math.exp(report.drift))
            tell(Message(f"{where}: the reference kernel moved by {moved}; the round is repeated"))
        for cell, ratio in report.dropped.items():
            text = f"{where}: {kernels[cell.instance].name} leaves, {factor(ratio)} the time of the best"
            tell(Message(text, Level.DETAIL))
        if report.ending is not None:
            best = kernels[report.best.instance].name if report.best is not None else "none"
            tell(Message(f"{where}: {report.ending.value}, best: {best}", Level.DETAIL))
