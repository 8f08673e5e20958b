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
    #: content key of the best kernel, and its number of splits
    best: str
    splits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProblem:
    """Times of one problem, all measured side by side after the search. Microseconds."""

    problem: Problem
    #: occurrences
    count: int
    #: the best kernel that the search found; ``None`` if it failed now
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

    def sum_against(self, baseline: str) -> ComparedSum:
        """Return sums of times, each problem as often as it occurs."""
        timed = [
            (one.count, one.best_us, one.library_us, one.baseline_us[baseline])
            for one in self.problems
            if one.best_us is not None and one.library_us is not None and baseline in one.baseline_us
        ]
        return ComparedSum(
            problems=len(timed),
            count=sum(count for count, *_ in timed),
            best_us=math.fsum(count * best for count, best, _, _ in timed),
            library_us=math.fsum(count * kept for count, _, kept, _ in timed),
            baseline_us=math.fsum(count * other for count, _, _, other in timed),
        )


def comparison_of(
    results: RunResults, searched: Sequence[SearchedProblem], library: frozenset[str]
) -> BaselineComparison:
    """Return the comparison that a run of the best kernels and of the kept ones gives.

    :param searched: the run's problems, in its order.
    :param library: content keys of the kernels that are kept.
    """
    return BaselineComparison(
        baselines=results.baseline_ids,
        descriptions={one.baseline: one.description for one in results.baselines},
        problems=tuple(_compared(results, index, one, library) for index, one in enumerate(searched)),
        failure="it was stopped before its end" if results.partial else "",
    )


def _compared(
    results: RunResults, index: int, searched: SearchedProblem, library: frozenset[str]
) -> ComparedProblem:
    own = [one for one in results.outcomes if one.problem_index == index]
    others = [one for one in results.baselines if one.outcome.problem_index == index]
    return ComparedProblem(
        problem=searched.problem,
        count=searched.count,
        best_us=_least_us(one for one in own if one.key == searched.best and _asked(one) == searched.splits),
        library_us=_least_us(one for one in own if one.key in library),
        baseline_us={one.baseline: 1000 * one.median_ms for one in others if one.median_ms},
        failures={
            one.baseline: f"{one.outcome.status.value}: {one.outcome.reason}"
            for one in others
            if not one.median_ms
        },
    )


def _asked(outcome: Outcome) -> int:
    """Return the number of splits as it was asked for: less than 1 if the kernel was to choose."""
    return -1 if outcome.split_k_deduced else outcome.split_k


def _least_us(outcomes: Iterable[Outcome]) -> float | None:
    times = [
        1000 * one.measurement.median_ms
        for one in outcomes
        if one.status is Status.OK and one.measurement is not None and one.measurement.median_ms > 0
    ]
    return min(times, default=None)
