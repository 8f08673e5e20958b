"""The comparison with an older side as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ckprof.report.comparison.summary import URGENCY, shift_lines
from ckprof.report.comparison.text_formats import (
    best_change_columns,
    compared_columns,
    part_columns,
)
from ckprof.report.store.tables import PageTable, spaced
from ckprof.wording import change, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.compare.model import ComparedRow, Comparison

#: rows of the comparison in the page; the most urgent ones, the others are counted
MOST_COMPARED: Final = 500


def comparison_section(comparison: Comparison, start: str) -> dict[str, Any]:
    """Return the texts, boxes and tables of the section; ``None`` for a table without rows.

    :param start: what all names of kernels begin with, which is left out.
    """
    rows = _urgent(comparison)
    shown = rows[:MOST_COMPARED]
    changed = [problem for problem in comparison.problems if problem.changed]
    more = f"The {len(shown)} most urgent of {len(rows)} rows are shown"
    parts = PageTable(
        part_columns(),
        comparison.what_changed,
        style=lambda part: "warn" if part.incomparable else "",
        id="part-table",
    )
    return {
        "intro": _intro(comparison),
        "cards": [*_cards(comparison)],
        "parts": parts if comparison.what_changed else None,
        "compared": PageTable(compared_columns(start), shown, css_class="scroll tall", id="compared-table")
        if shown
        else None,
        "cut_off": f"{more}; the json and csv formats of the comparison have all." if shown != rows else "",
        "problems": PageTable(best_change_columns(start), changed, id="best-change-table")
        if changed
        else None,
    }


def _intro(comparison: Comparison) -> str:
    parts = [f"{comparison.old_label} (old) against {comparison.new_label} (new)."]
    mean = comparison.geometric_mean
    if mean:
        parts.append(
            f"Best against best over {mean.problems} problems, the geometric mean of the times changed by "
            f"{change(mean.ratio)} ({change(mean.low)} to {change(mean.high)})."
        )
    parts += [f"{line[0].upper()}{line[1:]}." for line in shift_lines(comparison)]
    parts.append(f"A change counts from {percent(comparison.policy.min_change)}.")
    return " ".join([parts[0], *map(spaced, parts[1:])])


def _cards(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield numbers in boxes."""
    for verdict, count in comparison.verdicts.items():
        yield {"count": count, "label": verdict.value, "css_class": f"verdict-{verdict.value}"}
    for label, rows in (
        ("other statuses", comparison.status_changes),
        ("only old", comparison.only_old),
        ("only new", comparison.only_new),
    ):
        yield {"count": len(rows), "label": label, "css_class": ""}


def _urgent(comparison: Comparison) -> list[ComparedRow]:
    """Return the rows worth a line: changed statuses and verdicts, the most urgent first."""
    rows = [row for row in comparison.status_changes if row.judgement is None]
    for verdict in URGENCY:
        rows += comparison.with_verdict(verdict)
    return rows
