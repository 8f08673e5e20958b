"""Outcomes with their derived figures: what all formats show."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.formatting import counted, factor
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Status
from ckprof.model.ranking import is_noisy, unranked_ms
from ckprof.model.roofline import rates_of
from ckprof.model.types import TypeSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.outcome import BaselineOutcome, Measurement, Outcome, Verification
    from ckprof.model.problem import Problem
    from ckprof.model.ranking import Ranked
    from ckprof.model.results import RunResults


#: a result is marked whose largest error is so many times that of other splits of its kernel
LARGER_ERROR: Final = 3.0
OF_OTHER_SPLITS: Final = "the rounding error of other splits"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One outcome, ready to be shown."""

    #: from 1 among the verified ``ok`` outcomes of a problem, 1 for all that are tied with the best; ``None``
    #: for all others
    rank: int | None
    instance: SelectedKernel
    outcome: Outcome
    #: GFLOP/s and GB/s of all tensors; ``None`` without a positive time
    rates: tuple[float, float] | None
    #: time / time of the best; ``None`` for what is not ranked
    ratio: float | None = None
    #: what readers of the time should know, e.g. ``tied with the best, noisy``; empty if nothing
    note: str = ""
    #: as fast as the best, as far as anybody can tell, but not the one that is called it
    tied: bool = False
    #: id of the baseline that this is the row of; empty for an instance
    baseline: str = ""
    #: baseline -> how many times as fast as it; only those that were timed with the same type and layout
    ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Number and name, or which baseline it is."""
        return self.instance.name if self.baseline else f"[{self.instance.index}] {self.instance.name}"

    @property
    def measurement(self) -> Measurement | None:
        """The times; ``None`` for what was not timed."""
        return self.outcome.measurement

    @property
    def verification(self) -> Verification | None:
        """The comparison with the reference; ``None`` for what was not verified."""
        return self.outcome.verification

    @property
    def noisy(self) -> bool | None:
        """Whether the times vary much; ``None`` for what was not timed."""
        return None if self.measurement is None else is_noisy(self.measurement)

    @property
    def gflops(self) -> float | None:
        """FLOP / time / 1e9."""
        return self.rates[0] if self.rates else None

    @property
    def gbytes(self) -> float | None:
        """Bytes of the three tensors / time / 1e9."""
        return self.rates[1] if self.rates else None


def rows_of_problem(results: RunResults, problem_index: int) -> list[ResultRow]:
    """Return the rows of one problem, best first."""
    instances = {instance.key: instance for instance in results.instances}
    problem = results.problems[problem_index]
    compared = [timed for timed in results.baselines if timed.outcome.problem_index == problem_index]
    ranking = results.ranking(problem_index)
    least: dict[str, float] = {}
    for outcome in (ranked.outcome for ranked in ranking):
        if outcome.verification and (error := outcome.verification.max_error):
            least[outcome.key] = min(error, least.get(outcome.key, error))
    return [
        ResultRow(
            rank=ranked.rank,
            instance=instances[ranked.outcome.key],
            outcome=ranked.outcome,
            rates=rates(problem, instances[ranked.outcome.key], ranked.outcome),
            ratio=ranked.ratio,
            note=_note(ranked, least.get(ranked.outcome.key)),
            tied=ranked.tied,
            ratios=_ratios(instances[ranked.outcome.key], ranked.outcome, compared),
        )
        for ranked in ranking
    ]


def baseline_rows(results: RunResults, problem_index: int) -> list[ResultRow]:
    """Return the rows of the baselines of one problem, in the order in which they were measured."""
    problem = results.problems[problem_index]
    several = len({_computed(measured) for measured in results.baselines}) > 1
    rows = []
    for measured in results.baselines:
        if measured.outcome.problem_index != problem_index:
            continue
        types = (
            measured.dtype.value
            if measured.compute_type is None
            else f"{measured.dtype.value} {measured.compute_type.value}"
        )
        of = f" ({types} {measured.layout})" if several or measured.compute_type else ""
        instance = SelectedKernel(
            key=measured.baseline,
            name=f"baseline {measured.baseline}{of}: {measured.description}",
            dtype=measured.dtype,
            layout=measured.layout,
            ndim=problem.ndim,
            types=replace(TypeSet.shared(measured.dtype), compute_type=measured.compute_type),
        )
        rows.append(
            ResultRow(
                rank=None,
                instance=instance,
                outcome=measured.outcome,
                rates=rates(problem, instance, measured.outcome),
                note=_noise(measured.outcome.measurement),
                baseline=measured.baseline,
                ratios={measured.baseline: 1.0} if unranked_ms(measured.outcome) else {},
            )
        )
    return rows


def rows_with_baselines(results: RunResults, problem_index: int) -> list[ResultRow]:
    """Return all rows of one problem: instances best first, each baseline after the faster ones of them."""
    rows = rows_of_problem(results, problem_index)
    for row in baseline_rows(results, problem_index):
        measured = row.outcome.measurement
        faster = [
            position
            for position, other in enumerate(rows)
            if measured is not None
            and other.rank is not None
            and other.outcome.measurement is not None
            and other.outcome.measurement.time_ms <= measured.time_ms
        ]
        ranked = sum(other.rank is not None for other in rows)
        rows.insert(max(faster, default=-1) + 1 if measured is not None else ranked, row)
    return rows


def _ratios(
    instance: SelectedKernel, outcome: Outcome, compared: Sequence[BaselineOutcome]
) -> dict[str, float]:
    time_ms = unranked_ms(outcome)
    if time_ms is None:
        return {}
    return {
        baseline.baseline: of_baseline / time_ms
        for baseline in compared
        if (of_baseline := unranked_ms(baseline.outcome)) and _computed(baseline) == _computed(instance)
    }


def _computed(kernel: BaselineOutcome | SelectedKernel) -> tuple[object, ...]:
    """Return what must be equal for times to be compared."""
    return kernel.dtype, kernel.compute_type, kernel.layout


def _noise(measured: Measurement | None) -> str:
    return "noisy" if measured is not None and is_noisy(measured) else ""


def _note(ranked: Ranked, least_error: float | None) -> str:
    """Return what a reader of a time should know.

    :param least_error: the kernel's largest error with the number of splits where that is least.
    """
    outcome = ranked.outcome
    if outcome.measurement is None or outcome.measurement.time_ms <= 0:
        return ""
    notes = ["tied with the best"] if ranked.tied else []
    if outcome.pruned:
        ratio = f"{factor(ranked.ratio)} the best, " if ranked.ratio is not None else ""
        notes.append(f"{ratio}pruned after {counted(len(outcome.rounds), 'round')}")
    error = outcome.verification.max_error if outcome.verification else 0.0
    if least_error and error >= LARGER_ERROR * least_error:
        notes.append(f"{factor(error / least_error)} {OF_OTHER_SPLITS}")
    return ", ".join([*notes, *filter(None, [_noise(outcome.measurement)])])


def rates(problem: Problem, instance: SelectedKernel, outcome: Outcome) -> tuple[float, float] | None:
    """Return the rates of a timed outcome; ``None`` where there is no positive time."""
    if outcome.measurement is None or outcome.measurement.time_ms <= 0:
        return None
    return rates_of(problem, instance.types, outcome.measurement.time_ms)


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
    # condition -> instances that do not meet it -> whether they meet all others
    rejected: dict[str, dict[str, bool]] = {}
    examples: dict[str, tuple[str, int]] = {}
    for outcome in results.outcomes:
        if outcome.problem_index != problem_index or outcome.status is not Status.UNSUPPORTED:
            continue
        alone = len({rejection.rule for rejection in outcome.unmet_requirements}) == 1
        for rejection in outcome.unmet_requirements:
            keys = rejected.setdefault(rejection.rule, {})
            keys[outcome.key] = keys.get(outcome.key, False) or alone
            examples.setdefault(rejection.rule, (rejection.message, numbers[outcome.key]))
    counts = [
        RequirementCount(
            condition=condition,
            instances=len(keys),
            alone=sum(keys.values()),
            example=examples[condition][0],
            example_instance=examples[condition][1],
        )
        for condition, keys in rejected.items()
    ]
    return sorted(counts, key=lambda count: (-count.instances, count.condition))
