"""Outcomes with their derived figures: what all formats show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.outcome import Status
from ckprof.model.rates import rates_of

if TYPE_CHECKING:
    from ckprof.model.outcome import Measurement, Outcome
    from ckprof.model.problem import ConvProblem
    from ckprof.model.ranking import Ranked
    from ckprof.model.rates import Rates
    from ckprof.model.results import RunInstance, RunResults


#: half the distance of the quartiles, relative to the median, from which a time is called noisy
NOISY_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One outcome, ready to be shown."""

    #: from 1 among the verified ``ok`` outcomes of a problem, 1 for all that are tied with the best; ``None``
    #: for all others
    rank: int | None
    instance: RunInstance
    outcome: Outcome
    #: ``None`` without a positive time
    rates: Rates | None
    #: what readers of the time should know, e.g. ``tied with the best, noisy``; empty if nothing
    note: str = ""

    @property
    def gflops(self) -> float | None:
        """FLOP / time / 1e9."""
        return self.rates.gflops if self.rates else None

    @property
    def gbytes(self) -> float | None:
        """Bytes of the three tensors / time / 1e9."""
        return self.rates.gbytes if self.rates else None


def rows_of_problem(results: RunResults, problem_index: int) -> list[Row]:
    """Return the rows of one problem, best first."""
    instances = {instance.key: instance for instance in results.instances}
    problem = results.problems[problem_index]
    return [
        Row(
            rank=ranked.rank,
            instance=instances[ranked.outcome.key],
            outcome=ranked.outcome,
            rates=rates(problem, instances[ranked.outcome.key], ranked.outcome),
            note=_note(ranked),
        )
        for ranked in results.ranking(problem_index)
    ]


def _note(ranked: Ranked) -> str:
    """Return what a reader of a time should know."""
    measured, standing = ranked.outcome.measurement, ranked.outcome.standing
    if measured is None or measured.median_ms <= 0:
        return ""
    notes = []
    if ranked.tied:
        notes.append("tied with the best")
    if standing is not None and standing.left_early:
        notes.append(f"{standing.ratio:.2f} x the best, left after {_rounds(standing.taken)}")
    if is_noisy(measured):
        notes.append("noisy")
    return ", ".join(notes)


def _rounds(count: int) -> str:
    return f"{count} round{'s' if count != 1 else ''}"


def is_noisy(measured: Measurement) -> bool:
    """Say whether half the distance of the quartiles is more than :data:`NOISY_SHARE` of the median."""
    return measured.median_ms > 0 and measured.spread_ms / measured.median_ms > NOISY_SHARE


def rates(problem: ConvProblem, instance: RunInstance, outcome: Outcome) -> Rates | None:
    """Return the rates of a timed outcome; ``None`` where there is no positive time."""
    if outcome.measurement is None or outcome.measurement.median_ms <= 0:
        return None
    return rates_of(problem, instance.dtype, outcome.measurement.median_ms)


def reason_of(outcome: Outcome, *, why: bool) -> str:
    """Return the outcome's reason on one line.

    :param why: give every condition that is not met instead of what decided: its id, its first message, and
        how many more there are, e.g. one per axis.
    """
    if not why or not outcome.unmet_requirements:
        return " ".join(outcome.reason.split())
    messages: dict[str, list[str]] = {}
    for rejection in outcome.unmet_requirements:
        messages.setdefault(rejection.rule, []).append(" ".join(rejection.message.split()))
    return "; ".join(
        f"[{condition}] {first}" + (f" (+{len(more)})" if more else "")
        for condition, (first, *more) in messages.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementCount:
    """What one condition rejected on a problem."""

    condition: str
    #: instances that do not meet it
    instances: int
    #: those among them that meet all others: meeting this one would suffice
    alone: int
    #: the condition's message for the first of them, and the number of that instance
    example: str
    example_instance: int


def requirement_counts(results: RunResults, problem_index: int) -> list[RequirementCount]:
    """Return which conditions rejected how many instances of a problem, most first.

    An instance counts once, however many splits of the reduction were tried.
    """
    numbers = {instance.key: instance.index for instance in results.instances}
    rejected: dict[str, set[str]] = {}
    alone: dict[str, set[str]] = {}
    examples: dict[str, tuple[str, int]] = {}
    for outcome in results.outcomes:
        if outcome.problem_index != problem_index or outcome.status is not Status.UNSUPPORTED:
            continue
        conditions = {rejection.rule for rejection in outcome.unmet_requirements}
        for rejection in outcome.unmet_requirements:
            rejected.setdefault(rejection.rule, set()).add(outcome.key)
            examples.setdefault(rejection.rule, (rejection.message, numbers[outcome.key]))
            if len(conditions) == 1:
                alone.setdefault(rejection.rule, set()).add(outcome.key)
    found = [
        RequirementCount(
            condition=condition,
            instances=len(keys),
            alone=len(alone.get(condition, ())),
            example=examples[condition][0],
            example_instance=examples[condition][1],
        )
        for condition, keys in rejected.items()
    ]
    return sorted(found, key=lambda one: (-one.instances, one.condition))
