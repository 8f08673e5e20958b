"""How fast a right candidate is: in the same rounds as baselines, and compared with what a store knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.measure.options import CacheMode, timing_settings
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.outcome import Status
from ckprof.model.ranking import TIE, interval_of, middle_of
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof_plugins.judge.bench import Bench, Operands, outcome_of, prepared
from ckprof_plugins.judge.judging import FILLED, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.measure.worker.messages import BaselineSource
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof.model.outcome import Outcome
    from ckprof_plugins.judge.bench import Place
    from ckprof_plugins.judge.judging import Judge

#: rounds, in each of which the candidate and every baseline are sampled once
ROUNDS: Final = 5
_SAMPLES: Final = 5
_MOST_S: Final = 0.5
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
        benches = [Bench(source, judge.task, judge.folder, judge.run_options) for source in sources]
        with judge.bench() as own:
            try:
                names = [f"baseline {source.id}" for source in sources]
                described = [_opened(bench, name) for bench, name in zip(benches, names, strict=True)]
                _time_on(judge, place, own, [*zip(benches, names, described, strict=True)])
            finally:
                for bench in benches:
                    bench.__exit__()
    if store is not None and judge.finding is None:
        _compare_with_store(judge, store)


def _opened(bench: Bench, name: str) -> str:
    try:
        return bench.open()
    except WorkerFailure as failure:
        raise ToolchainError(f"{name} cannot be used: {failure}") from failure


def _settings(judge: Judge) -> TimingSettings:
    usual = replace(
        judge.run_options, min_samples=_SAMPLES, max_time_s=_MOST_S, cache=CacheMode.COLD, keep_samples=True
    )
    return timing_settings(usual)


def _time_on(judge: Judge, place: Place, own: Bench, others: Sequence[tuple[Bench, str, str]]) -> None:
    timing, own_ms = _settings(judge), []
    times_ms: dict[str, list[float]] = {name: [] for _, name, _ in others}
    launches = checked = 0
    for number in range(ROUNDS):
        operands = Operands(False, judge.seed + 10_000 + number)
        with prepared(judge.task, place, operands, judge.run_options) as given:
            contenders = [("", own), *((name, bench) for bench, name, _ in others)]
            # what comes first changes from round to round
            for name, bench in contenders if number % 2 == 0 else reversed(contenders):
                outcome = bench.trial(given, place.split_k, timing)
                if outcome.status is not Status.OK or outcome.measurement is None:
                    if not name:
                        _judge_timed(judge, place, operands, outcome, own)
                        return
                    # a baseline that does not compute the problem is not compared with
                    times_ms.pop(name, None)
                elif not name:
                    own_ms.append(outcome.measurement.time_ms)
                    seen = outcome.verification
                    launches += seen.launches if seen else 0
                    checked += seen.checked if seen else 0
                elif name in times_ms:
                    times_ms[name].append(outcome.measurement.time_ms)
    if own.seen.evidence:
        judge.note(Verdict.DISHONEST, own.seen.evidence, place, operands, None, "timing")
        return
    low_ms, high_ms = interval_of(own_ms)
    # what handing over a launch takes is known no better than that
    shorter = max(0.0, 1 - own.seen.hand_over_spread_ms / low_ms)
    judge.times.append(
        Time(
            place=place,
            time_ms=middle_of(own_ms),
            low_ms=low_ms * shorter,
            high_ms=high_ms,
            launches=launches,
            checked=checked,
        )
    )
    for _, name, what in others:
        if theirs := times_ms.get(name):
            ratios = [a / b for a, b in zip(own_ms, theirs, strict=True)]
            low, high = interval_of(ratios)
            judge.comparisons.append(
                Comparison(
                    place=place,
                    name=name,
                    what=what,
                    time_ms=middle_of(theirs),
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


def _compare_with_store(judge: Judge, path: Path) -> None:
    """Compare with the fastest kernel that a store knows on each problem.

    :raises InputError: it cannot be read.
    """
    task = judge.task
    with Store(path) as store:
        for time in judge.times:
            query = StoreQuery(
                direction=task.operation.id, problem=time.place.problem, dtype=task.types.operands[0].value
            )
            known = [
                one for one in store.best(query) if one.time_ms and one.kernel.layout == task.layout.name
            ]
            if not known:
                judge.emit(f"{path} has no time of {time.place.problem.describe()}")
                continue
            best = min(known, key=lambda one: one.time_ms or 0.0)
            best_ms = best.time_ms or 0.0
            low_ms, high_ms = best.low_ms or best_ms, best.high_ms or best_ms
            judge.comparisons.append(
                Comparison(
                    place=time.place,
                    name=f"best kernel of {path.name}",
                    what=f"{best.kernel.name} on {best.key.device.model}",
                    time_ms=best_ms,
                    ratio=time.time_ms / best_ms,
                    low=time.low_ms / high_ms,
                    high=time.high_ms / low_ms,
                    paired=False,
                )
            )
