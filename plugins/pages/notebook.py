"""What notebooks show of runs: tables as HTML without scripts, and charts as those of reports of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.errors import UsageError
from ckprof.formatting import change
from ckprof.model.outcome import Status
from ckprof.model.problem import traffic_of
from ckprof.model.roofline import Ceiling
from ckprof.plugin.protocols import ResultsView
from ckprof.report.document import Heading, Items
from ckprof.report.rows import rows_of_problem, rows_with_baselines
from ckprof.report.run_summary import terminal_document
from ckprof.report.table import Table
from ckprof_plugins.pages.charts import Bar, RooflinePoint, bar_chart, roofline_chart
from ckprof_plugins.pages.svg import StandaloneChart, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.results import RunResults
    from ckprof.report.document import Document, Part
    from ckprof.report.rows import ResultRow
    from ckprof.report.table import Column


#: bars that are drawn unless more are asked for
_MOST: Final = 30


class RunCharts:
    """What can be drawn of a run.

    :param results: everything that the run found out.
    """

    def __init__(self, results: RunResults) -> None:
        self._results = results

    def __repr__(self) -> str:
        return "<charts of results: bars(problem=0, most=30), roofline(ceilings=())>"

    def bars(self, problem: int = 0, most: int = _MOST) -> StandaloneChart:
        """Draw the times of the fastest verified kernels of a problem, baselines among them.

        Where nothing was verified, what ran is drawn and says so.

        :param problem: its position.
        :param most: bars that are drawn.
        :raises UsageError: there is no such problem.
        :raises ValueError: nothing was timed on it.
        """
        if problem not in range(len(self._results.problems)):
            raise UsageError(f"problem {problem}: the results have {len(self._results.problems)}, from 0")
        described = self._results.problems[problem].describe()
        ran = [
            row
            for row in rows_with_baselines(self._results, problem)
            if row.outcome.status is Status.OK and row.measurement is not None
        ]
        # wrong numbers are no faster way to right ones
        rows = [row for row in ran if row.rank is not None or row.baseline] or ran
        if not rows:
            raise ValueError(f"no kernel has a time on problem {problem}, {described}")
        rows.sort(key=_time_ms)
        bars = [
            Bar(
                name=row.instance.name,
                time_ms=_time_ms(row),
                spread_ms=row.measurement.spread_ms if row.measurement else 0.0,
                note=_note(row),
                best=row.rank == 1,
            )
            for row in rows[:most]
        ]
        said = (
            f"The {len(bars)} fastest of {len(rows)} kernels on {described}, "
            f"{bars[0].time_ms:.4g} to {bars[-1].time_ms:.4g} ms"
        )
        drawn = bar_chart(bars, "bars", f"Times on {described}", said)
        if drawn is None:
            raise ValueError("at least one bar must be asked for")
        return StandaloneChart(drawn, said)

    def roofline(self, ceilings: Sequence[Ceiling | str] = ()) -> StandaloneChart:
        """Draw the speed of each problem's best kernel over its arithmetic intensity.

        :param ceilings: peaks in GFLOP/s and GB/s, e.g. ``"measured=95000,1350"``; of sweeps
            and runs with a store, the report knows them.
        :raises UsageError: a ceiling is something else.
        :raises ValueError: no problem has a verified kernel.
        """
        ceilings = [ceilings] if isinstance(ceilings, str) else ceilings
        known = tuple(Ceiling.parse(ceiling) if isinstance(ceiling, str) else ceiling for ceiling in ceilings)
        points = []
        for index, problem in enumerate(self._results.problems):
            best = next((row for row in rows_of_problem(self._results, index) if row.rank == 1), None)
            if best is None or best.gflops is None:
                continue
            moved = traffic_of(problem, best.instance.types)
            points.append(
                RooflinePoint(
                    name=f"P{index}: {best.instance.name}",
                    gflops=best.gflops,
                    intensity=problem.flop / moved,
                    ceilings=known,
                )
            )
        drawn = roofline_chart(points)
        if drawn is None:
            raise ValueError("no problem has a kernel with a verified time")
        return StandaloneChart(drawn, f"The best kernels of {len(points)} problems")


def _time_ms(row: ResultRow) -> float:
    return row.measurement.time_ms if row.measurement is not None else 0.0


def _note(row: ResultRow) -> str:
    if row.outcome.verification is None and not row.baseline:
        return "not verified"
    return change(row.ratio) if row.ratio is not None and row.ratio > 1 else ""


#: rows of a table; the rest is counted
_MOST_ROWS: Final = 50


def html_of(document: Document) -> str:
    """Return a document as HTML; whatever comes from outside is escaped."""
    return str(Markup("\n").join(_part(part) for part in document.parts))


def _part(part: Part) -> Markup:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Heading):
        return tag("h4", part.title)
    if isinstance(part, Items):
        return tag("ul", *(tag("li", text) for text in part.texts))
    return tag("pre", part if isinstance(part, str) else "\n".join(part.lines))


def _table(table: Table[Any]) -> Markup:
    heads = [_cell("th", column, column.heading) for column in table.columns]
    rows = [
        tag("tr", *(_cell("td", column, column.shown(row)) for column in table.columns))
        for row in table.rows[:_MOST_ROWS]
    ]
    # an empty text, so that the element ends where there is no row
    whole = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", "", *rows))
    left = len(table.rows) - _MOST_ROWS
    return whole if left <= 0 else whole + tag("p", f"... and {left} more")


def _cell(name: str, column: Column[Any], text: str) -> Markup:
    side = "left" if column.align == "left" else "right"
    return tag(name, text or " ", style=f"text-align: {side}")


VIEWS: Final = (
    ResultsView(
        id="html", label="tables for notebooks", make=lambda results: html_of(terminal_document(results))
    ),
    ResultsView(id="plot", label="charts of a run", make=RunCharts),
)
