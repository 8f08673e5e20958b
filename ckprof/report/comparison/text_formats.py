"""Comparisons for people: as text and as Markdown for pull requests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.compare.verdict import MOST_PROCESSES, Verdict
from ckprof.report.comparison.summary import URGENCY, summary_lines, verdict_line
from ckprof.report.document import Document, Heading
from ckprof.report.figures import (
    display_name,
    name_column,
    number_column,
    problem_column,
)
from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof.report.table import Column, RowT, Table
from ckprof.report.unserved import compared_unserved
from ckprof.wording import change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.model import ComparedProblem, ComparedRow, Comparison, PartChange
    from ckprof.compare.side import ProblemKey
    from ckprof.report.unserved import Unserved

#: rows of a table; the rest is counted. JSON and CSV have all of them
MOST_ROWS: Final = 40


def render_table(comparison: Comparison) -> str:
    """Render the comparison as text."""
    return comparison_document(comparison).text()


def render_markdown(comparison: Comparison) -> str:
    """Render the comparison as Markdown."""
    return comparison_document(comparison).markdown()


def comparison_document(comparison: Comparison) -> Document:
    """Return counts, what changed and differs, and whether that fails the comparison."""
    document = changes_document(comparison)
    document.add(verdict_line(comparison))
    return document


def changes_document(comparison: Comparison) -> Document:
    """Return counts, what changed besides the times, and what differs, the most urgent first."""
    document = Document([*summary_lines(comparison)])
    if comparison.what_changed:
        document.add(Heading("What changed besides the times"))
        document.add(_table(part_columns(), comparison.what_changed))
    if comparison.status_changes:
        document.add(Heading("Statuses that changed"))
        document.add(_table(_status_columns(), comparison.status_changes))
    columns = [column for column in compared_columns() if column.name != "verdict"]
    if any(map(_points_elsewhere, comparison.rows)):
        document.add(_TWO_MEASURES)
    for verdict in URGENCY:
        rows = comparison.with_verdict(verdict)
        if rows:
            document.add(Heading(verdict.value.upper()), _table(columns, rows))
    changed = [problem for problem in comparison.problems if problem.changed]
    if changed:
        document.add(Heading("Problems whose best instance changed"))
        document.add(_table(best_change_columns(), changed))
    if unserved := compared_unserved(comparison):
        document.add(Heading("Problems that no kernel serves"), _table(_unserved_columns(), unserved))
    return document


#: said where a reader may ask how a kernel can be slower in less time
_TWO_MEASURES: Final = (
    "Where a time says the opposite of its verdict: times are those of rankings, the change is that of all "
    "rounds, beside what all rows share, which differs on busy machines."
)


def _points_elsewhere(row: ComparedRow) -> bool:
    """Say whether the two times of a row say the opposite of its verdict."""
    if row.judgement is None or row.change is None:
        return False
    verdict = row.judgement.verdict
    judged = verdict in (Verdict.SLOWER, Verdict.FASTER)
    return judged and (row.new.time_ms < row.old.time_ms) == (verdict is Verdict.SLOWER)


def _table(columns: Sequence[Column[RowT]], rows: Sequence[RowT]) -> Table[RowT]:
    return Table(columns, rows, most_rows=MOST_ROWS, elsewhere="--format json and csv have all")


def part_columns() -> list[Column[PartChange]]:
    """Return the columns of what changed besides the times."""
    return [
        Column("what", lambda part: part.name),
        Column("old", lambda part: part.old, text=_old_part),
        Column("new", lambda part: part.new, text=lambda part: _shortened(part.new)),
        Column("rows", lambda part: part.rows or None, align="right"),
    ]


def _old_part(part: PartChange) -> str:
    return "other machine code" if part.name == "kernel.object_digest" else _shortened(part.old)


def _shortened(text: str, width: int = 60) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _unserved_columns() -> list[Column[tuple[ProblemKey, Unserved | None, Unserved | None]]]:
    """Return the columns of problems without a verified time on a side, and why."""

    def reason(unserved: Unserved | None) -> str:
        return unserved.text if unserved is not None else ""

    return [
        problem_column(lambda row: row[0].problem),
        Column("old", lambda row: reason(row[1])),
        Column("new", lambda row: reason(row[2])),
    ]


def _status_columns() -> list[Column[ComparedRow]]:
    return [
        problem_column(lambda row: row.key.problem.problem),
        name_column("instance", lambda row: display_name(row.old)),
        Column("old", lambda row: row.old.status.value),
        Column("new", lambda row: row.new.status.value),
        Column("reason", lambda row: " ".join(row.new.reason.split())[:120], priority=1),
    ]


def compared_columns(names: ShortNames = WHOLE_NAMES) -> list[Column[ComparedRow]]:
    """Return the columns of compared rows; without a judgement the verdict says how the status changed.

    :param names: what shortens names of kernels.
    """
    return [
        problem_column(lambda row: row.key.problem.problem),
        name_column("instance", lambda row: display_name(row.old), names),
        Column("verdict", _verdict, style=_verdict_style),
        number_column(
            "old ranking ms",
            lambda row: row.old.time_ms if row.judgement else None,
            short_name="old ms",
        ),
        number_column(
            "new ranking ms",
            lambda row: row.new.time_ms if row.judgement else None,
            short_name="new ms",
        ),
        number_column("change", lambda row: row.change.ratio if row.change else None, change),
        Column(
            "interval",
            lambda row: row.change.low if row.change else None,
            align="right",
            text=_interval,
            priority=4,
        ),
        number_column("processes", lambda row: row.change.processes if row.change else None, priority=3),
        number_column("rounds", lambda row: row.change.rounds if row.change else None, priority=1),
        Column(
            "needed",
            lambda row: row.judgement and row.judgement.processes_needed,
            align="right",
            text=_needed,
            priority=2,
        ),
    ]


def _verdict(row: ComparedRow) -> str:
    if row.judgement is not None:
        return row.judgement.verdict.value
    return f"{row.old.status.value} \N{RIGHTWARDS ARROW} {row.new.status.value}"


def _verdict_style(row: ComparedRow) -> str:
    return f"verdict-{row.judgement.verdict.value}" if row.judgement else f"status-{row.new.status.value}"


def _interval(row: ComparedRow) -> str:
    found = row.change
    return f"{change(math.exp(found.low))} to {change(math.exp(found.high))}" if found else ""


def _needed(row: ComparedRow) -> str:
    if row.judgement is None or row.judgement.verdict is not Verdict.UNCLEAR:
        return ""
    return str(row.judgement.processes_needed or f"over {MOST_PROCESSES}")


def best_change_columns(names: ShortNames = WHOLE_NAMES) -> list[Column[ComparedProblem]]:
    """Return the columns of problems whose best instance changed.

    :param names: what shortens names of kernels.
    """
    return [
        problem_column(lambda problem: problem.key.problem),
        name_column("old best", lambda problem: display_name(problem.old), names),
        name_column("new best", lambda problem: display_name(problem.new), names),
        number_column("best time", lambda problem: problem.ratio, change),
        Column(
            "old best now, against new best",
            short_name="old best now",
            value=lambda problem: problem.old_best_now,
            align="right",
            text=lambda problem: change(problem.old_best_now) if problem.old_best_now else "not measured",
        ),
    ]
