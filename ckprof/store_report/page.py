"""The report as one HTML page without any reference to something outside of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup

from ckprof.compare.records import common_start, display_name, short_problem
from ckprof.model.outcome import Status
from ckprof.store_report.charts import BANDS, coverage_chart, heat_chart, roofline_chart, status_class
from ckprof.store_report.heat import statuses_of
from ckprof.store_report.page_comparison import comparison_section
from ckprof.store_report.page_tables import (
    best_table,
    card_table,
    coverage_tables,
    failure_table,
    instance_table,
    trace_table,
)
from ckprof.store_report.tables import percent
from ckprof.store_report.traces import traces

if TYPE_CHECKING:
    from jinja2 import Template

    from ckprof.store_report.content import ReportContent
    from ckprof.store_report.page_tables import CoverageTable
    from ckprof.store_report.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTables:
    """The tables of the page, but those of the comparison."""

    best: Table
    #: ``None`` for sweeps on one device
    cards: Table | None
    coverage: list[CoverageTable]
    instances: Table
    rounds: Table
    failures: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTexts:
    """Whatever else the page says that has to be put together first."""

    #: what all names of kernels begin with; they are shown without it
    start: str
    tie: str
    has_roofs: bool
    #: (status, rows)
    statuses: list[tuple[str, int]]
    #: (what, words of the value)
    facts: list[tuple[str, list[str]]]
    #: (position, label) of the problems whose rounds can be shown
    problems: list[tuple[int, str]]


def render_html(content: ReportContent) -> str:
    """Render the page."""
    start = common_start(display_name(row) for row in content.side.rows.values())
    return _template().render(
        content=content,
        texts=_texts(content, start),
        tables=PageTables(
            best=best_table(content, start),
            cards=card_table(content.side.cards) if content.side.cards else None,
            coverage=coverage_tables(content.coverage, start),
            instances=instance_table(content.heat, start),
            rounds=trace_table(),
            failures=failure_table(content.overview.failures, start),
        ),
        comparison=comparison_section(content.comparison, start) if content.comparison else None,
        roofline=roofline_chart(content.best),
        coverage=coverage_chart(content.coverage),
        heat=heat_chart(content.heat) if content.heat.problems else None,
        bands=_bands(),
        cell_statuses=[(status_class(one), one.value) for one in statuses_of(content.heat.cells)],
        data=_data(content, start),
    )


def _texts(content: ReportContent, start: str) -> PageTexts:
    return PageTexts(
        start=start,
        tie=percent(content.options.tie),
        has_roofs=any(row.roofs for row in content.best),
        statuses=[(status.value, count) for status, count in content.overview.statuses.items()],
        facts=[(name, value.split(" ")) for name, value in content.overview.facts],
        problems=[
            (index, f"P{index + 1} {key.direction} {key.dtype} {short_problem(key.problem)}")
            for index, key in enumerate(content.heat.problems)
        ],
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
    return environment.get_template("report.html.j2")


def _bands() -> list[tuple[str, str]]:
    """Return (CSS class, label) of the legend of the heat map."""
    labels = [f"{low} to {high} %" for low, high in pairwise(BANDS)]
    return [(f"q{index}", label) for index, label in enumerate([*labels, "the best"])]


def _data(content: ReportContent, start: str) -> Markup:
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
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the element
