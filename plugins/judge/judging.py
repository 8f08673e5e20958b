"""The judgement: launches on the problems that are asked for and at boundaries, and what they say."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.errors import InputError
from ckprof.events import Message
from ckprof.formatting import counted
from ckprof.measure.options import RunOptions
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.outcome import Outcome, Status
from ckprof.option import Limits, device_choice, limits, same_option, settable
from ckprof.settings import Settings
from ckprof.sweep.requests import SweepOptions
from ckprof_plugins.judge.bench import (
    Bench,
    NoRoomError,
    Operands,
    Place,
    Task,
    outcome_of,
    prepared,
    untimed,
)
from ckprof_plugins.judge.candidate import digest_of
from ckprof_plugins.judge.places import Reached, reached, smaller
from ckprof_plugins.judge.sanitizers import sanitized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.profiler import Profiler
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.timing import Comparison, Time

#: shares of the budget after which no further problem is begun, and after which none is made smaller
_LOOKING_SHARE: Final = 0.6
_SMALLER_SHARE: Final = 0.9
#: problems that sanitizers see, and operations of each, at most
_SANITIZED: Final = 12
_SMALL_FLOP: Final = 2e6
#: launches on one problem, and seconds that they may take, by which what changes with their number is found
_MOST_LAUNCHES: Final = 40
_LAUNCHES_S: Final = 4.0
#: processes in which a launch that was wrong is repeated alone
_REPEATS: Final = 3
#: part of magnitudes that elements of a result may differ by which are those of another launch, and the share
#: of such elements
_NEAR: Final = 0.01
_STALE_SHARE: Final = 0.9
#: problems on which what is smaller is looked for
_MOST_ROUNDS: Final = 12
#: fills memory that is allocated with bytes that are large numbers in every type: glibc's own
FILLED: Final = {"MALLOC_PERTURB_": "1"}


def _looks_like(result: NDArray[np.float64] | None, before: PreparedProblem) -> str:
    """Return what a wrong result is, if it is that of a launch before; signs do not count.

    :param before: what that launch was.
    """
    reference = before.reference
    if result is None or reference is None:
        return ""
    if np.isnan(result).all():
        return "writes nothing"
    earlier = np.abs(reference[: reference.size])
    known = np.isfinite(earlier)
    near = np.abs(np.abs(result) - earlier) <= _NEAR * (earlier + float(earlier[known].max(initial=0.0)))
    is_stale = float(near[known].mean()) > _STALE_SHARE
    return "returns the result of that launch" if is_stale else ""


class Verdict(Enum):
    """What a candidate is."""

    RIGHT = "right"
    WRONG = "wrong"
    DISHONEST = "dishonest"
    #: it does not support a problem that it was asked for
    REFUSED = "refused"


class Shortcoming(Enum):
    """What else ``--fail-on`` may name."""

    #: significantly slower than a baseline, or than the best kernel that a store knows
    SLOWER = "slower"
    #: the budget ended before all problems were tried
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """How long, and how strictly."""

    budget_s: float | None = field(default=300.0, metadata=same_option(SweepOptions, "max_time_s"))
    seed: int | None = settable(
        None, "seed of what is drawn at random (default: another one each time)", metavar="N"
    )
    timeout_s: float = settable(Settings().timeout, "seconds for one launch", flag="--timeout", metavar="S")
    fail_on: Limits[Shortcoming] = settable(
        (),
        "what else is exit code 1 beside wrong and dishonest candidates: slower[=N%], incomplete",
        metavar="NAME,...",
        parse=lambda text: limits(Shortcoming, text, (Shortcoming.SLOWER,)),
    )
    device: int | str | None = settable(
        None,
        "of libraries that 'ckprof build' made for a device: its index, or the name of one that a target "
        "brings along",
        metavar="N|NAME",
        parse=device_choice,
    )
    checks: tuple[str, ...] = field(default=(), metadata=same_option(RunOptions, "checks"))
    cpu_threads: int = settable(
        0, "CPU threads that the candidate is asked to use", flag="--threads", metavar="N"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a candidate is not right."""

    verdict: Verdict
    #: one sentence
    evidence: str
    #: the smallest problem that shows it
    place: Place
    operands: Operands
    outcome: Outcome
    #: where it was found, and what that problem is at; the same place where nothing smaller shows it
    found_on: Place
    kind: str


