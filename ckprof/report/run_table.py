"""Runs for people: the ranked table of each problem, and what else is to be known of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.model.noise import PROCESS_SIGMA
from ckprof.model.outcome import CUT_OFF, DEVICE_REFERENCE, Status
from ckprof.model.ranking import CONFIDENCE, NOISY_SHARE, TIE, Order, is_noisy, unranked_time_of
from ckprof.model.requirement import UNTESTED
from ckprof.model.results import status_counts
from ckprof.report.document import Block, Document, Heading
from ckprof.report.epilogue_cost import cost_table
from ckprof.report.figures import checked_text
from ckprof.report.layout import ASKED
from ckprof.report.rows import (
    baseline_rows,
    rates,
    reason_of,
    requirement_counts,
    rows_with_baselines,
)
from ckprof.report.table import Column, Table
from ckprof.report.totals import add_totals, networks_of_run
from ckprof.report.unserved import unserved_in
from ckprof.wording import agreeing, counted, percent, would_tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.outcome import Outcome
    from ckprof.model.ranking import Standing
    from ckprof.model.results import RunResults
    from ckprof.report.rows import RequirementCount, ResultRow


#: the last line of a table that lacks outcomes
PARTIAL: Final = "Partial: the run was ended before its last outcome."


def run_document(results: RunResults) -> Document:
    """Return all problems with all their rows."""
    document = Document()
    for index in range(len(results.problems)):
        table = Table(run_columns(results), rows_with_baselines(results, index))
        document.add(problem_heading(results, index), table)
        add_closing(document, results, index)
    add_totals(document, networks_of_run(results))
    if results.partial:
        document.add(PARTIAL)
    return document


def problem_heading(results: RunResults, problem_index: int) -> Heading:
    """Return what stands above the table of a problem."""
    described = results.problems[problem_index].describe()
    case = results.cases[problem_index] if results.cases else None
    layer = " of ".join(filter(None, (case.name, case.network))) if case else ""
    if results.unfused_problems.get(problem_index - 1) == problem_index:
        layer = f"problem {problem_index - 1} without what is fused to it"
    return Heading(
        f"Problem {problem_index}{layer and f', {layer}'}: {results.direction} {described}",
    )


def add_closing(document: Document, results: RunResults, problem_index: int) -> None:
    """Add what follows the table of a problem: counts, conditions that were not met, the best kernel."""
    lines = [
        counts_line(results, problem_index),
        *_verification_lines(results, problem_index),
        *_timing_lines(results, problem_index),
        *_baseline_lines(results, problem_index),
    ]
    if results.why:
        counts = requirement_counts(results, problem_index)
        document.add("\n".join(lines), *([why_table(counts)] if counts else []))
        lines = _same_kernel_lines(results, problem_index)
    if (costs := cost_table(results, problem_index)) is not None:
        document.add("\n".join(lines), costs)
        lines = []
    best = _best_lines(results, problem_index)
    if isinstance(best, str):
        document.add("\n".join([*lines, best]))
    else:
        document.add("\n".join(lines), best)


def run_columns(results: RunResults) -> list[Column[ResultRow]]:
    """Return the columns; the number of splits is shown where any kernel was run with more than one."""
    split: list[Column[ResultRow]] = [
        Column("SplitK", lambda row: row.outcome.split_k, align="right", text=lambda row: _split(row.outcome))
    ]
    return [
        Column("rank", lambda row: row.rank, align="right"),
        Column(
            "instance", lambda row: row.title, names=lambda row: "" if row.baseline else row.instance.name
        ),
        *(split if any(_names_split(outcome) for outcome in results.outcomes) else []),
        Column("status", _status),
        Column("time", _time, unit="ms", align="right"),
        Column(f"{CONFIDENCE:.0%} interval", _interval, unit="ms", align="right", priority=1),
        *(_ratio_column(id_) for id_ in results.baseline_ids),
        Column("GFLOP/s", lambda row: row.gflops, align="right", form=".2f", priority=3),
        Column("GB/s", lambda row: row.gbytes, align="right", form=".2f", priority=2),
        Column("max error", _max_error, align="right", form=".2e", priority=1),
        Column(
            "line",
            lambda row: row.instance.source,
            short=lambda row: row.instance.source.rpartition("/")[2],
            priority=ASKED if results.why else 4,
        ),
        Column("reason", lambda row: reason_of(row.outcome, why=results.why) or row.note, priority=3),
    ]


def row_style(row: ResultRow) -> str:
    """Return the style of a row: the best, and what did not work."""
    if row.rank == 1:
        return "good"
    if row.outcome.status.is_failure:
        return "bad"
    return "warning" if row.outcome.status is Status.UNSUPPORTED else ""


def _ratio_column(baseline: str) -> Column[ResultRow]:
    return Column(f"vs {baseline}", lambda row: row.ratios.get(baseline), align="right", form=".2f")


def _names_split(outcome: Outcome) -> bool:
    return outcome.split_k != 1 or outcome.split_k_deduced


def _split(outcome: Outcome) -> str:
    if not outcome.split_k_deduced:
        return str(outcome.split_k)
    return f"{outcome.split_k} (auto)" if outcome.split_k >= 1 else "auto"


def _status(row: ResultRow) -> str:
    unverified = row.outcome.status is Status.OK and row.outcome.verification is None
    return "ok (not verified)" if unverified else row.outcome.status.value


def _time(row: ResultRow) -> str:
    measurement = row.outcome.measurement
    return f"{measurement.time_ms:.4f} ± {measurement.spread_ms:.4f}" if measurement else ""


def _interval(row: ResultRow) -> str:
    measured = row.outcome.measurement
    if measured is None or measured.low_ms is None or measured.high_ms is None:
        return ""
    return f"{measured.low_ms:.4f} to {measured.high_ms:.4f}"


def _max_error(row: ResultRow) -> float | None:
    return row.outcome.verification.max_error if row.outcome.verification else None


def counts_line(results: RunResults, problem_index: int) -> str:
    """Return e.g. ``53 instances: 40 ok, 13 unsupported``, or ``106 runs of 53 instances: ...``."""
    outcomes = [o for o in results.outcomes if o.problem_index == problem_index]
    instances = len({outcome.key for outcome in outcomes})
    total = counted(instances, "instance")
    if len(outcomes) > instances:
        total = f"{len(outcomes)} runs of {total}"
    return f"{total}: {status_counts(Counter(o.status for o in outcomes))}"


def _verification_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return where results were verified, if that was not in this process, and of how many launches."""
    outcomes = (outcome.verification for outcome in results.of_problem(problem_index))
    verifications = [seen for seen in outcomes if seen is not None]
    lines = []
    if any(seen.reference == DEVICE_REFERENCE for seen in verifications):
        lines.append("verified on the device, against its reference in double precision")
    if checked := checked_text(verifications):
        lines.append(
            f"the results of {checked} were checked, with operands and at moments that kernels cannot foresee"
        )
    return lines


