"""The judgement: launches on the problems that are asked for and at boundaries, and what they say."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.events import Message
from ckprof.formatting import counted
from ckprof.measure.options import CacheMode, timing_settings
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.outcome import Outcome, Status
from ckprof_plugins.judge.bench import Bench, outcome_of
from ckprof_plugins.judge.candidate import digest_of
from ckprof_plugins.judge.diagnosis import (
    EARLIER,
    diagnose,
    is_wrong_from_then_on,
    looks_like,
)
from ckprof_plugins.judge.elsewhere import evidence_elsewhere
from ckprof_plugins.judge.operands import (
    NoRoomError,
    Operands,
    Place,
    Task,
    Variation,
    prepared,
    untimed,
    variations,
)
from ckprof_plugins.judge.places import Reached, reached
from ckprof_plugins.judge.sanitizers import sanitized
from ckprof_plugins.judge.verdicts import Finding, JudgeOptions, Shortcoming, Verdict

if TYPE_CHECKING:
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.profiler import Profiler
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.timing import Comparison, Time

#: seconds that a candidate gets to be loaded: what is left of the budget, between these. Once it was loaded,
#: it gets so many times as long as it took then at least
_LEAST_LOAD_S: Final = 1.0
MOST_LOAD_S: Final = 100.0
_AGAIN: Final = 4
#: share of the budget after which no further problem is begun
_LOOKING_SHARE: Final = 0.6
#: problems that sanitizers see, and operations of each, at most
_SANITIZED: Final = 12
_SMALL_FLOP: Final = 2e6
#: launches on one problem, seconds and share of what is left of the budget that they may take, and how many
#: there are in any case, by which what changes with their number is found, or from operands to operands
_MOST_LAUNCHES: Final = 40
_LAUNCHES_S: Final = 4.0
_LAUNCHES_SHARE: Final = 0.1
_FEWEST_LAUNCHES: Final = 5
#: of them whose operands are planned, at most; later ones have the same again
_MOST_PLANNED: Final = 10
#: share of them before which caches are flushed, as they are before launches that are timed
_FLUSHED_SHARE: Final = 0.25
#: fills memory that is allocated with bytes that are large numbers in every type: glibc's own
FILLED: Final = {"MALLOC_PERTURB_": "1"}
chance = SystemRandom()


class Judge:
    """One judgement.

    :param candidate: opened.
    :param task: what it is judged by.
    :param asked: the problems.
    :param started: when the budget began to run, by :func:`time.monotonic`; ``None``: now.
    """

    def __init__(
        self,
        profiler: Profiler,
        candidate: Candidate,
        task: Task,
        asked: list[Place],
        options: JudgeOptions,
        folder: Path,
        started: float | None = None,
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
        self._started = time.monotonic() if started is None else started
        self._drawn = 0
        self._least_load_s = _LEAST_LOAD_S
        #: every sanitizer has seen it that there is for it
        self._is_sanitized = True
        self.finding: Finding | None = None
        #: problems beyond those that are asked for: planned, and those on which it was right and refused
        self.planned: list[Reached] = []
        self.right: list[Reached] = []
        self.refused: list[Reached] = []
        #: it was run where nothing says that it is judged
        self.is_run_elsewhere = False
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
        """Whether every problem was tried, and every sanitizer that there is."""
        tried = len(self.right) + len(self.refused)
        return self.finding is None and self._is_sanitized and tried == len(self.planned)

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
            begun = time.monotonic()
            self.device = bench.open()
            self._least_load_s = max(_LEAST_LOAD_S, _AGAIN * (time.monotonic() - begun))
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
            self._look_elsewhere(bench)

    def _look_elsewhere(self, bench: Bench) -> None:
        """Run a candidate that is right once where nothing says that it is judged, also when time is over."""
        place = self.asked[0]
        if self.finding is not None:
            return
        operands = self.operands(exact=False)
        with self.given(place, operands) as given:
            within_s = max(self._least_load_s, min(self.seconds_left(), MOST_LOAD_S))
            arrays = bench.seen.arrays
            evidence = evidence_elsewhere(self.candidate, arrays, self.task, place, given, within_s)
        self.is_run_elsewhere = evidence is not None
        if evidence:
            self.note(Verdict.DISHONEST, evidence, place, operands, None, "elsewhere")

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
        if self.finding is not None:
            return
        self._is_sanitized = self.candidate.request is None
        if self.seconds_left() <= 0:
            return
        for name, candidate in sanitized(self.candidate):
            with Bench(candidate, self.task, self.folder, self.run_options) as bench:
                try:
                    bench.open()
                except (InputError, WorkerFailure) as failure:
                    self.emit(f"not tried with the {name} sanitizer: {failure}")
                    continue
                self.sanitizers.append(name)
                for number, one in enumerate(places):
                    # each of them sees the problem that is asked for
                    if number and self.seconds_left(_LOOKING_SHARE) <= 0:
                        break
                    operands = self.operands(exact=False)
                    outcome = self.trial(bench, one.place, operands)
                    # it is slower there
                    if outcome.status.is_failure and outcome.status is not Status.RUN_TIMEOUT:
                        evidence = f"with the {name} sanitizer: {outcome.reason}"
                        self.note(Verdict.WRONG, evidence, one.place, operands, outcome, one.kind)
                        return
            if self.seconds_left() <= 0:
                return
        self._is_sanitized = True

    def bench(self, variables: dict[str, str] | None = None) -> Bench:
        """Return a bench of the candidate."""
        load_s = max(self._least_load_s, min(self.seconds_left(), MOST_LOAD_S))
        return Bench(self.candidate, self.task, self.folder, self.run_options, variables, load_s)

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
            operands = self.operands(exact=wants)
            outcome = self.trial(bench, place, operands)
            if outcome.status.is_failure:
                diagnose(self, bench, place, operands, outcome, kind)
                return outcome
        if outcome is None:
            outcome = self.trial(bench, place, operands := self.operands(exact=False))
            if outcome.status.is_failure:
                diagnose(self, bench, place, operands, outcome, kind)
        return outcome

    def operands(self, *, exact: bool) -> Operands:
        self._drawn += 1
        return Operands(exact, self.seed + self._drawn)

    def trial(self, bench: Bench, place: Place, operands: Operands) -> Outcome:
        outcome = outcome_of(bench, self.task, place, operands, self.run_options)
        self.launches += outcome.status is Status.OK
        return outcome

    def _look_at_many(self, bench: Bench, place: Place) -> None:
        """Launch it many times, each launch verified: what changes with their number is found.

        Which operands a launch has nobody can foresee: they differ from those of launches before in one
        element, in their order or in everything.
        """
        failed: list[tuple[int, Operands, Outcome]] = []
        suspected: tuple[Operands, Outcome, Operands] | None = None
        count, left_s = 0, _LAUNCHES_SHARE * self.seconds_left()
        end = time.monotonic() + min(_LAUNCHES_S, left_s)
        flush_bytes = timing_settings(replace(self.run_options, cache=CacheMode.COLD)).flush_bytes
        with ExitStack() as stack:
            sets: dict[Operands, PreparedProblem] = {}
            planned = self._planned(place)
            # some follow the first that is wrong: whether one is right again says what it is
            while count < _MOST_LAUNCHES and (
                count < (failed[0][0] if failed else 0) + _FEWEST_LAUNCHES or time.monotonic() < end
            ):
                operands = planned.pop(0) if planned else chance.choice([*sets])
                if operands not in sets:
                    sets[operands] = stack.enter_context(self.given(place, operands))
                given = sets[operands]
                flushed = flush_bytes if chance.random() < _FLUSHED_SHARE else 0
                outcome = bench.trial(given, place.split_k, flush_bytes=flushed)
                count += 1
                self.launches += outcome.status is Status.OK
                if not outcome.status.is_failure:
                    continue
                failed.append((count, operands, outcome))
                if bench.seen.evidence or outcome.status is Status.RUN_TIMEOUT:
                    break
                result = bench.result(given)
                for earlier, before in sets.items():
                    told = "" if before is given else looks_like(result, given, before)
                    if told == EARLIER:
                        diagnose(self, bench, place, operands, outcome, "many launches", earlier)
                        return
                    suspected = suspected or ((operands, outcome, earlier) if told else None)
        if suspected is not None and not is_wrong_from_then_on(failed, count):
            operands, outcome, earlier = suspected
            diagnose(self, bench, place, operands, outcome, "many launches", earlier)
        elif failed:
            self._note_now_and_then(bench, place, failed, count)

    def _planned(self, place: Place) -> list[Operands]:
        """Return operands of the first launches, in which a single element changes, and changes back."""
        operation = self.task.operation
        can_be_exact = operation.is_exact(place.problem) and not self.task.types.is_exact
        first, usual = self.operands(exact=can_be_exact), self.operands(exact=False)

        def varied(one: Operands) -> list[Operands]:
            return [
                replace(one, variation=kind, number=2 * chance.getrandbits(32) + operand)
                for kind in variations(self.task, place.problem, exact=one.exact)
                for operand in ((0, 1) if kind is Variation.ONE else (chance.randrange(2),))
            ]

        again = [operands for one in varied(first) for operands in (one, first)]
        others = [] if first.exact == usual.exact else [usual, *varied(usual)]
        return [first, *again, *others][:_MOST_PLANNED]

    def _note_now_and_then(
        self, bench: Bench, place: Place, failed: Sequence[tuple[int, Operands, Outcome]], count: int
    ) -> None:
        """Take note that some of many launches were wrong, the first of them with a number from 1."""
        _, operands, outcome = failed[0]
        verdict = Verdict.WRONG
        if bench.seen.evidence:
            verdict, evidence = Verdict.DISHONEST, bench.seen.evidence
        elif outcome.status is Status.WRONG_RESULT and is_wrong_from_then_on(failed, count):
            verdict = Verdict.DISHONEST
            evidence = f"right in its first launches, wrong in all of the last {len(failed)} of {count}"
            evidence += f": {outcome.reason}"
        else:
            evidence = f"wrong now and then, in {len(failed)} of {count} launches: {outcome.reason}"
        self.note(verdict, evidence, place, operands, outcome, "many launches")

    def given(self, place: Place, operands: Operands) -> AbstractContextManager[PreparedProblem]:
        """Have operands and reference inside of a block."""
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
