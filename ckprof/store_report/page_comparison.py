"""The comparison with an older side as the page shows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.compare.records import display_name
from ckprof.statistics.verdict import Verdict
from ckprof.store_report.tables import (
    Cell,
    Table,
    TableRow,
    columns,
    name_cell,
    number,
    number_cell,
    percent,
    problem_cell,
    signed,
    tag_cell,
    text_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.compare.model import ComparedProblem, ComparedRow, Comparison, PartChange
    from ckprof.statistics.verdict import Judgement

#: rows of the comparison in the page; the most urgent ones, the others are counted
MOST_COMPARED: Final = 500

_URGENCY: Final = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCLEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A number in a box."""

    count: int
    label: str
    css_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSection:
    """Texts, cards and tables of the section."""

    intro: str
    cards: tuple[Card, ...]
    #: what changed besides the times; ``None`` if nothing did
    parts: Table | None
    #: rows that differ or are unclear; ``None`` without any
    compared: Table | None
    #: how many rows are not shown, in words; empty if all are
    cut_off: str
    #: problems whose best instance changed; ``None`` without any
    problems: Table | None


def comparison_section(comparison: Comparison, start: str) -> ComparisonSection:
    """Lay a comparison out.

    :param start: what all names of kernels begin with, which is left out.
    """
    rows = _urgent(comparison)
    shown = rows[:MOST_COMPARED]
    changed = [one for one in comparison.problems if one.changed]
    more = f"The {len(shown)} most urgent of {len(rows)} rows are shown"
    return ComparisonSection(
        intro=_intro(comparison),
        cards=tuple(_cards(comparison)),
        parts=_part_table(comparison.what_changed) if comparison.what_changed else None,
        compared=_compared_table(shown, start) if shown else None,
        cut_off=f"{more}; the json and csv formats of the comparison have all." if shown != rows else "",
        problems=_problem_table(changed, start) if changed else None,
    )


def _intro(comparison: Comparison) -> str:
    parts = [f"{comparison.old_label} (old) against {comparison.new_label} (new)."]
    mean = comparison.geometric_mean
    if mean:
        parts.append(
            f"Best against best over {mean.problems} problems, the geometric mean of the times changed by "
            f"{signed(mean.ratio)} ({signed(mean.low)} to {signed(mean.high)})."
        )
    parts.append(f"A change counts from {percent(comparison.policy.min_change)}.")
    return " ".join(parts)


def _cards(comparison: Comparison) -> Iterator[Card]:
    for verdict, count in comparison.verdicts.items():
        yield Card(count=count, label=verdict.value, css_class=f"verdict-{verdict.value}")
    yield Card(count=len(comparison.status_changes), label="other statuses")
    yield Card(count=len(comparison.only_old), label="only old")
    yield Card(count=len(comparison.only_new), label="only new")


def _part_table(parts: Sequence[PartChange]) -> Table:
    rows = tuple(
        TableRow(
            css_class="warn" if one.incomparable else "",
            cells=(
                text_cell(one.name),
                text_cell(one.old or "other machine code"),
                text_cell(one.new),
                number_cell(one.rows, str(one.rows or "")),
            ),
        )
        for one in parts
    )
    return Table(columns=columns("what", "old", "new", "rows", numeric=("rows",)), rows=rows)


def _urgent(comparison: Comparison) -> list[ComparedRow]:
    """Return the rows worth a line: changed statuses and verdicts, the most urgent first."""
    rows = [row for row in comparison.status_changes if row.judgement is None]
    for verdict in _URGENCY:
        rows += comparison.with_verdict(verdict)
    return rows


#: headings behind the verdict
_JUDGED: Final = ("change", "interval", "margin", "old ms", "new ms", "rounds needed")


def _compared_table(shown: Sequence[ComparedRow], start: str) -> Table:
    rows = tuple(
        TableRow(
            cells=(
                problem_cell(row.key.problem.problem),
                name_cell(display_name(row.old), start),
                *(_judged_cells(row, row.judgement) if row.judgement else _status_cells(row)),
            )
        )
        for row in shown
    )
    heads = columns("problem", "instance", "verdict", *_JUDGED, numeric=_JUDGED)
    return Table(columns=heads, rows=rows, css_class="scroll tall")


def _judged_cells(row: ComparedRow, judged: Judgement) -> Iterator[Cell]:
    change = judged.change
    yield tag_cell(judged.verdict.value, f"verdict-{judged.verdict.value}")
    yield number_cell(change.ratio, signed(change.ratio))
    yield number_cell(change.low, f"{signed(math.exp(change.low))} to {signed(math.exp(change.high))}")
    yield number_cell(change.margin, percent(math.expm1(change.margin)))
    yield number_cell(row.old.mean_ms, number(row.old.mean_ms))
    yield number_cell(row.new.mean_ms, number(row.new.mean_ms))
    yield number_cell(judged.rounds_needed, str(judged.rounds_needed or ""))


def _status_cells(row: ComparedRow) -> Iterator[Cell]:
    text = f"{row.old.status.value} \N{RIGHTWARDS ARROW} {row.new.status.value}"
    yield tag_cell(text, f"status-{row.new.status.value}")
    for _ in _JUDGED:
        yield number_cell(None, "")


def _problem_table(changed: Sequence[ComparedProblem], start: str) -> Table:
    rows = tuple(
        TableRow(
            cells=(
                problem_cell(one.key.problem),
                name_cell(display_name(one.old), start),
                name_cell(display_name(one.new), start),
                number_cell(one.ratio, signed(one.ratio)),
                number_cell(one.old_best_now, signed(one.old_best_now)),
            )
        )
        for one in changed
    )
    numeric = ("best time", "old best now, against new best")
    return Table(columns=columns("problem", "old best", "new best", *numeric, numeric=numeric), rows=rows)