def _timing_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return what limits the trust in the times of a problem, nothing if all are as asked for."""
    outcomes = results.of_problem(problem_index)
    timed = [outcome.measurement for outcome in outcomes if outcome.measurement]
    left = sum(outcome.pruned for outcome in outcomes)
    cut = sum(measurement.stopped_by in CUT_OFF for measurement in timed)
    noisy = sum(map(is_noisy, timed))
    lines = _order_lines(results.standing(problem_index), len(timed)) if timed else []
    units = Counter(unit for measurement in timed for unit in measurement.units)
    if units:
        used = (f"{unit} ({counted(kernels, 'kernel')})" for unit, kernels in units.most_common())
        lines.append(f"units of the device in timed launches: {', '.join(used)}")
    if left:
        lines.append(
            f"pruned early: {left} of {counted(len(timed), 'kernel')}, significantly slower; "
            "--rounds 1 measures all alike"
        )
    if cut:
        lines.append(
            f"{cut} of {counted(len(timed), 'time')} {agreeing(cut, 'was', 'were')} cut off by "
            "the time limit before the criterion was met; "
            "--max-time and --timeout raise it"
        )
    if noisy:
        lines.append(
            f"{noisy} of {counted(len(timed), 'time')} {agreeing(noisy, 'is', 'are')} noisy: "
            f"{agreeing(noisy, 'its', 'their')} spread is more than {percent(NOISY_SHARE, None)} of "
            "the median"
        )
    # each problem's table is read alone
    further = (*results.notes, *(f"warning: {text}" for text in results.warnings))
    return [*lines, *further] if timed else lines


def _order_lines(standing: Standing, timed: int) -> list[str]:
    """Return how sure the first place is."""
    if standing.order is Order.CLEAR:
        lines = [
            f"the best is faster than all others by more than {percent(TIE, None)}, as 95 of 100 "
            "such runs would find"
        ]
    elif standing.order is Order.ALONE:
        return []
    else:
        lines = [
            f"{standing.first - 1} of {counted(timed, 'time')} are tied with the best: {_known(standing)}"
        ]
    if standing.processes == 1:
        lines.append(
            "one worker process measured, which may make a kernel faster or slower for as long as it lives: "
            f"{PROCESS_SIGMA:.0%} (standard deviation) are allowed for; several --passes show it"
        )
    return lines


def _known(standing: Standing) -> str:
    if standing.order is Order.TIE:
        return (
            f"any of them may be the fastest, the first is slower than that by at most {percent(TIE, None)}"
        )
    if standing.rounds is None:
        return "which one is the fastest is not known; more --rounds in several --passes may tell"
    return f"which one is the fastest is not known; {would_tell(standing.rounds, 'round')} (--rounds)"


def _baseline_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return what the rows of baselines mean, and why one that was asked for has no time."""
    if not results.baseline_ids:
        return []
    rows = baseline_rows(results, problem_index)
    lines = [f"'vs {id_}': how many times as fast as the baseline." for id_ in results.baseline_ids]
    for id_ in results.baseline_ids:
        if not any(row.baseline == id_ for row in rows):
            lines.append(f"The baseline {id_} was not measured: no instance was run on this problem.")
    return lines


