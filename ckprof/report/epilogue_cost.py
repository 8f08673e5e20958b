"""What kernels pay for what is fused to them: against the same kernels without it, in the same rounds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import agreeing, counted, percent
from ckprof.model.problem import traffic_of
from ckprof.model.problem_case import AUTO
from ckprof.model.ranking import unranked_time_of
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.outcome import Outcome, RoundTime
    from ckprof.model.results import RunResults
    from ckprof.report.rows import ResultRow


@dataclass(frozen=True, slots=True, kw_only=True)
class EpilogueCost:
    """One pair."""

    #: outcome of the fused kernel, and of the other one
    fused: Outcome
    unfused: Outcome
    time_ms: float
    unfused_ms: float
    #: time with / time without, of paired rounds
    ratio: float
    #: that holds it; ``None`` with one pair, which shows no scatter
    interval: tuple[float, float] | None
    #: share of the bytes of all tensors that belongs to what is fused
    bytes_share: float


def epilogue_costs(results: RunResults, problem_index: int) -> list[EpilogueCost]:
    """Return the costs on a problem, the fastest kernels first: of pairs that both have a time.

    A cost ranks nothing, so that times count which nobody asked to verify.
    """
    pairs = _pairs(results, problem_index)
    if not pairs:
        return []
    from ckprof.compare.change import judge_pairs
    from ckprof.compare.compare import DEFAULT_POLICY

    types = {instance.key: instance.types for instance in results.instances}
    changes = judge_pairs([_differences(*pair) for pair in pairs], DEFAULT_POLICY)
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
                interval=change.interval and (math.exp(change.interval[0]), math.exp(change.interval[1])),
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


def _differences(fused: Outcome, unfused: Outcome) -> list[float]:
    """Return the logarithms of time with / time without, of each visit that both have.

    Where that is one, its rounds are all that shows how much the ratio varies.
    """
    with_it, without = _by_place(fused.rounds), _by_place(unfused.rounds)
    visits: dict[str, list[float]] = defaultdict(list)
    for place in with_it:
        if place in without:
            of_round = [fmean(math.log(one.time_ms) for one in some[place]) for some in (with_it, without)]
            visits[with_it[place][0].process].append(of_round[0] - of_round[1])
    if len(visits) == 1:
        (rounds,) = visits.values()
        return rounds
    return [median(rounds) for rounds in visits.values()]


def _by_place(rounds: Sequence[RoundTime]) -> dict[int, list[RoundTime]]:
    found: dict[int, list[RoundTime]] = defaultdict(list)
    for one in rounds:
        if one.place is not None:
            found[one.place[1]].append(one)
    return found


_MEANING: Final = (
    "Each kernel paired with the same one without its epilogue, in the same rounds: 'ratio' is time with / "
    "time without, of paired rounds; 'bytes' is the share of what is read and written that the epilogue "
    "adds."
)


def cost_table(results: RunResults, problem_index: int) -> Table[EpilogueCost] | None:
    """Return the costs on a problem, the fastest kernels first; ``None`` where nothing ran beside it."""
    if problem_index not in results.unfused_problems:
        return None
    instances = {instance.key: instance for instance in results.instances}
    rows = epilogue_costs(results, problem_index)
    columns: list[Column[EpilogueCost]] = [
        Column(
            "instance",
            lambda cost: f"[{instances[cost.fused.key].index}] {instances[cost.fused.key].name}",
            names=lambda cost: instances[cost.fused.key].shown,
        )
    ]
    if any(cost.fused.split_k != 1 for cost in rows):
        columns.append(Column("SplitK", lambda cost: cost.fused.split_k, align="right"))
    columns += [
        Column("time", lambda cost: cost.time_ms, unit="ms", align="right", form=".4f"),
        Column("without", lambda cost: cost.unfused_ms, unit="ms", align="right", form=".4f"),
        Column("ratio", lambda cost: cost.ratio, align="right", form=".3f"),
        Column(
            "95 % interval",
            lambda cost: " to ".join(f"{end:.3f}" for end in cost.interval or ()),
            priority=3,
        ),
        Column(
            "bytes", lambda cost: cost.bytes_share, align="right", text=lambda cost: percent(cost.bytes_share)
        ),
    ]
    left = without_cost(results, problem_index)
    notes = [_MEANING]
    if left:
        notes.append(
            f"{counted(left, 'kernel')} {agreeing(left, 'has', 'have')} no cost: the same without the "
            f"epilogue has no time on problem {results.unfused_problems[problem_index]}"
        )
    return Table(columns, rows, notes=lambda left_out: notes)


def cost_columns(results: RunResults) -> list[Column[ResultRow]]:
    """Return the columns of CSV; none of runs that had nothing beside their kernels."""
    if not results.unfused_problems:
        return []
    costs = {
        id(cost.fused): cost_as_json(cost)
        for index in results.unfused_problems
        for cost in epilogue_costs(results, index)
    }

    def column(name: str) -> Column[ResultRow]:
        return Column(f"epilogue_{name}", lambda row: costs.get(id(row.outcome), {}).get(name))

    return [column(name) for name in ("unfused_ms", "ratio", "ratio_low", "ratio_high", "bytes_share")]


def cost_as_json(cost: EpilogueCost) -> dict[str, Any]:
    """Return a cost as plain values, with units in the keys."""
    return {
        "key": cost.fused.key,
        "split_k": cost.fused.split_k,
        "unfused_key": cost.unfused.key,
        "unfused_problem": cost.unfused.problem_index,
        "time_ms": cost.time_ms,
        "unfused_ms": cost.unfused_ms,
        "ratio": cost.ratio,
        "ratio_low": cost.interval and cost.interval[0],
        "ratio_high": cost.interval and cost.interval[1],
        "bytes_share": cost.bytes_share,
    }