class Judge:
    """One judgement.

    :param candidate: opened.
    :param task: what it is judged by.
    :param asked: the problems.
    """

    def __init__(
        self,
        profiler: Profiler,
        candidate: Candidate,
        task: Task,
        asked: list[Place],
        options: JudgeOptions,
        folder: Path,
    ) -> None:
        self.profiler, self.candidate, self.task, self.asked = profiler, candidate, task, asked
        self.options, self.folder = options, folder
        self.seed = secrets.randbelow(2**31) if options.seed is None else options.seed
        self.run_options = replace(
            untimed(options.timeout_s, self.seed),
            cpu_threads=options.cpu_threads,
            device=options.device or 0,
            checks=options.checks,
        )
        self._started = time.monotonic()
        self._drawn = 0
        self.finding: Finding | None = None
        #: problems beyond those that are asked for: planned, and those on which it was right and refused
        self.planned: list[Reached] = []
        self.right: list[Reached] = []
        self.refused: list[Reached] = []
        #: launches that were verified one by one
        self.launches = 0
        #: what keeps the candidate from other processes, and what it says of itself
        self.isolation = ""
        self.device = ""
        self.hand_over_ms = 0.0
        self.times: list[Time] = []
        self.comparisons: list[Comparison] = []
        #: names of the sanitizers that it was tried with
        self.sanitizers: list[str] = []

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def verdict(self) -> Verdict:
        """What it is, as far as is known."""
        return Verdict.RIGHT if self.finding is None else self.finding.verdict

    @property
    def complete(self) -> bool:
        """Whether every problem was tried."""
        return self.finding is None and len(self.right) + len(self.refused) == len(self.planned)

    @property
    def shortcomings(self) -> list[str]:
        """What of ``--fail-on`` applies, as it is named there."""
        asked, found = self.options.fail_on, []
        if self.verdict is Verdict.RIGHT and Shortcoming.INCOMPLETE in asked and not self.complete:
            found.append(Shortcoming.INCOMPLETE.value)
        if Shortcoming.SLOWER in asked:
            least = 0.0 if isinstance(asked, tuple) else asked[Shortcoming.SLOWER]
            found += [f"slower than {one.name}" for one in self.comparisons if one.is_slower(least)]
        return found

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until a share of the budget is spent; infinity without a budget."""
        budget_s = self.options.budget_s
        return math.inf if budget_s is None else self._started + share * budget_s - time.monotonic()

    def emit(self, text: str) -> None:
        """Tell whoever listens what comes next."""
        self.profiler.emit(Message(text))

    # --- what is done -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Judge whether it is right; what is slower or faster comes later.

        :raises InputError: the candidate cannot be loaded, or a problem that is asked for does not fit.
        """
        with self.bench(FILLED) as bench, ExitStack() as stack:
            self.device = bench.open()
            # some are imported in launches
            stack.callback(self._note_imports, bench)
            self.isolation, self.hand_over_ms = bench.seen.isolation, bench.seen.hand_over_ms
            if (evidence := bench.seen.evidence) and self.asked:
                self.note(Verdict.DISHONEST, evidence, self.asked[0], Operands(False, 0), None, "loading")
                return
            splits = bench.seen.splits
            for place in self.asked:
                if not self._asked(bench, place):
                    return
            usual = self.asked[0].problem
            self.planned = [
                one
                for one in reached(self.task, usual, self.seed, splits=splits)
                if one.place not in self.asked
            ]
            self.emit(f"{counted(len(self.planned), 'further problem')} at boundaries")
            small = [one for one in self.planned if one.place.problem.flop <= _SMALL_FLOP][:_SANITIZED]
            self._look_at(bench, small)
            self._sanitize()
            self._look_at(bench, [one for one in self.planned if one not in small])

    def _note_imports(self, bench: Bench) -> None:
        imported = {path: digest_of(Path(path)) for path in bench.seen.files if Path(path).is_file()}
        self.candidate = replace(self.candidate, digests={**self.candidate.digests, **imported})

    def _look_at(self, bench: Bench, places: Sequence[Reached]) -> None:
        """Look at problems, until something is wrong or the time for them is over."""
        for one in places:
            if self.finding is not None or self.seconds_left(_LOOKING_SHARE) <= 0:
                return
            try:
                outcome = self._looked_at(bench, one.place, one.kind, (True, False))
            except NoRoomError:
                continue
            if self.finding is None:
                supported = outcome.status is not Status.UNSUPPORTED
                (self.right if supported else self.refused).append(one)

    def _sanitize(self) -> None:
        """Launch a source that is right on small problems on these again, as sanitizers see it."""
        places = [Reached(self.asked[0], "asked", ""), *self.right]
        if self.finding is not None or self.seconds_left(_LOOKING_SHARE) <= 0:
            return
        for name, candidate in sanitized(self.candidate):
            with Bench(candidate, self.task, self.folder, self.run_options) as bench:
                try:
                    bench.open()
                except (InputError, WorkerFailure) as failure:
                    self.emit(f"not tried with the {name} sanitizer: {failure}")
                    continue
                self.sanitizers.append(name)
                for one in places:
                    if self.seconds_left(_LOOKING_SHARE) <= 0:
                        return
                    operands = self._operands(exact=False)
                    outcome = self._trial(bench, one.place, operands)
                    # it is slower there
                    if outcome.status.is_failure and outcome.status is not Status.RUN_TIMEOUT:
                        evidence = f"with the {name} sanitizer: {outcome.reason}"
                        self.note(Verdict.WRONG, evidence, one.place, operands, outcome, one.kind)
                        return

    def bench(self, variables: dict[str, str] | None = None) -> Bench:
        """Return a bench of the candidate."""
        return Bench(self.candidate, self.task, self.folder, self.run_options, variables)

    def _asked(self, bench: Bench, place: Place) -> bool:
        """Look at a problem that is asked for; say whether it is right there."""
        outcome = self._looked_at(bench, place, "asked", (True, False, False))
        if outcome.status is Status.UNSUPPORTED and self.finding is None:
            reason = f"it does not support the problem: {outcome.reason}"
            self.note(Verdict.REFUSED, reason, place, Operands(False, 0), outcome, "asked")
        if self.finding is None:
            self._look_at_many(bench, place)
        return self.finding is None

    def _looked_at(self, bench: Bench, place: Place, kind: str, exact: tuple[bool, ...]) -> Outcome:
        """Launch it on several sets of operands, and judge what is wrong; return the last outcome."""
        operation = self.task.operation
        can_be_exact = operation.is_exact(place.problem) and not self.task.types.is_exact
        outcome: Outcome | None = None
        for wants in dict.fromkeys(exact) if not can_be_exact else exact:
            if wants and not can_be_exact:
                continue
            operands = self._operands(exact=wants)
            outcome = self._trial(bench, place, operands)
            if outcome.status.is_failure:
                self._judge(bench, place, operands, outcome, kind)
                return outcome
        if outcome is None:
            outcome = self._trial(bench, place, operands := self._operands(exact=False))
            if outcome.status.is_failure:
                self._judge(bench, place, operands, outcome, kind)
        return outcome

    def _operands(self, *, exact: bool) -> Operands:
        self._drawn += 1
        return Operands(exact, self.seed + self._drawn)

    def _trial(self, bench: Bench, place: Place, operands: Operands) -> Outcome:
        outcome = outcome_of(bench, self.task, place, operands, self.run_options)
        self.launches += outcome.status is Status.OK
        return outcome

    def _look_at_many(self, bench: Bench, place: Place) -> None:
        """Launch it many times, each launch verified: what changes with their number is found."""
        operands = self._operands(exact=False)
        outcomes: list[Outcome] = []
        with self._given(place, operands) as given:
            until = time.monotonic() + _LAUNCHES_S
            while len(outcomes) < _MOST_LAUNCHES and (not outcomes or time.monotonic() < until):
                outcomes.append(bench.trial(given, place.split_k))
                if bench.seen.evidence or outcomes[-1].status is Status.RUN_TIMEOUT:
                    break
        self.launches += sum(one.status is Status.OK for one in outcomes)
        wrong = [number for number, one in enumerate(outcomes) if one.status.is_failure]
        if not wrong:
            return
        outcome, first, count = outcomes[wrong[0]], wrong[0], len(outcomes)
        if bench.seen.evidence:
            verdict, evidence = Verdict.DISHONEST, bench.seen.evidence
        elif outcome.status is Status.WRONG_RESULT and first > 0 and len(wrong) == count - first > 1:
            verdict = Verdict.DISHONEST
            evidence = f"right in its first launches, wrong in all of the last {len(wrong)} of {count}"
            evidence += f": {outcome.reason}"
        else:
            verdict = Verdict.WRONG
            evidence = f"wrong now and then, in {len(wrong)} of {count} launches: {outcome.reason}"
        self.note(verdict, evidence, place, operands, outcome, "many launches")

    # --- what is wrong ------------------------------------------------------------------------------------

    def _judge(self, bench: Bench, place: Place, operands: Operands, outcome: Outcome, kind: str) -> None:
        """Find out what a failure means: alone in new processes, after other operands, with less."""
        if evidence := bench.seen.evidence:
            self.note(Verdict.DISHONEST, evidence, place, operands, outcome, kind)
            return
        self.emit(f"it fails on {place.problem.describe()}: {outcome.reason}")
        hangs = outcome.status is Status.RUN_TIMEOUT
        alone, later, told = [], [], []
        for number in range(1 if hangs else 2 * _REPEATS):
            bench.new_process()
            # after a launch with other operands, and with the same ones, whose signs differ in each launch
            first = operands if number % 2 else self._operands(exact=operands.exact)
            with self._given(place, first) as before, self._given(place, operands) as given:
                failed = bench.trial(given if number % 2 else before, place.split_k).status.is_failure
                if number % 2 or hangs:
                    alone.append(failed)
                if not hangs:
                    later.append(bench.trial(given, place.split_k).status.is_failure)
                    told.append(_looks_like(bench.result(given), before))
        if all(alone):
            self.note(Verdict.WRONG, outcome.reason, place, operands, outcome, kind)
            if not hangs:
                self._make_smaller(bench)
            return
        new = counted(_REPEATS, "new process", "new processes")
        evidence, verdict = f"right in the first launch of {new}", Verdict.DISHONEST
        if told and not any(alone) and all(later[::2]) and all(told[::2]):
            evidence += f", after one with other operands it {told[0]}: {outcome.reason}"
        elif told and not any(alone) and all(later[1::2]) and all(told[1::2]):
            evidence += f", in the second one it {told[1]}: {outcome.reason}"
        else:
            tried = [True, *alone, *later]
            verdict = Verdict.WRONG
            evidence = f"wrong in {sum(tried)} of {len(tried)} launches with the same operands, "
            evidence += "now and then or after other launches in its process"
            evidence += f": {outcome.reason}"
        self.note(verdict, evidence, place, operands, outcome, kind)

    def _given(self, place: Place, operands: Operands) -> AbstractContextManager[PreparedProblem]:
        return prepared(self.task, place, operands, self.run_options)

    def note(
        self,
        verdict: Verdict,
        evidence: str,
        place: Place,
        operands: Operands,
        outcome: Outcome | None,
        kind: str,
    ) -> None:
        """Take note of why it is not right."""
        failed = outcome or Outcome(key="", problem_index=0, status=Status.RUN_ERROR, reason=evidence)
        self.finding = Finding(
            verdict=verdict,
            evidence=evidence,
            place=place,
            operands=operands,
            outcome=failed,
            found_on=place,
            kind=kind,
        )

    def _make_smaller(self, bench: Bench) -> None:
        """Look for the smallest problem on which it fails alike, as far as there is time."""
        for _ in range(_MOST_ROUNDS):
            found = self._smaller_one(bench)
            if found is None:
                return
            self.finding = found

    def _smaller_one(self, bench: Bench) -> Finding | None:
        known = self.finding
        if known is None:
            return None
        for place in smaller(known.place, self.task):
            if self.seconds_left(_SMALLER_SHARE) <= 0:
                return None
            outcome = self._trial(bench, place, known.operands)
            if outcome.status is known.outcome.status:
                return replace(known, place=place, outcome=outcome, evidence=outcome.reason)
        return None