def _same_kernel_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return which instances are one kernel, if that was asked for."""
    here = results.of_problem(problem_index)
    indices = _indices(results, here)
    ran = _indices(results, [outcome for outcome in here if outcome.status is Status.OK])
    substituted = [
        substitution.describe(ran)
        for substitution in results.substitutions
        if substitution.problem_index == problem_index and ran.intersection(substitution.instances)
    ]
    return substituted + [
        same.describe() for same in results.same_kernels if len(indices.intersection(same.instances)) > 1
    ]


def _indices(results: RunResults, outcomes: Iterable[Outcome]) -> set[int]:
    """Return the positions of the instances of some outcomes."""
    keys = {outcome.key for outcome in outcomes}
    return {instance.index for instance in results.instances if instance.key in keys}


def why_table(counts: Sequence[RequirementCount]) -> Table[RequirementCount]:
    """Return the table of the conditions that are not met, with what its columns mean."""
    note = (
        "'only this': instances that would be supported if this one condition were met; none of those "
        f"whose other conditions are {UNTESTED}."
    )
    columns: list[Column[RequirementCount]] = [
        Column("not met", lambda count: count.condition),
        Column("instances", lambda count: count.instances, align="right"),
        Column("only this", lambda count: count.alone, align="right"),
        Column("for example", _example),
    ]
    return Table(columns, counts, notes=lambda left_out: ["", note])


def _example(count: RequirementCount) -> str:
    return f"{' '.join(count.example.split())} (instance {count.example_instance})"


def _best_lines(results: RunResults, problem_index: int) -> str | Block:
    """Return the block that ckProfiler ends with, or why there is none."""
    best = results.best(problem_index)
    unserved = unserved_in(results, problem_index)
    if unserved is not None or best is None or best.measurement is None:
        reason = unserved.reason if unserved is not None else ""
        outcomes = results.of_problem(problem_index) if unserved is not None and unserved.complete else []
        if outcomes and all(outcome.status is Status.UNSUPPORTED for outcome in outcomes):
            instances = len({outcome.key for outcome in outcomes})
            return f"0 of {counted(instances, 'instance')} support this problem: {reason}."
        return f"No best configuration: {reason}."
    instance = next(i for i in results.instances if i.key == best.key)
    gflops, gbytes = rates(results.problems[problem_index], instance, best) or (0, 0)
    lines = (
        "Best configuration parameters:",
        f"name: {instance.instance_string} (instance {instance.index})",
        f"time_ms: {best.measurement.time_ms:.6g} ({_time_of_what(best)})",
        f"tflops: {gflops / 1e3:.6g}",
        f"GB/s: {gbytes:.6g}" + (f", SplitK {_split(best)}" if _names_split(best) else ""),
    )
    return Block(lines)


def _time_of_what(best: Outcome) -> str:
    time = unranked_time_of(best)
    if time is None or not best.rounds:
        return f"median of {best.measurement.samples if best.measurement else 0}"
    return f"{time.statistic}, {counted(len(best.rounds), 'round')}"
