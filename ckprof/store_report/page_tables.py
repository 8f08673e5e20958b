"""The tables of the page about one side: best kernels, coverage, instances, rounds, failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.compare.records import display_name
from ckprof.store_report.tables import (
    DASH,
    Cell,
    Table,
    TableRow,
    columns,
    count_cell,
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

    from ckprof.compare.cards import CardRow
    from ckprof.store_report.best import BestRow
    from ckprof.store_report.content import ReportContent
    from ckprof.store_report.coverage import Coverage
    from ckprof.store_report.heat import HeatMap
    from ckprof.store_report.overview import Failure

#: headings of the best kernels above numbers
_BEST_NUMBERS = ("#", "ms", "GFLOP/s", "GB/s", "of roof", "runner-up", "verified")


def best_table(content: ReportContent, start: str) -> Table:
    """Return the best kernel of each problem.

    :param start: what all names of kernels begin with, which is left out.
    """
    kinds = content.kinds > 1
    devices = len({row.key.device for row in content.best}) > 1
    names = ["#", *(["kind"] if kinds else []), "problem", *(["device"] if devices else [])]
    names += ["best instance", "ms", "GFLOP/s", "GB/s", "of roof", "runner-up", "order", "verified"]
    rows = tuple(
        TableRow(id=f"p{row.number}", cells=tuple(_best_cells(row, start, kinds=kinds, devices=devices)))
        for row in content.best
    )
    return Table(
        columns=columns(*names, numeric=_BEST_NUMBERS),
        rows=rows,
        id="best-table",
        filter_hint="problem or instance",
    )


def _best_cells(row: BestRow, start: str, *, kinds: bool, devices: bool) -> Iterator[Cell]:
    key = row.key
    yield number_cell(row.number, f"P{row.number}")
    if kinds:
        yield text_cell(f"{key.direction} {key.dtype} {key.layout}")
    yield problem_cell(key.problem)
    if devices:
        yield text_cell(key.device)
    yield name_cell(display_name(row.best), start)
    for value in (row.best.median_ms, row.gflops, row.gbytes_per_s):
        yield number_cell(value, number(value))
    yield number_cell(row.of_roof, percent(row.of_roof))
    yield _lead_cell(row)
    yield tag_cell(row.lead.value, f"lead-{row.lead.value}")
    yield number_cell(row.ranked, f"{row.ranked} of {row.rows}")


def _lead_cell(row: BestRow) -> Cell:
    if row.change is None or row.runner_up is None:
        return number_cell(None, DASH)
    low, high = signed(math.exp(row.change.low)), signed(math.exp(row.change.high))
    title = f"{display_name(row.runner_up)}, interval {low} to {high}"
    return number_cell(row.lead_ratio, signed(row.lead_ratio), title)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageTable:
    """The library of one tolerance."""

    summary: str
    open: bool
    table: Table


def coverage_tables(curves: Sequence[Coverage], start: str) -> list[CoverageTable]:
    """Return the kernels of the libraries; the second tolerance is shown at once."""
    return [
        CoverageTable(
            summary=f"{len(curve.steps)} kernels within {round(100 * curve.tolerance, 1)} % of the best",
            open=index == 1,
            table=_coverage_table(curve, start),
        )
        for index, curve in enumerate(curves)
    ]


def _coverage_table(curve: Coverage, start: str) -> Table:
    rows = tuple(
        TableRow(
            cells=(
                count_cell(count),
                name_cell(step.name, start),
                number_cell(step.covered, f"{step.covered} of {curve.problems}"),
            )
        )
        for count, step in enumerate(curve.steps, start=1)
    )
    names = ("kernels", "instance added", "problems served")
    return Table(columns=columns(*names, numeric=(names[0], names[2])), rows=rows)


def instance_table(heat: HeatMap, start: str) -> Table:
    """Return what the whole side says of each instance."""
    rows = tuple(
        TableRow(
            cells=(
                number_cell(index, f"I{index}"),
                name_cell(one.name, start),
                text_cell(one.pipeline),
                count_cell(one.wins),
                count_cell(one.ranked),
                count_cell(one.failed),
                number_cell(one.mean_share, percent(one.mean_share)),
            )
        )
        for index, one in enumerate(heat.instances, start=1)
    )
    numeric = ("#", "best of", "verified on", "failed on", "mean share of the best")
    return Table(
        columns=columns("#", "instance", "pipeline", *numeric[1:], numeric=numeric),
        rows=rows,
        id="instance-table",
        filter_hint="instance or pipeline",
        css_class="scroll tall",
    )


def card_table(cards: Sequence[CardRow]) -> Table:
    """Return the cards of a sweep on several of them, the slowest first."""
    rows = tuple(
        TableRow(
            cells=(
                text_cell(one.id),
                count_cell(one.problems),
                count_cell(one.attempts),
                number_cell(one.reference_ms, number(one.reference_ms)),
                count_cell(one.checks),
                *(
                    number_cell(value, number(value))
                    for value in (one.ratio, one.clock_mhz, one.temperature_c)
                ),
                count_cell(one.slow),
            )
        )
        for one in cards
    )
    numeric = (
        *("problems", "attempts", "reference, ms", "checks", "ratio", "clock, MHz", "hottest, °C"),
        "not counted",
    )
    return Table(columns=columns("card", *numeric, numeric=numeric), rows=rows, id="card-table")


def trace_table() -> Table:
    """Return the head of the table that the script of the page fills with the rounds of a problem."""
    numeric = ("rounds", "median ms", "least ms", "largest ms", "last against first")
    return Table(columns=columns("kernel", *numeric, numeric=numeric), id="trace-table")


def failure_table(failures: Sequence[Failure], start: str) -> Table:
    """Return what failed, by reason."""
    rows = tuple(
        TableRow(
            cells=(
                tag_cell(one.status.value, f"status-{one.status.value}"),
                text_cell(one.reason),
                count_cell(one.rows),
                name_cell(one.example, start),
            )
        )
        for one in failures
    )
    return Table(columns=columns("status", "reason", "rows", "for example", numeric=("rows",)), rows=rows)
