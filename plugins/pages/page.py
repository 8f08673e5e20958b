"""The report as one HTML page without any reference to something outside of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.formatting import change, percent
from ckprof.model.outcome import Status
from ckprof.model.problem import brief
from ckprof.report.comparison_text import (
    URGENCY,
    best_change_columns,
    compared_columns,
    part_columns,
    shift_lines,
)
from ckprof.report.document import Block, Heading, Items
from ckprof.report.escape import html_text
from ckprof.report.figures import display_name
from ckprof.report.short_names import ShortNames
from ckprof.report.table import Column, Table
from ckprof.report.text_width import shortened
from ckprof.sanitize import plain
from ckprof_plugins.pages.charts import best_points, box_chart, coverage_chart, roofline_chart
from ckprof_plugins.pages.heat import BANDS, heat_chart, status_class, statuses_of
from ckprof_plugins.pages.history import history_chart, history_table, sparkline
from ckprof_plugins.pages.tables import (
    PageTable,
    best_table,
    coverage_tables,
    device_table,
    failure_table,
    instance_table,
    network_lines,
    spaced,
    total_charts,
    total_table,
    trace_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Template

    from ckprof.compare.compare import Comparison
    from ckprof.compare.side import MeasuredRow
    from ckprof.report.document import Document
    from ckprof_plugins.pages.content import ReportContent
    from ckprof_plugins.pages.history import TimeHistory


#: rows of the comparison in the page; the most urgent ones, the others are counted
MOST_COMPARED: Final = 500


def comparison_section(comparison: Comparison, names: ShortNames) -> dict[str, Any]:
    """Return the texts, boxes and tables of the section; ``None`` for a table without rows.

    :param names: what shortens names of kernels.
    """
    # changed statuses and verdicts, the most urgent first
    rows = [row for row in comparison.status_changes if row.change is None]
    for verdict in URGENCY:
        rows += comparison.with_verdict(verdict)
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
        "compared": PageTable(compared_columns(names), shown, css_class="scroll tall", id="compared-table")
        if shown
        else None,
        "cut_off": f"{more}; the json and csv formats of the comparison have all." if shown != rows else "",
        "problems": PageTable(best_change_columns(names), changed, id="best-change-table")
        if changed
        else None,
    }


def _intro(comparison: Comparison) -> str:
    parts = [f"{comparison.old_label} (old) against {comparison.new_label} (new)."]
    if comparison.geometric_mean:
        mean, low, high = map(change, comparison.geometric_mean)
        parts.append(
            f"Best against best over {len(comparison.problems)} problems, the geometric mean of the times "
            f"changed by {mean} ({low} to {high})."
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


def render_html(content: ReportContent) -> str:
    """Render the page."""
    names = ShortNames(display_name(row) for row in content.side.rows.values())
    return page_template("report").render(
        content=content,
        texts=_texts(content, names),
        tables={
            "totals": total_table(content) if any(one.totals for one in content.networks) else None,
            "history": _history_table(content.history, names, content) if content.history else None,
            "best": best_table(content, names),
            "devices": device_table(content.devices) if content.devices else None,
            "coverage": coverage_tables(content.coverage, names),
            "instances": instance_table(content.heat, names),
            "rounds": trace_table(),
            "failures": failure_table(content, names),
        },
        comparison=comparison_section(content.comparison, names) if content.comparison else None,
        network={"lines": [*network_lines(content)], "charts": [*total_charts(content)]},
        history={"chart": history_chart(content.history)} if content.history else None,
        roofline=roofline_chart(best_points(content.best), "The table of best kernels has the same figures."),
        coverage=coverage_chart(content.coverage),
        heat=heat_chart(content.heat, names, _labels(content)) if content.heat.cells else None,
        boxes=_boxes(content),
        # CSS classes and labels of the legend of the heat map
        bands=enumerate([*(f"{low} to {high} %" for low, high in pairwise(BANDS)), "the best"]),
        cell_statuses=[(status_class(status), status.value) for status in statuses_of(content.heat.cells)],
        data=_data(content, names),
    )


def _history_table(past: TimeHistory, names: ShortNames, content: ReportContent) -> PageTable[Any]:
    """Return the table of the history with a small drawing in each row."""
    table = history_table(past, names, content.layers)
    drawn: Column[Any] = Column(
        "over time", lambda row: row.last.ratio, text=lambda row: sparkline(row, len(past.labels))
    )
    return replace(table, columns=[*table.columns[:-2], drawn, *table.columns[-2:]])


def _labels(content: ReportContent) -> list[str]:
    """Return what problems are called beside the heat map: numbers, and names of layers."""
    layers = (content.layers.get(key) for key in content.side.by_problem)
    names = (shortened(layer.name, 16, in_the_middle=True) if layer is not None else "" for layer in layers)
    return [f"P{number} {name}".strip() for number, name in enumerate(names, start=1)]


def _boxes(content: ReportContent) -> list[tuple[int, Markup]]:
    """Return the box plots by the position of their problem."""
    found = []
    for index, key in enumerate(content.side.by_problem):
        name = f"Samples of P{index + 1}"
        of_problem = content.boxes.get(key, ())
        said = f"{len(of_problem)} kernels, the best first, medians in ms: " + ", ".join(
            f"{box.median:.4g}" for box in of_problem
        )
        drawn = box_chart(of_problem, f"boxes-{index}", name, said)
        if drawn is not None:
            found.append((index, drawn))
    return found


def _texts(content: ReportContent, names: ShortNames) -> dict[str, Any]:
    """Return whatever else the page says that has to be put together first."""
    return {
        "common": names.common,
        "tie": spaced(percent(content.options.tie)),
        "has_ceilings": any(row.ceilings for row in content.best),
        "rounds": sum(len(row.rounds) for row in content.side.rows.values()),
        "statuses": [(status.value, count) for status, count in content.statuses.items()],
        # words of the values, between which lines may break
        "facts": [(name, value.split(" ")) for name, value in content.facts],
        # position and label of those whose rounds can be shown
        "problems": [
            (index, f"{label}: {key.direction} {key.dtype} {brief(key.problem)}")
            for index, (label, key) in enumerate(zip(_labels(content), content.side.by_problem, strict=True))
        ],
    }


def render_document(title: str, document: Document) -> str:
    """Render a report as a page, a section for each of its headings; tables can be sorted."""
    sections: list[tuple[str, list[tuple[PageTable[Any] | None, list[str]]]]] = [("", [])]
    for number, part in enumerate(document.parts):
        if isinstance(part, Heading):
            sections.append((part.title, []))
        elif isinstance(part, Table):
            table = PageTable(part.columns, part.rows, style=part.style, id=f"table-{number}")
            sections[-1][1].append((table, []))
        else:
            texts = (
                part.lines if isinstance(part, Block) else part.texts if isinstance(part, Items) else [part]
            )
            sections[-1][1].append((None, [line for text in texts for line in text.splitlines()]))
    return page_template("document").render(title=title, sections=sections)


@cache
def page_template(name: str) -> Template:
    """Return the template of a kind of pages."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ckprof_plugins.pages"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=html_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(f"{name}.html.j2")


