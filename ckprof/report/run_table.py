"""Tables for a terminal and for Markdown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tabulate import tabulate

from ckprof.model.outcome import CUT_OFF, DEVICE_REFERENCE, Status
from ckprof.plain_text import markdown_cell, one_line
from ckprof.report.rows import (
    NOISY_SHARE,
    baseline_rows,
    is_noisy,
    rates,
    reason_of,
    requirement_counts,
    rows_with_baselines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ckprof.model.outcome import Outcome
    from ckprof.model.results import RunResults
    from ckprof.report.rows import RequirementCount, Row


#: the last line of a table that lacks outcomes
PARTIAL: Final = "Partial: the run was ended before its last outcome."


def render_table(results: RunResults) -> str:
    """Render all problems for a terminal."""
    return _render(results, "simple")


def render_markdown(results: RunResults) -> str:
    """Render all problems as Markdown tables."""
    return _render(results, "github")


def _render(results: RunResults, style: str) -> str:
    parts = []
    for index, problem in enumerate(results.problems):
        heading = f"Problem {index}: {results.direction} {problem.describe()}"
        columns = columns_of(results)
        table = tabulate(
            [
                [_text(column.cell(row), style) for column in columns]
                for row in rows_with_baselines(results, index)
            ],
            headers=[column.title for column in columns],
            tablefmt=style,
            disable_numparse=True,
            colalign=[column.align for column in columns],
        )
        parts += [f"### {heading}" if style == "github" else heading, "", table, ""]
        parts += [*closing_lines(results, index, style), ""]
    if results.partial:
        parts.append(PARTIAL)
    return "\n".join(parts).rstrip() + "\n"


def closing_lines(results: RunResults, problem_index: int, style: str) -> list[str]:
    """Return what follows the table of a problem: counts, conditions that were not met, the best kernel.

    :param style: of tables, as ``tabulate`` calls it.
    """
    return [
        counts_line(results, problem_index),
        *_verification_lines(results, problem_index),
        *_timing_lines(results, problem_index),
        *_baseline_lines(results, problem_index),
        *_why_lines(results, problem_index, style),
        *_best_lines(results, problem_index, style),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table."""

    title: str
    align: str
    cell: Callable[[Row], str]


def _text(text: str, style: str) -> str:
    return markdown_cell(text) if style == "github" else one_line(text)


def columns_of(results: RunResults) -> list[Column]:
    """Return the columns; the number of splits is shown where any kernel was run with more than one."""
    split = Column(title="SplitK", align="right", cell=lambda row: _split(row.outcome))
    return [
        Column(title="rank", align="right", cell=lambda row: "" if row.rank is None else str(row.rank)),
        Column(title="instance", align="left", cell=lambda row: row.title),
        *([split] if any(_names_split(outcome) for outcome in results.outcomes) else []),
        Column(title="status", align="left", cell=_status),
        Column(title="time [ms]", align="right", cell=_time),
        *(_ratio_column(id_) for id_ in results.baseline_ids),
        Column(title="GFLOP/s", align="right", cell=lambda row: _figure(row.gflops)),
        Column(title="GB/s", align="right", cell=lambda row: _figure(row.gbytes)),
        Column(title="max error", align="right", cell=_max_error),
        Column(
            title="reason", align="left", cell=lambda row: reason_of(row.outcome, why=results.why) or row.note
        ),
    ]


def _ratio_column(baseline: str) -> Column:
    return Column(title=f"vs {baseline}", align="right", cell=lambda row: _figure(row.ratios.get(baseline)))


def _names_split(outcome: Outcome) -> bool:
    return outcome.split_k != 1 or outcome.split_k_deduced


def _split(outcome: Outcome) -> str:
    if not outcome.split_k_deduced:
        return str(outcome.split_k)
    return f"{outcome.split_k} (auto)" if outcome.split_k >= 1 else "auto"


def _status(row: Row) -> str:
    unverified = row.outcome.status is Status.OK and row.outcome.verification is None
    return "ok (not verified)" if unverified else row.outcome.status.value


def _time(row: Row) -> str:
    measurement = row.outcome.measurement
    return f"{measurement.median_ms:.4f} ± {measurement.spread_ms:.4f}" if measurement else ""


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _max_error(row: Row) -> str:
    return f"{row.outcome.verification.max_error:.2e}" if row.outcome.verification else ""


def counts_line(results: RunResults, problem_index: int) -> str:
    """Return e.g. ``53 instances: 40 ok, 13 unsupported``, or ``106 runs of 53 instances: ...``."""
    outcomes = [o for o in results.outcomes if o.problem_index == problem_index]
    instances = len({outcome.key for outcome in outcomes})
    total = f"{instances} instance{'s' if instances != 1 else ''}"
    if len(outcomes) > instances:
        total = f"{len(outcomes)} runs of {total}"
    return f"{total}: {status_counts(Counter(o.status for o in outcomes))}"


