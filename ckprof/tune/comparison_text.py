"""The comparison of a search with the libraries of others, as text and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from ckprof.tune.comparison import BaselineComparison


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
        (
            one.count,
            *_cells(
                one.best_us, one.library_us, one.baseline_us.get(baseline), one.failures.get(baseline, "")
            ),
            one.problem.describe(),
        )
        for one in found.problems
    ]
    if total.problems:
        what = (
            "sum" if total.problems == len(rows) else f"sum of the {total.problems} that all have a time for"
        )
        cells = _cells(total.best_us, total.library_us, total.baseline_us)
        rows.append((total.count, *cells, what))
    headers = ("count", "best us", "library us", f"{baseline} us", "best", "library", "problem")
    table = tabulate(rows, headers=headers, disable_numparse=True, colalign=(*("right",) * 6, "left"))
    return (
        f"measured again beside {baseline}: {found.descriptions.get(baseline, '')}\n{table}\n"
        f"'best', 'library': how many times as fast as {baseline}; sums count occurrences"
    )


def _cells(
    best_us: float | None, library_us: float | None, baseline_us: float | None, failure: str = ""
) -> tuple[str, ...]:
    """Return three times, the last one perhaps a status, and how many times as fast the first two are."""
    times = ("-" if one is None else f"{one:.4g}" for one in (best_us, library_us))
    if baseline_us is None:
        return *times, failure.partition(":")[0] or "-", "", ""
    ratios = ("" if one is None else f"{baseline_us / one:.2f}" for one in (best_us, library_us))
    return *times, f"{baseline_us:.4g}", *ratios