def script_data(data: Any) -> Markup:
    """Return what the script of a page draws from, as JSON that can stand in a ``script`` element."""
    text = json.dumps(_plain(data), separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def _plain(value: Any) -> Any:
    """Return a value with texts that nothing acts upon."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _data(content: ReportContent, names: ShortNames) -> Markup:
    """Return what the script draws from."""
    statuses = list(Status)
    data = {
        "problems": [
            f"{label}: {brief(key.problem)}"
            for label, key in zip(_labels(content), content.side.by_problem, strict=True)
        ],
        "instances": [names.short(instance.name) for instance in content.heat.instances],
        "statuses": [status.value for status in statuses],
        # percent of the best, -1 without a measurement, -2 - n for status n
        "cells": [
            [
                -1 if cell is None else -2 - statuses.index(cell) if isinstance(cell, Status) else cell
                for cell in row
            ]
            for row in content.heat.cells
        ],
        "traces": [_traces(rows, content.options.traced, names) for rows in content.side.by_problem.values()],
    }
    return script_data(data)


def _traces(rows: Sequence[MeasuredRow], kernels: int, names: ShortNames) -> list[dict[str, Any]]:
    """Return the rounds of a problem's fastest kernels, so that changes of the machine show.

    :param kernels: how many of the fastest.
    """
    chosen = [row for row in rows if row.ranked][:kernels]
    first_s = min((measured.started for row in chosen for measured in row.rounds), default=0.0)
    return [
        {
            "name": names.short(display_name(row)),
            # seconds since the first round of the problem, median in milliseconds
            "points": [
                (round(measured.started - first_s, 3), float(f"{measured.time_ms:.5g}"))
                for measured in row.rounds
            ],
        }
        for row in chosen
    ]