def _verification_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return where results were verified, if that was not in this process."""
    seen = (one.verification for one in results.of_problem(problem_index))
    if any(one is not None and one.reference == DEVICE_REFERENCE for one in seen):
        return ["verified on the device, against its reference in double precision"]
    return []


def _timing_lines(results: RunResults, problem_index: int) -> list[str]:
    """Return what limits the trust in the times of a problem, nothing if all are as asked for."""
    outcomes = results.of_problem(problem_index)
    timed = [one.measurement for one in outcomes if one.measurement]
    left = sum(one.standing is not None and one.standing.left_early for one in outcomes)
    tied = sum(one.tied for one in results.ranking(problem_index))
    cut = sum(one.stopped_by in CUT_OFF for one in timed)
    noisy = sum(is_noisy(one) for one in timed)
    lines = []
    if tied:
        lines.append(
            f"{tied} of {len(timed)} times are tied with the best: which of these kernels is the fastest is "
            "not known; more --rounds and --max-time may tell"
        )
    if left:
        lines.append(
            f"{left} of {len(timed)} kernels left the rounds early because they are surely slower; "
            "--rounds 1 measures all alike"
        )
    if cut:
        lines.append(
            f"{cut} of {len(timed)} times were cut off by the time limit before the criterion was met; "
            "--max-time and --timeout raise it"
        )
    if noisy:
        lines.append(
            f"{noisy} of {len(timed)} times are noisy: "
            f"their spread is more than {NOISY_SHARE:.0%} of the median"
        )
    # each problem's table is read alone
    return [*lines, *(f"warning: {text}" for text in results.warnings)] if timed else lines


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


def status_counts(counts: Mapping[Status, int]) -> str:
    """Return e.g. ``40 ok, 13 unsupported``."""
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts.get(status))


def _why_lines(results: RunResults, problem_index: int, style: str) -> list[str]:
    """Return the table of conditions and the instances that are one kernel, if that was asked for."""
    found = requirement_counts(results, problem_index) if results.why else []
    lines = ["", *why_table(found, style)] if found else []
    here = [outcome for outcome in results.outcomes if outcome.problem_index == problem_index]
    indices = _indices(results, here)
    ran = _indices(results, [outcome for outcome in here if outcome.status is Status.OK])
    substituted = [
        one.describe(ran)
        for one in results.substitutions
        if one.problem_index == problem_index and ran.intersection(one.instances)
    ]
    same = [one.describe() for one in results.same_kernels if len(indices.intersection(one.instances)) > 1]
    notes = [*substituted, *same]
    return [*lines, "", *notes] if notes else lines


def _indices(results: RunResults, outcomes: Iterable[Outcome]) -> set[int]:
    """Return the positions of the instances of some outcomes."""
    keys = {outcome.key for outcome in outcomes}
    return {instance.index for instance in results.instances if instance.key in keys}


def why_table(found: Sequence[RequirementCount], style: str) -> list[str]:
    """Return the lines of a table of conditions, with what its columns mean."""
    table = tabulate(
        [
            [one.condition, one.instances, one.alone, f"{one.example} (instance {one.example_instance})"]
            for one in found
        ],
        headers=["not met", "instances", "only this", "for example"],
        tablefmt=style,
        disable_numparse=True,
        colalign=["left", "right", "right", "left"],
    )
    return [table, "", "'only this': instances that would be supported if this one condition were met."]


def _best_lines(results: RunResults, problem_index: int, style: str) -> list[str]:
    """Return the block that ckProfiler ends with, or why there is none."""
    best = results.best(problem_index)
    if best is None or best.measurement is None:
        outcomes = results.of_problem(problem_index)
        instances = len({o.key for o in outcomes})
        if not outcomes:
            return ["", "Nothing was measured on this problem."]
        if all(o.status is Status.UNSUPPORTED for o in outcomes):
            return [f"0 of {instances} instances support this problem; see the reason of each."]
        if any(o.status is Status.OK for o in outcomes):
            return ["No best configuration: results were not verified, so nothing is ranked."]
        return ["No best configuration: no instance gave a verified result."]
    instance = next(i for i in results.instances if i.key == best.key)
    timed = rates(results.problems[problem_index], instance, best)
    lines = [
        "Best configuration parameters:",
        f"name: {instance.instance_string} (instance {instance.index})",
        f"avg_time: {best.measurement.median_ms:.6g} (median of {best.measurement.samples})",
        f"tflops: {timed.tflops if timed else 0:.6g}",
        f"GB/s: {timed.gbytes if timed else 0:.6g}"
        + (f", SplitK {_split(best)}" if _names_split(best) else ""),
    ]
    if style == "github":
        return ["", "```", *lines, "```"]
    return ["", *lines]
