"""The report as Markdown, for pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.compare.records import display_name, short_problem
from ckprof.compare.text_formats import render_markdown as render_comparison
from ckprof.plain_text import markdown_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.cards import CardRow
    from ckprof.store_report.best import BestRow
    from ckprof.store_report.content import ReportContent

#: rows of a table; the rest is counted
MOST_ROWS: Final = 200


def render_markdown(content: ReportContent) -> str:
    """Render overview, best kernels, coverage, failures, and the comparison if there is one."""
    seen = content.overview
    statuses = ", ".join(f"{count} {status.value}" for status, count in seen.statuses.items())
    parts = [
        f"## {content.title}",
        f"{seen.problems} problems, {seen.instances} instances, {seen.rows} kernels on problems: {statuses}",
        _table(("what", "value"), seen.facts, "ll"),
    ]
    if content.comparison:
        parts.append(render_comparison(content.comparison).rstrip())
    if content.best:
        parts += ["### Best per problem", _best(content.best)]
        parts += ["### Coverage", _coverage(content)]
    if content.side.cards:
        parts += ["### Cards", _cards(content.side.cards)]
    if seen.failures:
        rows = [(one.status.value, one.reason, str(one.rows), one.example) for one in seen.failures]
        parts += [
            "### Failures and unsupported kernels",
            _table(("status", "reason", "rows", "for example"), rows, "llrl"),
        ]
    return "\n\n".join(parts) + "\n"


def _best(rows: Sequence[BestRow]) -> str:
    headers = (
        "#",
        "problem",
        "best instance",
        "ms",
        "GFLOP/s",
        "GB/s",
        "of roof",
        "runner-up",
        "order",
        "verified",
    )
    return _table(headers, [_best_cells(row) for row in rows], "lllrrrrrlr")


def _best_cells(row: BestRow) -> tuple[str, ...]:
    share = row.of_roof
    return (
        f"P{row.number}",
        short_problem(row.key.problem),
        display_name(row.best),
        f"{row.best.median_ms:.4g}",
        f"{row.gflops:.4g}",
        f"{row.gbytes_per_s:.4g}" if row.gbytes_per_s is not None else "",
        f"{share:.1%}" if share is not None else "",
        f"{row.lead_ratio - 1:+.1%}" if row.lead_ratio is not None else "",
        row.lead.value,
        f"{row.ranked} of {row.rows}",
    )


def _cards(cards: Sequence[CardRow]) -> str:
    headers = ("card", "problems", "attempts", "reference, ms", "ratio", "clock, MHz", "not counted")
    rows = [
        (
            card.id,
            str(card.problems),
            str(card.attempts),
            f"{card.reference_ms:.4g}" if card.reference_ms is not None else "",
            f"{card.ratio:.3f}" if card.ratio is not None else "",
            f"{card.clock_mhz:.0f}" if card.clock_mhz is not None else "",
            str(card.slow),
        )
        for card in cards
    ]
    return _table(headers, rows, "lrrrrrr")


def _coverage(content: ReportContent) -> str:
    lines = []
    for curve in content.coverage:
        counts = ", ".join(str(step.covered) for step in curve.steps[:10])
        more = ", ..." if len(curve.steps) > 10 else ""
        lines.append(
            f"* within {curve.tolerance:.0%} of the best: {len(curve.steps)} kernels serve all "
            f"{curve.problems} problems; with 1, 2, ... kernels {counts}{more}"
        )
    return "\n".join(lines)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    from tabulate import tabulate

    names = {"l": "left", "r": "right"}
    text = tabulate(
        [[markdown_cell(cell) for cell in row] for row in rows[:MOST_ROWS]],
        headers=list(headers),
        tablefmt="github",
        colalign=tuple(names[letter] for letter in alignment) if rows else None,
        disable_numparse=True,
    )
    more = len(rows) - MOST_ROWS
    return text if more <= 0 else f"{text}\n\n... and {more} more; --format html has all"
