"""What a search found against the libraries of others: per problem, and in sum over all occurrences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.results import RunResults


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedProblem:
    """A problem with what a search found for it."""

    problem: Problem
    #: occurrences
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProblem:
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
class ComparedSum:
    """Sums over the problems on which everything that is compared has a time. Microseconds."""

    problems: int
    #: occurrences of these problems
    count: int
    best_us: float
    library_us: float
    baseline_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """What a search found, beside the libraries of others."""

    #: ids of the baselines
    baselines: tuple[str, ...]
    #: baseline -> versions and device, in one line
    descriptions: Mapping[str, str]
    problems: tuple[ComparedProblem, ...]
    #: why nothing, or not everything, could be compared; empty if that is not so
    failure: str = ""
    #: problems for which the budget left no time
    left_out: tuple[Problem, ...] = ()

    def sum_against(self, baseline: str) -> ComparedSum:
        """Return sums of times, each problem as often as it occurs."""
        timed = [
            (problem.count, problem.best_us, problem.library_us, problem.baseline_us[baseline])
            for problem in self.problems
            if problem.best_us is not None
            and problem.library_us is not None
            and baseline in problem.baseline_us
        ]
        return ComparedSum(
            problems=len(timed),
            count=sum(count for count, *_ in timed),
            best_us=math.fsum(count * best for count, best, _, _ in timed),
            library_us=math.fsum(count * kept for count, _, kept, _ in timed),
            baseline_us=math.fsum(count * other for count, _, _, other in timed),
        )


def comparison_of(
    results: RunResults,
    searched: Sequence[SearchedProblem],
    library: frozenset[str],
    *,
    stopped: bool = False,
) -> BaselineComparison:
    """Return the comparison that a run of the best kernels and of the kept ones gives.

    :param searched: the run's problems, in its order.
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
            _compared(results, index, problem, library)
            for index, problem in enumerate(searched)
            if index in reached
        ),
        failure="it was stopped before its end" if stopped else "",
        left_out=tuple(
            problem.problem
            for index, problem in enumerate(searched)
            if index not in reached and results.partial and not stopped
        ),
    )


def _compared(
    results: RunResults, index: int, searched: SearchedProblem, library: frozenset[str]
) -> ComparedProblem:
    outcomes = [outcome for outcome in results.outcomes if outcome.problem_index == index]
    others = [baseline for baseline in results.baselines if baseline.outcome.problem_index == index]
    return ComparedProblem(
        problem=searched.problem,
        count=searched.count,
        best_us=_least_us(outcomes),
        library_us=_least_us(measured for measured in outcomes if measured.key in library),
        baseline_us={
            measured.baseline: 1000 * measured.median_ms for measured in others if measured.median_ms
        },
        failures={
            measured.baseline: f"{measured.outcome.status.value}: {measured.outcome.reason}"
            for measured in others
            if not measured.median_ms
        },
    )


def _least_us(outcomes: Iterable[Outcome]) -> float | None:
    times = [
        1000 * outcome.measurement.median_ms
        for outcome in outcomes
        if outcome.status is Status.OK
        and outcome.measurement is not None
        and outcome.measurement.median_ms > 0
    ]
    return min(times, default=None)
