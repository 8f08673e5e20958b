"""Comparisons for terminals and for pull requests."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.compare.records import change_text, common_start, display_name, short_problem
from ckprof.plain_text import markdown_cell, one_line
from ckprof.statistics.change import ENOUGH_ROUNDS
from ckprof.statistics.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.model import ComparedRow, Comparison, PartChange
    from ckprof.compare.side import Row
    from ckprof.statistics.change import Change

#: rows of a table; the rest is counted. JSON and CSV have all of them
MOST_ROWS: Final = 40

#: verdicts with a table of their own, the most urgent first
_SHOWN: Final = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCLEAR)


class _Page:
    """Text that grows, as plain text or as Markdown.

    :param start: what names begin with, and are shown without.
    """

    def __init__(self, *, markdown: bool, start: str) -> None:
        self._markdown = markdown
        self.start = start
        self._parts: list[str] = []

    def name(self, row: Row) -> str:
        return display_name(row)[len(self.start) :]

    def line(self, text: str) -> None:
        self._parts.append(text)

    def heading(self, text: str) -> None:
        self._parts.append(f"### {text}" if self._markdown else text)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> None:
        from tabulate import tabulate

        names = {"l": "left", "r": "right"}
        shown = [[_cell(value, markdown=self._markdown) for value in row] for row in rows[:MOST_ROWS]]
        text = tabulate(
            shown,
            headers=list(headers),
            tablefmt="github" if self._markdown else "simple",
            colalign=tuple(names[letter] for letter in alignment),
            disable_numparse=True,
        )
        more = len(rows) - MOST_ROWS
        if more > 0:
            text += f"\n\n... and {more} more; --format json and csv have all"
        self._parts.append(text)

    def text(self) -> str:
        return "\n\n".join(self._parts) + "\n"


def _cell(value: str, *, markdown: bool) -> str:
    return markdown_cell(value) if markdown else one_line(value)


def render_table(comparison: Comparison) -> str:
    """Render the comparison for a terminal."""
    return _render(comparison, _Page(markdown=False, start=_common_start(comparison)))


def render_markdown(comparison: Comparison) -> str:
    """Render the comparison as Markdown."""
    return _render(comparison, _Page(markdown=True, start=_common_start(comparison)))


def _common_start(comparison: Comparison) -> str:
    return common_start(display_name(side) for row in comparison.rows for side in (row.old, row.new))


def _render(comparison: Comparison, page: _Page) -> str:
    _summary(comparison, page)
    if comparison.what_changed:
        page.heading("What changed besides the times")
        page.table(("what", "old", "new", "rows"), [_part(one) for one in comparison.what_changed], "lllr")
    _status_changes(comparison, page)
    headers = ("problem", "instance", "old ms", "new ms", "change", "interval", "margin", "rounds", "needed")
    for verdict in _SHOWN:
        rows = comparison.with_verdict(verdict)
        if rows:
            page.heading(verdict.value.upper())
            page.table(headers, [_judged(row, page) for row in rows], "llrrrrrrr")
    _changed_bests(comparison, page)
    return page.text()


def _status_changes(comparison: Comparison, page: _Page) -> None:
    if not comparison.status_changes:
        return
    page.heading("Statuses that changed")
    rows = [
        (
            *_where(row, page),
            row.old.status.value,
            row.new.status.value,
            " ".join(row.new.reason.split())[:120],
        )
        for row in comparison.status_changes
    ]
    page.table(("problem", "instance", "old", "new", "reason"), rows, "lllll")


def _changed_bests(comparison: Comparison, page: _Page) -> None:
    changed = [one for one in comparison.problems if one.changed]
    if not changed:
        return
    page.heading("Problems whose best instance changed")
    rows = [
        (
            short_problem(one.key.problem),
            page.name(one.old),
            page.name(one.new),
            change_text(one.ratio),
            change_text(one.old_best_now) if one.old_best_now else "not measured",
        )
        for one in changed
    ]
    headers = ("problem", "old best", "new best", "best time", "old best now, against new best")
    page.table(headers, rows, "lllrr")


def _summary(comparison: Comparison, page: _Page) -> None:
    page.line(f"{comparison.old_label} (old) against {comparison.new_label} (new)")
    verdicts = comparison.verdicts
    judged = sum(verdicts.values())
    counts = ", ".join(f"{verdicts[one]} {one.value.upper()}" for one in (*_SHOWN, Verdict.SAME))
    page.line(f"{judged} rows with times on both sides: {counts}")
    margins = [row.judgement.change.margin for row in comparison.rows if row.judgement]
    if margins:
        usual, largest = (change_text(math.exp(one)).lstrip("+") for one in (median(margins), max(margins)))
        page.line(
            f"margin within which a change does not count: {usual} for the median row, {largest} at most"
        )
    mean = comparison.geometric_mean
    if mean:
        page.line(
            f"best against best over {mean.problems} problems, geometric mean of the times: "
            f"{change_text(mean.ratio)} ({change_text(mean.low)} to {change_text(mean.high)})"
        )
    if page.start:
        page.line(f"names without what they all begin with: {page.start}")
    for count, what in (
        (len(comparison.rows) - judged, "rows without a verified time on one side"),
        (len(comparison.only_old), f"rows only in {comparison.old_label}"),
        (len(comparison.only_new), f"rows only in {comparison.new_label}"),
        (comparison.settled, "unclear rows measured again, both sides interleaved"),
        (comparison.superseded, "older measurements with another device, toolchain or method, not compared"),
    ):
        if count:
            page.line(f"{count} {what}")
    for part in comparison.what_changed:
        if part.incomparable:
            page.line(f"warning: {part.name} differs: times that were taken differently are compared")
    scatters = [
        row.judgement.change.scatter
        for row in comparison.rows
        if row.judgement and row.judgement.change.rounds < ENOUGH_ROUNDS
    ]
    if scatters:
        page.line(
            f"{len(scatters)} rows have fewer than {ENOUGH_ROUNDS} rounds on a side: for them, a scatter of "
            f"{max(scatters):.1%} between rounds is assumed"
        )


def _part(one: PartChange) -> tuple[str, str, str, str]:
    if one.name == "kernel.object_digest":
        return one.name, "other machine code", "", str(one.rows)
    return one.name, _shortened(one.old), _shortened(one.new), str(one.rows) if one.rows else ""


def _shortened(text: str, width: int = 60) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _where(row: ComparedRow, page: _Page) -> tuple[str, str]:
    return short_problem(row.key.problem.problem), page.name(row.old)


def _judged(row: ComparedRow, page: _Page) -> tuple[str, ...]:
    if row.judgement is None:
        return (*_where(row, page), *("" for _ in range(7)))
    change = row.judgement.change
    unclear = row.judgement.verdict is Verdict.UNCLEAR
    return (
        *_where(row, page),
        f"{row.old.mean_ms:.4g}",
        f"{row.new.mean_ms:.4g}",
        change_text(change.ratio),
        _interval(change),
        change_text(math.exp(change.margin)).lstrip("+"),
        str(change.rounds),
        (str(row.judgement.rounds_needed or "over 1000")) if unclear else "",
    )


def _interval(change: Change) -> str:
    return f"{change_text(math.exp(change.low))} to {change_text(math.exp(change.high))}"
