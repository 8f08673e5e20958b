"""Runs in few lines: fitted to a terminal, or with the fastest kernels of each problem alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ckprof.model.outcome import Status
from ckprof.report.document import Document
from ckprof.report.figures import sizes_column
from ckprof.report.rows import reason_of, rows_of_problem, rows_with_baselines
from ckprof.report.run_data import data_table
from ckprof.report.run_table import (
    MOST_NOTES,
    PARTIAL,
    add_closing,
    add_notes,
    problem_heading,
    row_style,
    run_columns,
)
from ckprof.report.table import Column, Table
from ckprof.report.text_width import shortened
from ckprof.report.unserved import Unserved, unserved_in, with_unserved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.results import RunResults
    from ckprof.report.rows import ResultRow

#: characters of a reason after which the rest is cut
_REASON: Final = 60
#: priority of a status that is fine in all rows
_ALL_FINE: Final = 0
#: formats that :func:`render_best` knows
BEST_FORMATS: Final = ("table", "md", "csv")
#: columns that say the same of all rows of :func:`best_table`
_NOT_OF_BEST: Final = ("status", "max error", "reason")


def terminal_document(
    results: RunResults,
    *,
    all_rows: bool = False,
    notes: int | None = MOST_NOTES,
    elsewhere: str = "--format csv has every figure",
) -> Document:
    """Return all problems with names and reasons shortened.

    :param all_rows: show every unsupported instance in a row of its own instead of a count for each reason.
    :param notes: lines about the whole run at most; ``None`` for all.
    :param elsewhere: where the figures are that there is no room for.
    """
    document = Document()
    for index in range(len(results.problems)):
        rows = rows_with_baselines(results, index)
        counted = [] if all_rows else [row for row in rows if _is_counted(row)]
        shown = rows if all_rows else [row for row in rows if not _is_counted(row)]
        document.add(problem_heading(results, index))
        if shown:
            document.add(_short_table(results, shown, elsewhere))
        document.add(_counts_by_reason(counted))
        add_closing(document, results, index)
    return add_notes(document, results, notes)


def _is_counted(row: ResultRow) -> bool:
    """Say whether a row is counted instead of shown: an unsupported instance."""
    return row.outcome.status is Status.UNSUPPORTED and not row.baseline


def _short_table(results: RunResults, rows: Sequence[ResultRow], elsewhere: str) -> Table[ResultRow]:
    fine = all(row.outcome.status is Status.OK and row.verification is not None for row in rows)
    columns = [_shortened(column, all_fine=fine) for column in run_columns(results)]
    return Table(columns, rows, style=row_style, elsewhere=elsewhere, notes=partial(_notes, rows))


def _shortened(column: Column[ResultRow], *, all_fine: bool) -> Column[ResultRow]:
    if column.name == "reason":
        return replace(column, text=lambda row: shortened(column.shown(row), _REASON))
    # where all are fine, the line of counts says so
    return replace(column, priority=_ALL_FINE) if column.name == "status" and all_fine else column


def _notes(rows: Sequence[ResultRow], left_out: Sequence[str]) -> list[str]:
    """Return the reasons of failures that the table leaves out, or cuts."""
    reasons = [(row, reason_of(row.outcome, why=False)) for row in rows if row.outcome.status.is_failure]
    return [
        f"{_number(row)} {row.outcome.status.value}: {reason}"
        for row, reason in reasons
        if reason and ("reason" in left_out or len(reason) > _REASON)
    ]


def _number(row: ResultRow) -> str:
    return f"baseline {row.baseline}" if row.baseline else f"[{row.instance.index}]"


def _counts_by_reason(rows: Sequence[ResultRow]) -> str:
    """Return what rejected the instances that have no row, most first."""
    if not rows:
        return ""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for row in rows:
        unmet = row.outcome.unmet_requirements
        reason = reason_of(row.outcome, why=False)
        # without a requirement's name, as for kernels that answer by themselves, the text is the reason
        condition = unmet[0].rule if unmet else reason
        counts[condition] += 1
        examples.setdefault(condition, f"{reason} (instance {row.instance.index})")
    lines = [f"{len(rows)} unsupported, by the first condition that is not met:"]
    for condition, number in counts.most_common():
        example = examples[condition]
        lines.append(
            f"  {number:4}  {example if example.startswith(condition) else f'{condition}: {example}'}"
        )
    return "\n".join(lines)


def best_rows(results: RunResults, problem_index: int, top: int, most_ulp: float) -> list[ResultRow]:
    """Return the ``top`` fastest verified outcomes of a problem, or fewer.

    :param most_ulp: of their largest errors; infinite for any.
    """
    ranked = [row for row in rows_of_problem(results, problem_index) if row.rank is not None]
    return [row for row in ranked if _error_ulp(row) <= most_ulp][:top]


def _error_ulp(row: ResultRow) -> float:
    error = row.verification.error_ulp if row.verification else None
    return math.inf if error is None else error


def render_best(results: RunResults, form: str, top: int, most_ulp: float = math.inf) -> str:
    """Render the ``top`` fastest kernels of each problem.

    :param form: one of :data:`BEST_FORMATS`.
    :param most_ulp: see :func:`best_rows`.
    """
    table = best_table(results, top, most_ulp)
    if form == "csv":
        return data_table(results, table.rows).csv()
    text = table.markdown() if form == "md" else table.text()
    return f"{text}\n\n{PARTIAL}\n" if results.partial else f"{text}\n"


def best_table(results: RunResults, top: int, most_ulp: float = math.inf) -> Table[ResultRow | Unserved]:
    """Return the ``top`` fastest kernels of each problem, one row each; one for what no kernel serves.

    :param most_ulp: see :func:`best_rows`.
    """
    columns: list[Column[ResultRow]] = [
        Column("", lambda row: row.outcome.problem_index, align="right"),
        sizes_column(lambda row: results.problems[row.outcome.problem_index]),
        *(column for column in run_columns(results) if column.name not in _NOT_OF_BEST),
        Column("note", lambda row: row.note, priority=1),
    ]
    rows: list[ResultRow | Unserved] = []
    for index in range(len(results.problems)):
        unserved = unserved_in(results, index)
        rows += best_rows(results, index, top, most_ulp) if unserved is None else [unserved]
    shown = {
        "": lambda row: row.number,
        "problem": lambda row: row.problem.describe(),
        "instance": lambda row: row.text,
    }
    winners = (f"{row.title}, {row.instance.source}" for row in rows if not isinstance(row, Unserved))
    whole = list(dict.fromkeys(winners))
    return Table(
        with_unserved(columns, shown),
        rows,
        elsewhere="--format csv has every figure",
        notes=lambda left_out: whole if {"instance", "line"} & {*left_out} else [],
    )


def problems_without_best(results: RunResults, most_ulp: float = math.inf) -> list[str]:
    """Return a sentence for each problem that no kernel serves, or none with so small an error."""
    inexact = [
        f"problem {index}: {problem.describe()}: no verified kernel has an error of {most_ulp:g} ulp or less"
        for index, problem in enumerate(results.problems)
        if results.best(index) is not None and not best_rows(results, index, 1, most_ulp)
    ]
    unserved = (unserved_in(results, index) for index in range(len(results.problems)))
    return inexact + [
        f"{'no kernel serves ' if one.complete else ''}problem {one.number}: "
        f"{one.problem.describe()}: {one.reason}"
        for one in unserved
        if one is not None
    ]
