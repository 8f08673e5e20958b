"""Runs for people: the ranked table of each problem, and what else is to be known of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.formatting import counted, factor, percent, would_resolve
from ckprof.model.noise import PROCESS_SIGMA
from ckprof.model.outcome import CUT_OFF, DEVICE_REFERENCE, Status
from ckprof.model.ranking import CONFIDENCE, NOISY_SHARE, Order, is_noisy
from ckprof.model.requirement import UNTESTED
from ckprof.model.results import second_text, status_counts
from ckprof.report.document import Block, Document, Heading
from ckprof.report.epilogue_cost import cost_table
from ckprof.report.figures import checked_text
from ckprof.report.layout import ASKED
from ckprof.report.rows import (
    LARGER_ERROR,
    OF_OTHER_SPLITS,
    baseline_rows,
    rates,
    reason_of,
    requirement_counts,
    rows_of_problem,
    rows_with_baselines,
)
from ckprof.report.short_names import ShortNames
from ckprof.report.table import Column, Table
from ckprof.report.totals import add_totals, networks_of_run
from ckprof.report.unserved import unserved_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.model.outcome import Outcome
    from ckprof.model.results import RunResults
    from ckprof.report.rows import RequirementCount, ResultRow


#: notes of a run by default
MOST_NOTES: Final = 4
#: said of a table that lacks outcomes
PARTIAL: Final = "Partial: the run was ended before its last outcome."


def run_document(results: RunResults, notes: int | None = MOST_NOTES) -> Document:
    """Return all problems with all their rows.

    :param notes: lines about the whole run at most; ``None`` for all.
    """
    document = Document()
    for index in range(len(results.problems)):
        table = Table(run_columns(results), rows_with_baselines(results, index))
        document.add(problem_heading(results, index), table)
        add_closing(document, results, index)
    return add_notes(document, results, notes)


def problem_heading(results: RunResults, problem_index: int) -> Heading:
    """Return what stands above the table of a problem."""
    described = results.problems[problem_index].describe()
    case = results.cases[problem_index] if results.cases else None
    layer = " of ".join(filter(None, (case.name, case.network))) if case else ""
    if results.unfused_problems.get(problem_index - 1) == problem_index:
        layer = f"problem {problem_index - 1} without what is fused to it"
    return Heading(f"Problem {problem_index}{layer and f', {layer}'}: {results.direction} {described}")


def add_closing(document: Document, results: RunResults, problem_index: int) -> None:
    """Add what follows the table of a problem: counts, conditions that were not met, the best kernel."""
    lines = [counts_line(results, problem_index), *_baseline_lines(results, problem_index)]
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
    if len(results.problems) > 1:
        document.add(winner_line(results, problem_index))


def add_notes(document: Document, results: RunResults, most: int | None) -> Document:
    """Add what is to be known of a whole run; the last line names the winner, if there is one problem.

    :param most: notes at most; ``None`` for all.
    """
    add_totals(document, networks_of_run(results))
    notes = run_notes(results)
    if most is not None and len(notes) > most:
        notes[most - 1 :] = [f"{len(notes) - most + 1} more notes: -v"]
    document.add("\n".join(notes))
    document.add(PARTIAL if results.partial else "")
    if len(results.problems) == 1:
        document.add(winner_line(results, 0))
    return document


def winner_line(results: RunResults, problem_index: int) -> str:
    """Return the best kernel of a problem, where its list has it, and how far the next one is behind it."""
    ranked = [row for row in rows_of_problem(results, problem_index) if row.rank is not None]
    times = [row.measurement.time_ms for row in ranked if row.measurement is not None]
    if not times:
        return ""
    best, names = ranked[0], ShortNames((row.instance.shown for row in ranked), 0)
    split = f"SplitK {_split(best.outcome)}" if _names_split(best.outcome) else ""
    name = f"[{best.instance.index}] {names.short(best.instance.name)}"
    words = [name, split, file_line(best.instance.source), f"{times[0]:.4g} ms"]
    if len(times) > 1:
        ratio, first = times[1] / times[0], results.resolution(problem_index).first
        words.append(f"{factor(ratio)} faster than the next" if ratio > 1 else "as fast as the next")
        words[-1] += f" (statistical tie of {first})" if first > 1 else ""
    words += [part for part in best.note.split(", ") if OF_OTHER_SPLITS in part]
    return f"winner: {', '.join(filter(None, words))}"


def file_line(source: str) -> str:
    """Return the name of a list and the line, without the folders."""
    return source.rpartition("/")[2]


def run_columns(results: RunResults) -> list[Column[ResultRow]]:
    """Return the columns; the number of splits is shown where any kernel was run with more than one."""
    split: list[Column[ResultRow]] = [
        Column("SplitK", lambda row: row.outcome.split_k, align="right", text=lambda row: _split(row.outcome))
    ]
    prepared: list[Column[ResultRow]] = [Column("preparation", lambda row: row.instance.preparation[0])]
    return [
        Column("rank", lambda row: row.rank, align="right"),
        Column(
            "instance", lambda row: row.title, names=lambda row: "" if row.baseline else row.instance.shown
        ),
        *(split if any(_names_split(outcome) for outcome in results.outcomes) else []),
        *(prepared if any(kernel.preparation[0] for kernel in results.instances) else []),
        Column("status", _status),
        Column("time", _time, unit="ms", align="right"),
        Column(f"{CONFIDENCE:.0%} interval", _interval, unit="ms", align="right", priority=1),
        *(_ratio_column(id_) for id_ in results.baseline_ids),
        Column("GFLOP/s", lambda row: row.gflops, align="right", form=".2f", priority=3),
        Column("GB/s", lambda row: row.gbytes, align="right", form=".2f", priority=2),
        Column("max error", _verified("max_error"), align="right", form=".2e", priority=1),
        Column("error", _verified("error_ulp"), unit="ulp", align="right", form=".2g", priority=0),
        Column(
            "line",
            lambda row: row.instance.source,
            short=lambda row: file_line(row.instance.source),
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


def _verified(name: str) -> Callable[[ResultRow], float | None]:
    return lambda row: getattr(row.verification, name, None)


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


def counts_line(results: RunResults, problem_index: int) -> str:
    """Return e.g. ``53 instances: 40 ok, 13 unsupported``, or ``106 runs of 53 instances: ...``."""
    outcomes = [o for o in results.outcomes if o.problem_index == problem_index]
    instances = len({outcome.key for outcome in outcomes})
    total = counted(instances, "instance")
    if len(outcomes) > instances:
        total = f"{len(outcomes)} runs of {total}"
    return f"{total}: {status_counts(Counter(o.status for o in outcomes))}"


def run_notes(results: RunResults) -> list[str]:
    """Return what limits the trust in a run's times, then how it verified and what computed."""
    outcomes = [outcome for index in range(len(results.problems)) for outcome in results.of_problem(index)]
    timed = [outcome.measurement for outcome in outcomes if outcome.measurement]
    verifications = [outcome.verification for outcome in outcomes if outcome.verification]
    checked = checked_text(verifications)
    second = f"; {second_text(results.second)}" if results.second else ""
    on_device = any(seen.reference == DEVICE_REFERENCE for seen in verifications)
    times, kernels = counted(len(timed), "time"), counted(len(timed), "kernel")
    left = sum(outcome.pruned for outcome in outcomes)
    cut = sum(measurement.stopped_by in CUT_OFF for measurement in timed)
    noisy = sum(map(is_noisy, timed))
    rows = [row for index in range(len(results.problems)) for row in rows_of_problem(results, index)]
    larger = sum(OF_OTHER_SPLITS in row.note for row in rows)
    units = Counter(unit for measurement in timed for unit in measurement.units)
    used = (f"{unit} ({counted(number, 'kernel')})" for unit, number in units.most_common())
    notes = {
        f"at least {factor(LARGER_ERROR)} {OF_OTHER_SPLITS}: {larger} of {times} (column reason)": larger,
        f"noisy: {noisy} of {times}, spread above {percent(NOISY_SHARE, None)} of the median": noisy,
        f"stopped by the time limit before the criterion: {cut} of {times} (--max-time, --timeout)": cut,
        **dict.fromkeys(_standing_notes(results), True),
        **dict.fromkeys(results.notes, True),
        f"pruned early: {left} of {kernels}, significantly slower (--rounds 1 measures all alike)": left,
        f"verified: {checked}; operands and schedule randomised{second}": checked,
        "reference: computed on the device in double precision": on_device,
        f"compute path: {', '.join(used)}": units,
    }
    true = [text for text, holds in notes.items() if holds]
    return [*(f"warning: {text}" for text in results.warnings), *true]


