"""The report as one HTML page without any reference to something outside of it."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from ckprof.compare.records import change_text, common_start, display_name, short_problem
from ckprof.model.outcome import Status
from ckprof.statistics.verdict import Verdict
from ckprof.store_report.charts import BANDS, coverage_chart, heat_chart, roofline_chart
from ckprof.store_report.heat import statuses_of
from ckprof.store_report.traces import traces

if TYPE_CHECKING:
    from jinja2 import Template

    from ckprof.compare.model import ComparedRow, Comparison
    from ckprof.store_report.content import ReportContent

#: rows of the comparison in the page; the most urgent ones, the others are counted
MOST_COMPARED: Final = 500

_URGENCY: Final = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCLEAR)


def render_html(content: ReportContent) -> str:
    """Render the page."""
    start = common_start(display_name(row) for row in content.side.rows.values())
    numbers = {key: number for number, key in enumerate(content.heat.problems, start=1)}
    return _template().render(
        content=content,
        numbers=numbers,
        start=start,
        roofline=roofline_chart(content.best, content.options.roofs),
        coverage=coverage_chart(content.coverage),
        heat=heat_chart(content.heat, list(numbers.values())) if numbers else None,
        bands=_bands(),
        cell_statuses=statuses_of(content.heat.cells),
        compared=_compared(content.comparison) if content.comparison else (),
        most_compared=MOST_COMPARED,
        data=_data(content, start),
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ckprof.store_report"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["percent"] = _percent
    environment.filters["signed"] = _signed
    environment.filters["without"] = _without
    environment.globals["name_of"] = display_name
    environment.globals["short_problem"] = short_problem
    environment.globals["exp"] = math.exp
    return environment.get_template("report.html.j2")


def _without(name: str, start: str) -> Markup:
    """Return a name without its start, with places where a line may break."""
    shown = name[len(start) :] if name.startswith(start) else name
    return Markup("_<wbr>").join(shown.split("_"))


def _number(value: float | None) -> str:
    """Return four significant digits without an exponent where that is short."""
    if value is None:
        return "–"  # noqa: RUF001 - a dash for an empty cell
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"  # noqa: RUF001


def _signed(ratio: float | None) -> str:
    return "–" if ratio is None else change_text(ratio).replace("%", "\N{NO-BREAK SPACE}%")  # noqa: RUF001


def _bands() -> list[tuple[str, str]]:
    """Return (CSS class, label) of the legend of the heat map."""
    labels = [f"{low} to {high} %" for low, high in pairwise(BANDS)]
    return [(f"q{index}", label) for index, label in enumerate([*labels, "the best"])]


def _compared(comparison: Comparison) -> list[ComparedRow]:
    """Return the rows worth a line: changed statuses and verdicts, the most urgent first."""
    rows = [row for row in comparison.status_changes if row.judgement is None]
    for verdict in _URGENCY:
        rows += comparison.with_verdict(verdict)
    return rows[:MOST_COMPARED]


def _data(content: ReportContent, start: str) -> str:
    """Return what the script draws from, as JSON that can stand in a ``script`` element."""
    statuses = list(Status)
    data = {
        "problems": [short_problem(key.problem) for key in content.heat.problems],
        "instances": [one.name.removeprefix(start) for one in content.heat.instances],
        "statuses": [status.value for status in statuses],
        # percent of the best, -1 without a measurement, -2 - n for status n
        "cells": [
            [
                -1 if cell is None else -2 - statuses.index(cell) if isinstance(cell, Status) else cell
                for cell in row
            ]
            for row in content.heat.cells
        ],
        "traces": [
            [
                {"name": one.name[len(start) :], "reference": one.reference, "points": one.points}
                for one in group
            ]
            for group in traces(content.side, content.options.traced)
        ],
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
