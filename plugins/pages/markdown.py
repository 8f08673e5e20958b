"""The report of a store as Markdown."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import percent
from ckprof.model.problem import brief
from ckprof.report.comparison_text import changes_document
from ckprof.report.document import Document, Heading, Items
from ckprof.report.short_names import WHOLE_NAMES
from ckprof.report.table import Column, Table
from ckprof_plugins.pages.history import history_table
from ckprof_plugins.pages.tables import best_table, device_table, failure_table, network_lines, total_table

if TYPE_CHECKING:
    from ckprof_plugins.pages.content import ReportContent

#: rows of a table; the rest is counted
MOST_ROWS: Final = 200


def render_markdown(content: ReportContent) -> str:
    """Render overview, totals, best kernels, coverage, failures, and what is compared."""
    columns: list[Column[tuple[str, str]]] = [Column("what", itemgetter(0)), Column("value", itemgetter(1))]
    document = Document([Heading(content.title, level=2)])
    document.add(content.summary, content.ended, Table(columns, content.facts))
    if content.networks:
        document.add(Heading("Network"), *network_lines(content), _shortened(total_table(content)))
    if content.comparison:
        document.add(*changes_document(content.comparison).parts)
    if content.history:
        document.add(Heading("History"), _shortened(history_table(content.history, WHOLE_NAMES)))
    if content.best_table:
        document.add(Heading("Best per problem"), _shortened(best_table(content, WHOLE_NAMES)))
        document.add(Heading("Coverage"), _coverage(content))
    if content.devices:
        document.add(Heading("Devices"), _shortened(device_table(content.devices)))
    if content.failures:
        document.add(
            Heading("Failures and unsupported kernels"),
            _shortened(failure_table(content, WHOLE_NAMES)),
        )
    return document.markdown()


def _shortened(table: Table[Any]) -> Table[Any]:
    return replace(table, most_rows=MOST_ROWS, elsewhere="--format html has all")


def _coverage(content: ReportContent) -> Items:
    lines = []
    for curve in content.coverage:
        counts = ", ".join(str(covered) for covered in [*curve.steps.values()][:10])
        more = ", ..." if len(curve.steps) > 10 else ""
        lines.append(
            f"within {percent(curve.tolerance, None)} of the best: {curve.text}; with 1, 2, ... "
            f"kernels {counts}{more}"
        )
    lines += [f"P{problem.number} {brief(problem.problem)}: {problem.text}" for problem in content.unserved]
    return Items(tuple(lines))
