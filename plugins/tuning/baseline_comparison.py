"""The best kernels of a search, measured again next to baselines, within the search's budget."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, Interrupted
from ckprof.measure.requests import StoreOptions
from ckprof.model.problem_case import ProblemCase
from ckprof.model.ranking import ranked_set_of, unranked_ms
from ckprof.sweep.recording import run_into_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.measure.requests import RunRequest
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.results import RunResults
    from ckprof.session import Session
    from ckprof_plugins.tuning.options import TuneOptions
    from ckprof_plugins.tuning.search.result import BestChoice, TuneResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemComparison:
    """Times of one problem, all measured side by side after the search. Microseconds."""

    problem: Problem
    #: occurrences
    count: int
    #: the fastest kernel, of the one that the search found and the library; ``None`` if they failed now
    best_us: float | None
    #: the fastest kernel of the library that is kept; ``None`` if none of it supports the problem
    library_us: float | None
    #: baseline -> its time; those that were not timed are in ``failures``
    baseline_us: Mapping[str, float]
    #: baseline -> status and reason
    failures: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """What a search found, compared with baselines."""

    #: ids of the baselines
    baselines: tuple[str, ...]
    #: baseline -> versions and device, in one line
    descriptions: Mapping[str, str]
    problems: tuple[ProblemComparison, ...]
    #: why nothing, or not everything, could be compared; empty if that is not so
    failure: str = ""
    #: problems for which the budget left no time
    left_out: tuple[Problem, ...] = ()

    def sums_against(self, baseline: str) -> dict[str, float]:
        """Return sums over the problems on which everything that is compared has a time.

        Numbers of problems and of their occurrences, and sums of times in microseconds, each problem as often
        as it occurs.
        """
        timed = [
            (problem.count, problem.best_us, problem.library_us, problem.baseline_us[baseline])
            for problem in self.problems
            if problem.best_us is not None
            and problem.library_us is not None
            and baseline in problem.baseline_us
        ]
        return {
            "problems": len(timed),
            "count": sum(count for count, *_ in timed),
            "best_us": math.fsum(count * best for count, best, _, _ in timed),
            "library_us": math.fsum(count * kept for count, _, kept, _ in timed),
            "baseline_us": math.fsum(count * other for count, _, _, other in timed),
        }


def comparison_of(
    results: RunResults,
    searched: Sequence[tuple[Problem, int]],
    library: frozenset[str],
    *,
    stopped: bool = False,
) -> BaselineComparison:
    """Return the comparison that a run of the best kernels and of the kept ones gives.

    :param searched: the run's problems with their occurrences, in its order.
    :param library: content keys of the kernels that are kept.
    :param stopped: somebody ended the run; otherwise its time was over, if it did not reach its end.
    """
    reached = {baseline.outcome.problem_index for baseline in results.baselines}
    if stopped or not results.partial:
        reached |= {outcome.problem_index for outcome in results.outcomes}
    return BaselineComparison(
        baselines=results.baseline_ids,
        descriptions={baseline.baseline: baseline.description for baseline in results.baselines},
        problems=tuple(
            _compared(results, index, problem, count, library)
            for index, (problem, count) in enumerate(searched)
            if index in reached
        ),
        failure="it was stopped before its end" if stopped else "",
        left_out=tuple(
            problem
            for index, (problem, _) in enumerate(searched)
            if index not in reached and results.partial and not stopped
        ),
    )


def _compared(
    results: RunResults, index: int, problem: Problem, count: int, library: frozenset[str]
) -> ProblemComparison:
    outcomes = [outcome for outcome in results.outcomes if outcome.problem_index == index]
    others = [baseline for baseline in results.baselines if baseline.outcome.problem_index == index]
    times = {measured.baseline: unranked_ms(measured.outcome) for measured in others}
    return ProblemComparison(
        problem=problem,
        count=count,
        best_us=_best_us(outcomes),
        library_us=_best_us(measured for measured in outcomes if measured.key in library),
        baseline_us={baseline: 1000 * time_ms for baseline, time_ms in times.items() if time_ms is not None},
        failures={
            measured.baseline: f"{measured.outcome.status.value}: {measured.outcome.reason}"
            for measured in others
            if times[measured.baseline] is None
        },
    )


def _best_us(outcomes: Iterable[Outcome]) -> float | None:
    _, ranked = ranked_set_of(outcomes)
    return 1000 * ranked.kernels[0].time_ms if ranked.kernels else None


#: share of the budget that is kept for the comparison at most
_LARGEST_SHARE: Final = 0.25
#: kernels that are measured on each problem: the best one, and the best one of the library that is kept
_KERNELS: Final = 2


def comparison_s(request: RunRequest, options: TuneOptions) -> float:
    """Return how much of the budget is kept for the comparison: what it takes, a quarter at most."""
    each_s = request.options.max_time_s * options.rounds.max_rounds
    problems = len({case.problem for case in request.problems})
    needed_s = problems * (_KERNELS + len(options.baselines)) * each_s
    return min(needed_s, _LARGEST_SHARE * (options.search.budget_s or 0.0))


def compare_with_baselines(
    session: Session, request: RunRequest, options: TuneOptions, result: TuneResult, end: float
) -> BaselineComparison:
    """Run the best kernel, that of the library that is kept, and the baselines on the problems of a search.

    Problems that weigh most, by occurrences and time, come first; those for which the budget leaves no time
    are left out. One process after the other has the device; each kernel and each baseline gets the time of
    all rounds of the search. A comparison that fails is part of the result: the search is not lost with it.

    :param end: when nothing is left of the budget, by :func:`time.monotonic`.
    :raises Interrupted: a signal insisted.
    """
    keys = {candidate.name: candidate.instance.key for candidate in request.selection.candidates}
    library = frozenset(keys[name] for name in result.chosen)
    found = sorted(
        (choice for choice in result.best if choice.kernel),
        key=lambda choice: -choice.count * (choice.time_us or 0.0),
    )
    if not found:
        return _nothing(options, "nothing was measured")
    if time.monotonic() >= end:
        return replace(_nothing(options, ""), left_out=tuple(choice.problem for choice in found))
    store = StoreOptions(store=options.store, tags=options.tags, wait=options.wait)
    run = _measured_again(request, options, [_case(choice, keys) for choice in found], end)
    try:
        results, error = run_into_store(session, run, store)
        if error is not None:
            raise error
        searched = [(choice.problem, choice.count) for choice in found]
        compared = comparison_of(results, searched, library, stopped=options.search.should_stop())
    except Interrupted:
        raise
    except CkprofError as exc:
        return _nothing(options, str(exc))
    places = {choice.problem: place for place, choice in enumerate(result.best)}
    return replace(compared, problems=tuple(sorted(compared.problems, key=lambda one: places[one.problem])))


def _case(choice: BestChoice, keys: dict[str, str]) -> ProblemCase:
    """Return what is measured on a problem: no other splits than those that were the best."""
    measured = [(choice.kernel, choice.splits)]
    if choice.kept:
        measured.append((choice.kept, choice.kept_splits))
    return ProblemCase(
        problem=choice.problem,
        splits=tuple(dict.fromkeys(splits for _, splits in measured)),
        instances=frozenset(keys[name] for name, _ in measured),
        count=choice.count,
    )


def _measured_again(
    request: RunRequest, options: TuneOptions, cases: Sequence[ProblemCase], end: float
) -> RunRequest:
    """Return the run of the kernels that are compared."""
    selection, wanted = request.selection, frozenset().union(*(case.instances or () for case in cases))
    candidates = tuple(one for one in selection.candidates if one.instance.key in wanted)
    return replace(
        request,
        selection=replace(selection, candidates=candidates),
        problems=tuple(cases),
        options=replace(
            request.options,
            rounds=options.rounds.max_rounds,
            max_time_s=request.options.max_time_s * options.rounds.max_rounds,
        ),
        baselines=options.baselines,
        should_stop=lambda: options.search.should_stop() or time.monotonic() >= end,
    )


def _nothing(options: TuneOptions, why: str) -> BaselineComparison:
    return BaselineComparison(baselines=options.baselines, descriptions={}, problems=(), failure=why)
