"""How fast a right candidate is: in the same rounds as baselines, and compared with what a store knows.

Every launch of a candidate that is timed is the first one on its operands, which the system's random numbers
choose, and its whole result is compared. Nothing tells it from the launches before: it is the same call.
"""

from __future__ import annotations

import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ToolchainError
from ckprof.measure.options import CacheMode, timing_settings
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.outcome import Status
from ckprof.model.ranking import TIE, interval_of, middle_of
from ckprof_plugins.judge.bench import Bench, PairedBaseline, outcome_of
from ckprof_plugins.judge.judging import FILLED, MOST_LOAD_S
from ckprof_plugins.judge.operands import Operands, prepared
from ckprof_plugins.judge.served_baseline import OWN_MEMORY
from ckprof_plugins.judge.stored_kernel import best_known, built_again
from ckprof_plugins.judge.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.messages import BaselineSource
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof.model.outcome import Outcome
    from ckprof.store.query import MeasurementSummary
    from ckprof_plugins.judge.judging import Judge
    from ckprof_plugins.judge.operands import Place

#: rounds, in each of which every baseline is sampled once, and launches of the candidate in a round at most
ROUNDS: Final = 5
_SAMPLES: Final = 5
#: launches before the first round
_WARM_UPS: Final = 2
#: seconds that a baseline is sampled for, and that all rounds may take: there is one launch in each anyway
_MOST_S: Final = 0.5
_LEAST_S: Final = 5.0
_MOST_TIMING_S: Final = 60.0
#: launches that tell what is wrong when timed alone from what is wrong now and then
_UNTIMED: Final = 60
_FEWEST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """How long something takes on a problem, in milliseconds: the median of rounds, and its interval."""

    place: Place
    time_ms: float
    low_ms: float
    high_ms: float
    #: launches, and those whose result was compared
    launches: int
    checked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The candidate beside something else."""

    place: Place
    #: ``baseline torch``, ``best kernel of results.db``
    name: str
    #: versions and device of a baseline, name of a kernel
    what: str
    #: its time in milliseconds
    time_ms: float
    #: the candidate's time by its own, with limits that hold it at 95 %
    ratio: float
    low: float
    high: float
    #: both were measured in the same rounds
    paired: bool

    def is_slower(self, least: float) -> bool:
        """Say whether the candidate is significantly slower, by more than a share; 0: than what is tied."""
        return self.low > 1 + (least or TIE)

    @property
    def relation(self) -> str:
        """What is significant, and no tie."""
        if self.low > 1 + TIE:
            return "slower"
        return "faster" if self.high < 1 / (1 + TIE) else "tied"


class Contender:
    """What is timed on a problem: the candidate, or what it is compared with.

    :param name: as results call it; empty for the candidate.
    :param what: version and device of a baseline, name of a kernel.
    :param split_k: its splits of the reduction; 0: as many as the candidate has.
    """

    def __init__(self, bench: Bench, name: str = "", what: str = "", split_k: int = 0) -> None:
        self.bench, self.name, self.what, self._split_k = bench, name, what, split_k
        #: milliseconds, round by round
        self.rounds_ms: list[list[float]] = []
        self.launches = self.checked = 0
        #: it does not compute the problem
        self.is_out = False

    @property
    def times_ms(self) -> list[float]:
        """The value of each round."""
        return [middle_of(times) for times in self.rounds_ms]

    def is_due(self, number: int) -> bool:
        """Say whether it runs on the operands with that number; a baseline is sampled once in a round."""
        return not self.is_out and (self.bench.is_served or (number >= 0 and number % _SAMPLES == 0))

    def launch(self, given: PreparedProblem, place: Place, timing: TimingSettings, number: int) -> Outcome:
        """Run it, and take note of its time, unless the number says that it is to warm up."""
        split_k = self._split_k or place.split_k
        if self.bench.is_served:
            outcome = self.bench.trial(given, split_k, flush_bytes=timing.flush_bytes)
            taken_ms = self.bench.seen.taken_ms
        else:
            outcome = self.bench.trial(given, split_k, timing)
            taken_ms = 0.0 if outcome.measurement is None else outcome.measurement.time_ms
        if number < 0 or outcome.status is not Status.OK:
            return outcome
        if number % _SAMPLES == 0:
            self.rounds_ms.append([])
        self.rounds_ms[-1].append(taken_ms)
        seen = outcome.verification
        # who launches it once says nothing of launches
        self.launches += max(1, seen.launches) if seen else 1
        self.checked += max(1, seen.checked) if seen else 0
        return outcome


def time_candidate(judge: Judge, sources: Sequence[BaselineSource], store: Path | None) -> None:
    """Time a candidate that is right, and note what it is compared with.

    What is found wrong meanwhile becomes the verdict.

    :raises ToolchainError: a baseline cannot be used.
    :raises InputError: the store cannot be read.
    """
    for place in judge.asked:
        if judge.finding is not None:
            return
        judge.emit(f"timing {place.problem.describe()}")
        with ExitStack() as stack:
            own = Contender(stack.enter_context(judge.bench()))
            others = []
            for source in sources:
                others.append(_baseline(judge, stack, source))
            best = None if store is None else best_known(store, judge.task, place)
            if store is not None and best is None:
                judge.emit(f"{store} has no time of {place.problem.describe()}")
            again, reason = _built_again(judge, stack, best, store)
            _time_on(judge, place, own, [*others, *([] if again is None else [again])])
            if again is not None and again.is_out:
                reason = "it is not right here"
            if best is not None and store is not None and reason and judge.finding is None:
                _compare_with_time(judge, best, store, reason)


def _baseline(judge: Judge, stack: ExitStack, source: BaselineSource) -> Contender:
    """Return a baseline that runs until a stack is left, in a process like the candidate's where it can.

    :raises ToolchainError: it cannot be used.
    """
    candidate, name = judge.candidate, f"baseline {source.id}"
    paired = PairedBaseline(baseline=source, gpu=candidate.gpu, cpu_threads=judge.options.cpu_threads)
    # a device's memory is that of the worker which launches
    ways: tuple[BaselineSource | PairedBaseline, ...] = (source,) if candidate.on_device else (paired, source)
    for number, one in enumerate(ways, 1):
        bench = stack.enter_context(
            Bench(one, judge.task, judge.folder, judge.run_options, load_s=MOST_LOAD_S)
        )
        try:
            return Contender(bench, name, bench.open())
        except (CkprofError, WorkerFailure) as failure:
            if number == len(ways) or OWN_MEMORY not in str(failure):
                raise ToolchainError(f"{name} cannot be used: {failure}") from failure
    raise AssertionError(name)


def _time_on(judge: Judge, place: Place, own: Contender, others: Sequence[Contender]) -> None:
    usual = replace(
        judge.run_options, min_samples=_SAMPLES, max_time_s=_MOST_S, cache=CacheMode.COLD, keep_samples=True
    )
    timing = timing_settings(usual)
    budget_s = max(_LEAST_S, min(judge.seconds_left(), _MOST_TIMING_S)) / len(judge.asked)
    started = time.monotonic()
    for number in range(-_WARM_UPS, ROUNDS * _SAMPLES):
        round_, sample = divmod(number, _SAMPLES)
        if number > 0 and sample and time.monotonic() > started + budget_s * (round_ + 1) / ROUNDS:
            continue
        operands = Operands(False, secrets.randbelow(2**31))
        with prepared(judge.task, place, operands, judge.run_options) as given:
            # what comes first changes from round to round
            for one in (own, *others)[:: 1 if round_ % 2 == 0 else -1]:
                if not one.is_due(number):
                    continue
                outcome = one.launch(given, place, timing, number)
                if one is own and outcome.status is not Status.OK:
                    _judge_timed(judge, place, operands, outcome, own.bench)
                    return
                one.is_out |= outcome.status is not Status.OK
    if evidence := own.bench.seen.evidence:
        judge.note(Verdict.DISHONEST, evidence, place, operands, None, "timing")
        return
    own_ms = own.times_ms
    low_ms, high_ms = interval_of(own_ms)
    # what handing over a launch takes is known no better than that
    shorter = max(0.0, 1 - own.bench.seen.hand_over_spread_ms / low_ms)
    judge.times.append(
        Time(
            place=place,
            time_ms=middle_of(own_ms),
            low_ms=low_ms * shorter,
            high_ms=high_ms,
            launches=own.launches,
            checked=own.checked,
        )
    )
    for one in others:
        if one.is_out:
            # a baseline that does not compute the problem is not compared with
            continue
        ratios = [a / b for a, b in zip(own_ms, one.times_ms, strict=True)]
        low, high = interval_of(ratios)
        judge.comparisons.append(
            Comparison(
                place=place,
                name=one.name,
                what=one.what,
                time_ms=middle_of(one.times_ms),
                ratio=middle_of(ratios),
                low=low * shorter,
                high=high,
                paired=True,
            )
        )


def _judge_timed(judge: Judge, place: Place, operands: Operands, outcome: Outcome, own: Bench) -> None:
    """Find out what it means that a candidate fails when it is timed, which was right before."""
    evidence, verdict = own.seen.evidence, Verdict.DISHONEST
    if not evidence and outcome.status is Status.UNSUPPORTED:
        verdict, evidence = Verdict.REFUSED, f"it does not support the problem when timed: {outcome.reason}"
    elif not evidence:
        right = failed = 0
        with judge.bench(FILLED) as bench:
            while right + failed < _UNTIMED and (judge.seconds_left() > 0 or right + failed < _FEWEST):
                launched = outcome_of(bench, judge.task, place, operands, judge.run_options)
                right += launched.status is Status.OK
                failed += launched.status is not Status.OK
        if outcome.status is Status.WRONG_RESULT and not failed:
            evidence = f"right in {right} launches that were verified one by one, wrong when timed"
        else:
            verdict = Verdict.WRONG
            evidence = f"wrong now and then, in {failed} of {right + failed} launches"
        evidence += f": {outcome.reason}"
    judge.note(verdict, evidence, place, operands, outcome, "timing")


def _built_again(
    judge: Judge, stack: ExitStack, best: MeasurementSummary | None, store: Path | None
) -> tuple[Contender | None, str]:
    """Return the best kernel of a store, which runs until a stack is left, or why it cannot be built."""
    if best is None or store is None:
        return None, ""
    if judge.seconds_left() <= 0:
        return None, "the budget is spent"
    judge.emit(f"building {best.kernel.name}, the best kernel of {store.name}")
    folder = Path(mkdtemp(prefix="best-", dir=judge.folder))
    try:
        kernel = built_again(judge.profiler, best, judge.task, judge.options, folder, judge.candidate)
        bench = stack.enter_context(Bench(kernel, judge.task, judge.folder, judge.run_options))
        bench.open()
    except (CkprofError, WorkerFailure) as failure:
        return None, str(failure)
    what = f"{best.kernel.name}, built again"
    return Contender(bench, _store_name(store), what, best.key.split_k), ""


def _compare_with_time(judge: Judge, best: MeasurementSummary, store: Path, reason: str) -> None:
    """Compare the last time with one that a store has, for want of anything better."""
    own, best_ms = judge.times[-1], best.time_ms or 0.0
    low_ms, high_ms = best.low_ms or best_ms, best.high_ms or best_ms
    judge.comparisons.append(
        Comparison(
            place=own.place,
            name=_store_name(store),
            what=f"{best.kernel.name} on {best.key.device.model}; not built again: {reason}",
            time_ms=best_ms,
            ratio=own.time_ms / best_ms,
            low=own.low_ms / high_ms,
            high=own.high_ms / low_ms,
            paired=False,
        )
    )


def _store_name(store: Path) -> str:
    return f"best kernel of {store.name}"
