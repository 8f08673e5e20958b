"""Tables for a terminal and for Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.model.outcome import Status
from ckprof.report.rows import rates, rows_of_problem

if TYPE_CHECKING:
    from ckprof.model.results import RunResults
    from ckprof.report.rows import Row

_HEADERS = ("rank", "instance", "status", "time [ms]", "GFLOP/s", "GB/s", "max error", "reason")


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
        rows = rows_of_problem(results, index)
        table = tabulate(
            [_cells(row) for row in rows],
            headers=_HEADERS,
            tablefmt=style,
            disable_numparse=True,
            colalign=("right", "left", "left", "right", "right", "right", "right", "left"),
        )
        parts += [f"### {heading}" if style == "github" else heading, "", table, ""]
        parts += [counts_line(results, index), *_best_lines(results, index, style), ""]
    return "\n".join(parts).rstrip() + "\n"


def _cells(row: Row) -> list[str]:
    measurement = row.outcome.measurement
    verification = row.outcome.verification
    time = f"{measurement.median_ms:.4f} ± {measurement.spread_ms:.4f}" if measurement else ""
    status = row.outcome.status.value
    if row.outcome.status is Status.OK and verification is None:
        status = "ok (not verified)"
    return [
        "" if row.rank is None else str(row.rank),
        f"[{row.instance.index}] {row.instance.name}",
        status,
        time,
        "" if row.gflops is None else f"{row.gflops:.2f}",
        "" if row.gbytes is None else f"{row.gbytes:.2f}",
        f"{verification.max_error:.2e}" if verification else "",
        " ".join(row.outcome.reason.split()),
    ]


def counts_line(results: RunResults, problem_index: int) -> str:
    """Return e.g. ``53 instances: 40 ok, 13 unsupported``."""
    counts = Counter(o.status for o in results.outcomes if o.problem_index == problem_index)
    total = sum(counts.values())
    shown = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
    return f"{total} instance{'s' if total != 1 else ''}: {shown}"


def _best_lines(results: RunResults, problem_index: int, style: str) -> list[str]:
    """Return the block that ckProfiler ends with, or why there is none."""
    best = results.best(problem_index)
    if best is None or best.measurement is None:
        outcomes = results.of_problem(problem_index)
        supported = sum(o.status is not Status.UNSUPPORTED for o in outcomes)
        if not supported:
            return [f"0 of {len(outcomes)} instances support this problem; the reason stands beside each."]
        if any(o.status is Status.OK for o in outcomes):
            return ["No best configuration: results were not verified, so nothing is ranked."]
        return ["No best configuration: no instance gave a verified result."]
    instance = next(i for i in results.instances if i.key == best.key)
    gflops, gbytes = rates(results.problems[problem_index], instance, best)
    lines = [
        "Best configuration parameters:",
        f"name: {instance.instance_string} (instance {instance.index})",
        f"avg_time: {best.measurement.median_ms:.6g} (median of {best.measurement.samples})",
        f"tflops: {(gflops or 0) / 1e3:.6g}",
        f"GB/s: {gbytes or 0:.6g}" + (f", SplitK {best.split_k}" if best.split_k != 1 else ""),
    ]
    if style == "github":
        return ["", "```", *lines, "```"]
    return ["", *lines]
