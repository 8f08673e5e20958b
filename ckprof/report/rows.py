"""Outcomes with their derived figures: what all formats show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import ConvProblem
    from ckprof.model.results import RunInstance, RunResults


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One outcome, ready to be shown."""

    #: from 1 among the verified ``ok`` outcomes of a problem; ``None`` for all others
    rank: int | None
    instance: RunInstance
    outcome: Outcome
    #: FLOP / time / 1e9
    gflops: float | None
    #: bytes of the three tensors / time / 1e9
    gbytes: float | None


def rows_of_problem(results: RunResults, problem_index: int) -> list[Row]:
    """Return the rows of one problem, best first."""
    instances = {instance.key: instance for instance in results.instances}
    problem = results.problems[problem_index]
    rows: list[Row] = []
    rank = 0
    for outcome in results.of_problem(problem_index):
        instance = instances[outcome.key]
        ranked = outcome.status is Status.OK and outcome.verification is not None
        rank += ranked
        gflops, gbytes = rates(problem, instance, outcome)
        rows.append(
            Row(
                rank=rank if ranked else None,
                instance=instance,
                outcome=outcome,
                gflops=gflops,
                gbytes=gbytes,
            )
        )
    return rows


def rates(problem: ConvProblem, instance: RunInstance, outcome: Outcome) -> tuple[float | None, float | None]:
    """Return (GFLOP/s, GB/s) of a timed outcome; (``None``, ``None``) where there is no positive time."""
    if outcome.measurement is None or outcome.measurement.median_ms <= 0:
        return None, None
    seconds = outcome.measurement.median_ms / 1e3
    size = instance.dtype.facts.size_bytes
    return problem.flop / seconds / 1e9, problem.moved_bytes(size) / seconds / 1e9
