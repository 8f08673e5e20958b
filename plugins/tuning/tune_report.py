"""What a search result, as text and as JSON values."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import counted, percent
from ckprof.model.problem import brief
from ckprof.report.document import Document
from ckprof.report.table import Column, Table
from ckprof.report.unserved import served_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.baseline_comparison import BaselineComparison, ProblemComparison
    from ckprof_plugins.tuning.search.loop import SearchProgress
    from ckprof_plugins.tuning.search.result import BestChoice, TuneResult

#: rows of progress that are shown: enough to see how the search went
_SHOWN: Final = 12
#: kernels that were never built, and problems that were not compared, that the text names
_LISTED: Final = 8

_ENDS: Final = {
    "settled": "no further measurement is expected to be worth it",
    "ended": "the strategy proposes nothing further, although something better is probable",
    "budget": "budget spent; rerun the same command to resume",
    "requested": "stopped; rerun the same command to resume",
}


def tune_values(result: TuneResult) -> dict[str, Any]:
    """Return a search as plain JSON values; times in microseconds, shares between 0 and 1."""
    return {
        "strategy": result.strategy,
        "stop": result.stop.value,
        "seconds": result.seconds,
        "planning_seconds": result.planning_s,
        "tie": result.tie,
        "blind": {"measured": result.blind, "surprises": result.surprises},
        "progress": [
            {
                "seconds": step.seconds,
                "measured": step.measured,
                "built": step.built,
                "problems": step.problems,
                "total_us": step.total_us,
                "best_us": [time if math.isfinite(time) else None for time in step.best_us],
            }
            for step in result.progress
        ],
        "problems": [
            {
                "problem": choice.problem.describe(),
                "count": choice.count,
                "kernel": choice.kernel or None,
                "missing": choice.missing or None,
                "splits": choice.splits,
                "time_us": choice.time_us,
                "tied": choice.tied,
                "measured": choice.measured,
                "unmeasured": choice.unmeasured,
                "probability_better": choice.better,
                "expected_improvement": choice.gain,
            }
            for choice in result.best
        ],
        "never_built": [{"kernel": name, "reason": reason} for name, reason in result.unbuilt.items()],
        "libraries": [
            {
                "kernels": [result.kernels[number] for number in library.kernels],
                "slowdown": library.slowdown,
                "bound": library.bound,
                "exact": library.exact,
                "unserved": library.unserved,
            }
            for library in result.libraries
        ],
        "chosen": list(result.chosen),
        "comparison": None if result.comparison is None else comparison_values(result.comparison),
    }


def tune_document(result: TuneResult) -> Document:
    """Return a search as tables for people."""
    document = Document([_summary(result)])
    if result.progress:
        document.add(_progress(result))
    document.add(_best(result))
    if result.libraries:
        document.add(_libraries(result))
    document.add(_unbuilt(result))
    if result.comparison is not None:
        add_comparison(document, result.comparison)
    return document


def _summary(result: TuneResult) -> str:
    built = len(result.kernels) - len(result.unbuilt)
    measured = sum(choice.measured for choice in result.best)
    lines = [
        f"{_ENDS[result.stop.value]} ({result.strategy}, {result.seconds:.4g} s, "
        f"planning {result.planning_s:.2g} s)",
        f"{measured} of "
        f"{counted(measured + sum(choice.unmeasured for choice in result.best), 'measurement')}, "
        f"{built} of {counted(len(result.kernels), 'kernel')} built",
    ]
    if result.blind:
        lines.append(
            f"{result.surprises} of {counted(result.blind, 'blind measurement')} beat the best by more than "
            f"{percent(result.tie, None)}: kernels drawn at random among those that would be skipped"
        )
    open_ = [choice for choice in result.best if choice.kernel and choice.unmeasured]
    if open_:
        worst = max(open_, key=lambda choice: choice.better)
        mean = sum(choice.better for choice in open_) / len(open_)
        lines.append(
            f"probability that an unmeasured kernel is better by more than {percent(result.tie, None)}: "
            f"{percent(mean)} on average, at most {percent(worst.better)}"
        )
    return "\n".join(lines)


def _progress(result: TuneResult) -> Table[tuple[SearchProgress, float | None]]:
    """Return a row for each of some batches.

    There is no sum before all problems have a time that have one in the end. A time that was measured again
    and became longer counts as its problem's in the end, so that sums fall, and the last one is that of the
    problems below.
    """
    ends = [(choice.count, math.inf if choice.time_us is None else choice.time_us) for choice in result.best]

    def total(best_us: Sequence[float]) -> float:
        pairs = zip(ends, best_us, strict=True)
        return sum(count * max(end, time) for (count, end), time in pairs if math.isfinite(end))

    sums = [total(step.best_us) for step in result.progress[:-1]] + [total([0.0] * len(ends))]
    rows = [
        (step, least if math.isfinite(least) else None)
        for step, least in zip(result.progress, accumulate(sums, min), strict=True)
    ]
    columns: list[Column[tuple[SearchProgress, float | None]]] = [
        Column("seconds", lambda row: row[0].seconds, form=".4g"),
        Column("built", lambda row: row[0].built, align="right"),
        Column("measured", lambda row: row[0].measured, align="right"),
        Column("problems", lambda row: row[0].problems, align="right"),
        Column("best so far, sum ms", lambda row: _ms(row[1]) if row[1] else "", align="decimal"),
    ]
    step = max(1, math.ceil(len(rows) / _SHOWN))
    return Table(columns, [*rows[:-1:step], rows[-1]])


def _best(result: TuneResult) -> Table[tuple[int, BestChoice]]:
    columns: list[Column[tuple[int, BestChoice]]] = [
        Column("problem", lambda row: row[0], align="right"),
        Column("count", lambda row: row[1].count, align="right"),
        Column("ms", lambda row: row[1].time_us, align="decimal", text=lambda row: _ms(row[1].time_us)),
        Column(
            "kernel",
            lambda row: row[1].kernel or f"none: {row[1].missing}",
            names=lambda row: row[1].kernel,
            whole_below=True,
        ),
        Column("splits", lambda row: row[1].splits or None, align="right", priority=2),
        Column("tied with", lambda row: row[1].tied or None, align="right", priority=2),
        Column(
            "probability of a better kernel",
            lambda row: percent(row[1].better) if row[1].kernel else "",
            priority=3,
        ),
        Column(
            "measured", lambda row: f"{row[1].measured}/{row[1].measured + row[1].unmeasured}", priority=1
        ),
    ]
    return Table(columns, [*enumerate(result.best)], elsewhere="--format json has every figure")


def _ms(time_us: float | None) -> str:
    return "-" if time_us is None else f"{time_us / 1000:.4g}"


def _libraries(result: TuneResult) -> Table[BestLibrary]:
    first = result.libraries[0]
    columns: list[Column[BestLibrary]] = [
        Column("library size", lambda library: len(library.kernels)),
        Column("slowdown", lambda library: percent(library.slowdown - 1, 2)),
        Column(
            "the best of that size",
            lambda library: "exact" if library.exact else f"at least {percent(library.bound - 1, 2)}",
        ),
        Column("unsupported problems", lambda library: library.unserved or None),
        Column("kernel", lambda library: result.kernels[library.kernels[-1]] if library is first else None),
    ]
    chosen = [*_served(result), *(f"  {name}" for name in result.chosen)]
    return Table(columns, result.libraries, notes=lambda left_out: chosen)


def _served(result: TuneResult) -> list[str]:
    """Return how many problems the library that is kept serves, and which ones no kernel serves."""
    missing = [(number, choice) for number, choice in enumerate(result.best) if not choice.kernel]
    kept = next((library for library in result.libraries if len(library.kernels) == len(result.chosen)), None)
    served = len(result.best) - len(missing) - (kept.unserved if kept else 0)
    lines = [f"chosen: {served_text(len(result.chosen), served, len(result.best))}"]
    return [*lines, *(f"  problem {number}: none: {choice.missing}" for number, choice in missing)]


def _unbuilt(result: TuneResult) -> str:
    if not result.unbuilt:
        return ""
    title = f"never built: {counted(len(result.unbuilt), 'kernel')}"
    return _listed(title, [f"{name}: {reason}" for name, reason in result.unbuilt.items()])


def _listed(title: str, items: Sequence[str]) -> str:
    """Return a title with a line for each of the first items below it."""
    lines = [title, *(f"  {item}" for item in items[:_LISTED])]
    if len(items) > _LISTED:
        lines.append(f"  ... and {len(items) - _LISTED} more; --format json has all of them")
    return "\n".join(lines)


def comparison_values(comparison: BaselineComparison) -> dict[str, Any]:
    """Return a comparison as plain JSON values; times in microseconds."""
    return {
        "failure": comparison.failure or None,
        "left_out": [problem.describe() for problem in comparison.left_out],
        "baselines": [
            {
                "baseline": baseline,
                "description": comparison.descriptions.get(baseline, ""),
                **comparison.sums_against(baseline),
            }
            for baseline in comparison.baselines
        ],
        "problems": [
            {
                "problem": problem.problem.describe(),
                "count": problem.count,
                "best_us": problem.best_us,
                "library_us": problem.library_us,
                "baseline_us": dict(problem.baseline_us),
                "failures": dict(problem.failures),
            }
            for problem in comparison.problems
        ],
    }


def add_comparison(document: Document, comparison: BaselineComparison) -> None:
    """Add a table for each baseline, with sums in its last row."""
    for baseline in comparison.baselines if comparison.problems else ():
        title = f"measured again next to {baseline}: {comparison.descriptions.get(baseline, '')}"
        document.add(title, _comparison_table(comparison, baseline))
    if comparison.failure:
        document.add(f"not compared with {' and '.join(comparison.baselines)}: {comparison.failure}")
    if comparison.left_out:
        title = (
            f"{len(comparison.left_out)} problems were not compared: the budget was spent; those that weigh "
        )
        names = [problem.describe() for problem in comparison.left_out]
        document.add(_listed(f"{title}most came first", names))


def _comparison_table(comparison: BaselineComparison, baseline: str) -> Table[ProblemComparison | None]:
    """Return a row for each problem, and one with sums if anything can be added up: ``None``."""
    total = comparison.sums_against(baseline)
    rows: list[ProblemComparison | None] = [*comparison.problems, *([None] if total["problems"] else [])]
    part = ""
    if total["problems"] < len(comparison.problems):
        part = f" of the {int(total['problems'])} that all have a time for"

    def own(row: ProblemComparison | None, name: str) -> float | None:
        return getattr(row, name) if row is not None else total[name]

    def other(row: ProblemComparison | None) -> float | None:
        return row.baseline_us.get(baseline) if row is not None else total["baseline_us"]

    def other_text(row: ProblemComparison | None) -> str:
        failure = row.failures.get(baseline, "").partition(":")[0] if row is not None else ""
        return (failure or "-") if other(row) is None else _ms(other(row))

    columns: list[Column[ProblemComparison | None]] = [
        Column("count", lambda row: row.count if row else int(total["count"]), align="right"),
        Column("best ms", lambda row: _ms(own(row, "best_us")), align="right"),
        Column("library ms", lambda row: _ms(own(row, "library_us")), align="right"),
        Column(f"{baseline} ms", other_text, align="right"),
        Column("best", lambda row: _ratio(other(row), own(row, "best_us")), align="right", form=".2f"),
        Column("library", lambda row: _ratio(other(row), own(row, "library_us")), align="right", form=".2f"),
        Column(
            "problem",
            lambda row: row.problem.describe() if row else f"sum{part}",
            short=lambda row: brief(row.problem) if row else f"sum{part}",
        ),
    ]
    note = f"'best', 'library': how many times as fast as {baseline}; sums count occurrences"
    return Table(columns, rows, notes=lambda left_out: [note])


def _ratio(baseline: float | None, time_us: float | None) -> float | None:
    return None if baseline is None or time_us is None else baseline / time_us
