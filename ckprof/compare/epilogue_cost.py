"""What kernels pay for what is fused to them: each beside the same one without it, in the same rounds.

The two are instances that are equal but for what is fused, on problems that are equal but for it. So a pair
is a comparison like any other, of worker processes that took turns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.problem import traffic_of
from ckprof.model.problem_case import AUTO
from ckprof.model.ranking import unranked_time_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.row_times import RowTimes
    from ckprof.model.outcome import Outcome, RoundTime
    from ckprof.model.results import RunResults


@dataclass(frozen=True, slots=True, kw_only=True)
class EpilogueCost:
    """One pair."""

    #: outcome of the fused kernel, and of the other one
    fused: Outcome
    unfused: Outcome
    time_ms: float
    unfused_ms: float
    #: time with / time without, of what ran beside each other, and the interval that holds it
    ratio: float
    low: float
    high: float
    #: share of the bytes of all tensors that belongs to what is fused
    bytes_share: float


def epilogue_costs(results: RunResults, problem_index: int) -> list[EpilogueCost]:
    """Return the costs on a problem, the fastest kernels first: of pairs that both have a time.

    A cost ranks nothing, so that times count which nobody asked to verify.
    """
    pairs = _pairs(results, problem_index)
    if not pairs:
        return []
    from ckprof.compare.change import estimate_changes
    from ckprof.compare.compare import DEFAULT_POLICY

    types = {instance.key: instance.types for instance in results.instances}
    changes = estimate_changes([_times(*pair) for pair in pairs], DEFAULT_POLICY).rows
    costs = []
    for (fused, unfused), change in zip(pairs, changes, strict=True):
        with_it, without = (
            traffic_of(results.problems[outcome.problem_index], types[outcome.key])
            for outcome in (fused, unfused)
        )
        times = [time.time_ms for time in map(unranked_time_of, (fused, unfused)) if time is not None]
        costs.append(
            EpilogueCost(
                fused=fused,
                unfused=unfused,
                time_ms=times[0],
                unfused_ms=times[1],
                ratio=change.ratio,
                low=math.exp(change.low),
                high=math.exp(change.high),
                bytes_share=1 - without / with_it,
            )
        )
    return costs


def without_cost(results: RunResults, problem_index: int) -> int:
    """Return how many kernels with something fused have a time, but none beside them has."""
    fused = [one for one in _timed(results, problem_index) if one.key in results.unfused_instances]
    return len(fused) - len(_pairs(results, problem_index))


def _pairs(results: RunResults, problem_index: int) -> list[tuple[Outcome, Outcome]]:
    problem = results.unfused_problems.get(problem_index)
    if problem is None:
        return []
    beside = {_cell(outcome.key, outcome): outcome for outcome in _timed(results, problem)}
    pairs = []
    for outcome in _timed(results, problem_index):
        unfused = beside.get(_cell(results.unfused_instances.get(outcome.key), outcome))
        if unfused is not None:
            pairs.append((outcome, unfused))
    return pairs


def _timed(results: RunResults, problem_index: int) -> list[Outcome]:
    return [outcome for outcome in results.of_problem(problem_index) if unranked_time_of(outcome) is not None]


def _cell(key: str | None, outcome: Outcome) -> tuple[str | None, int]:
    """Return an instance with the splits that an outcome's was asked for."""
    return key, AUTO if outcome.split_k_deduced else outcome.split_k


def _times(fused: Outcome, unfused: Outcome) -> RowTimes:
    """Return the rounds that both ran in, by the processes that measured them.

    Where that was one of each side, its rounds are all that shows how much their ratio varies.
    """
    from ckprof.compare.row_times import RowTimes

    with_it, without = _by_place(fused.rounds), _by_place(unfused.rounds)
    pairs = {
        place: f"{with_it[place][0].process}/{without[place][0].process}"
        for place in with_it
        if place in without
    }
    one_each = len(set(pairs.values())) == 1
    old: dict[str, list[float]] = defaultdict(list)
    new: dict[str, list[float]] = defaultdict(list)
    for place, processes in pairs.items():
        name = str(place) if one_each else processes
        old[name] += [math.log(one.median_ms) for one in without[place]]
        new[name] += [math.log(one.median_ms) for one in with_it[place]]
    return RowTimes(old=old, new=new, problem=fused.problem_index, paired=True)


def _by_place(rounds: Sequence[RoundTime]) -> dict[int, list[RoundTime]]:
    found: dict[int, list[RoundTime]] = defaultdict(list)
    for one in rounds:
        if one.place is not None:
            found[one.place[1]].append(one)
    return found