def _standing_notes(results: RunResults) -> Iterator[str]:
    """Yield how sure the first places are."""
    found = [results.resolution(index) for index in range(len(results.problems)) if results.best(index)]
    unresolved = [resolution for resolution in found if not resolution.resolved]
    if unresolved:
        rounds = [resolution.rounds for resolution in unresolved if resolution.rounds is not None]
        what = (
            f"{would_resolve(max(rounds), 'round')} (--rounds)" if rounds else "more --passes may resolve it"
        )
        yield f"winner resolved: {len(found) - len(unresolved)} of {counted(len(found), 'problem')}; {what}"
    if any(resolution.processes == 1 and resolution.order is not Order.ALONE for resolution in found):
        yield f"single process: {PROCESS_SIGMA:.0%} process-to-process variation assumed (see --passes)"


def _baseline_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return what the rows of baselines mean, and why one that was asked for has no time."""
    measured = {row.baseline for row in baseline_rows(results, problem_index)}
    return [
        f"'vs {id_}': speed-up over the baseline"
        if id_ in measured
        else f"The baseline {id_} was not measured: no instance was run on this problem."
        for id_ in results.baseline_ids
    ]


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
        Column(
            "for example", lambda one: f"{' '.join(one.example.split())} (instance {one.example_instance})"
        ),
    ]
    return Table(columns, counts, notes=lambda left_out: ["", note])


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
        f"time_ms: {best.measurement.time_ms:.6g}",
        f"tflops: {gflops / 1e3:.6g}",
        f"GB/s: {gbytes:.6g}" + (f", SplitK {_split(best)}" if _names_split(best) else ""),
    )
    return Block(lines)
