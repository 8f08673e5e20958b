"""The comparison of a search with the libraries of others, as text and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from ckprof.tune.comparison import BaselineComparison, ComparedProblem


def comparison_values(found: BaselineComparison) -> dict[str, Any]:
    """Return a comparison as plain JSON values; times in microseconds."""
    return {
        "failure": found.failure or None,
        "baselines": [
            {
                "baseline": baseline,
                "description": found.descriptions.get(baseline, ""),
                "problems": total.problems,
                "count": total.count,
                "best_us": total.best_us,
                "library_us": total.library_us,
                "baseline_us": total.baseline_us,
            }
            for baseline in found.baselines
            for total in (found.sum_against(baseline),)
        ],
        "problems": [
            {
                "problem": one.problem.describe(),
                "count": one.count,
                "best_us": one.best_us,
                "library_us": one.library_us,
                "baseline_us": dict(one.baseline_us),
                "failures": dict(one.failures),
            }
            for one in found.problems
        ],
    }


def comparison_text(found: BaselineComparison) -> str:
    """Return a table for each baseline, with sums in its last row."""
    parts = [_table(found, baseline) for baseline in found.baselines if found.problems]
    if found.failure:
        parts.append(f"not compared with {' and '.join(found.baselines)}: {found.failure}")
    return "\n\n".join(parts)


def _table(found: BaselineComparison, baseline: str) -> str:
    total = found.sum_against(baseline)
    rows = [
        (one.count, one.best_us, one.library_us, *_other(one, baseline), one.problem.describe())
        for one in found.problems
    ]
    what = "sum" if total.problems == len(rows) else f"sum of the {total.problems} that all have a time for"
    if total.problems:
        rows.append(
            (
                total.count,
                total.best_us,
                total.library_us,
                total.baseline_us,
                f"{total.baseline_us / total.best_us:.2f}",
                f"{total.baseline_us / total.library_us:.2f}",
                what,
            )
        )
    headers = ("count", "best us", "library us", f"{baseline} us", "best", "library", "problem")
    table = tabulate(rows, headers=headers, floatfmt=".4g", missingval="-", disable_numparse=[4, 5])
    return (
        f"measured again beside {baseline}: {found.descriptions.get(baseline, '')}\n{table}\n"
        f"'best', 'library': how many times as fast as {baseline}; sums count occurrences"
    )


def _other(one: ComparedProblem, baseline: str) -> tuple[float | str | None, str, str]:
    """Return a baseline's time, or its status, and how many times as fast the kernels are."""
    time_us = one.baseline_us.get(baseline)
    if time_us is None:
        return one.failures.get(baseline, "").partition(":")[0] or None, "", ""
    best, library = (
        f"{time_us / own:.2f}" if own is not None else "" for own in (one.best_us, one.library_us)
    )
    return time_us, best, library
