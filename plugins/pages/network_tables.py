"""The tables of totals and of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.report.figures import display_name, name_column, number_column, problem_column
from ckprof.report.short_names import ShortNames
from ckprof.report.table import Column
from ckprof.report.totals import network_labels, slower, total_columns, total_lines
from ckprof_plugins.pages.charts import Bar, bar_chart
from ckprof_plugins.pages.history import TREND_CLASSES
from ckprof_plugins.pages.tables import PageTable, kernel_details, spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from ckprof.report.totals import Network, Total
    from ckprof_plugins.pages.content import ReportContent
    from ckprof_plugins.pages.history import HistoryRow, TimeHistory

    Line = tuple[Network, Total]


def total_table(content: ReportContent) -> PageTable[Line]:
    """Return what networks take with all kernels, and with libraries of some."""
    lines = total_lines(content.networks)
    columns = total_columns(content.networks, lambda numbers: ", ".join(_called(content, numbers)))
    return PageTable(
        columns,
        lines,
        id="total-table",
        # what no kernel serves is named above; here stand out sums that lack more
        style=lambda line: "warn" if len(line[1].missing) > len(line[0].unserved) else "",
        details={
            "kernels": lambda line: [
                (f"kernel {number}", name) for number, name in enumerate(line[1].kernels, start=1)
            ]
        },
    )


def _called(content: ReportContent, numbers: Sequence[int]) -> list[str]:
    """Return what problems are called: their numbers, and the names of their layers."""
    keys = list(content.side.by_problem)
    names = (content.layers[key].name if (key := keys[n - 1]) in content.layers else "" for n in numbers)
    return [f"P{number} {name}".strip() for number, name in zip(numbers, names, strict=True)]


def network_lines(content: ReportContent) -> Iterator[str]:
    """Yield what the sums are of, and what is not in them: a line per direction, type, layout and device."""
    counted = any(layer.count > 1 for layer in content.layers.values())
    labels = network_labels(content.networks)
    for network in content.networks:
        of = f"{labels[network]}: " if labels[network] else ""
        what = (
            f"{network.problems} problems, which occur as {network.layers} layers in all"
            if counted
            else f"{network.problems} problems, each once: their source does not say how often they occur"
        )
        yield f"{of}Times are summed up over {what}."
        if network.unserved:
            named = ", ".join(_called(content, network.unserved))
            yield (
                f"{of}No kernel serves {named}: no sum has it."
                if len(network.unserved) == 1
                else (f"{of}No kernel serves {named}: no sum has them.")
            )


def total_charts(content: ReportContent) -> Iterator[tuple[str, Markup]]:
    """Yield what each network is called, empty for the only one, and a chart of bars."""
    labels = network_labels(content.networks)
    for number, network in enumerate(content.networks):
        bars = [
            Bar(
                name=total.library,
                time_ms=total.time_ms,
                best=index == 0,
                note=_note(network, total, first=index == 0),
            )
            for index, total in enumerate(network.totals)
        ]
        said = "; ".join(f"{bar.name} {bar.time_ms:.4g} ms" for bar in bars)
        name = "Time of the network" + (f", {labels[network]}" if labels[network] else "")
        drawn = bar_chart(bars, f"total-{number}", name, f"{said}. The table has them.")
        if drawn is not None:
            yield labels[network], drawn


def _note(network: Network, total: Total, *, first: bool) -> str:
    against_best = "" if first else spaced(slower(total.ratio))
    left_out = f"{total.layers} of {network.layers} layers" if total.missing else ""
    return ", ".join(filter(None, (against_best, left_out)))


def history_table(
    history: TimeHistory, names: ShortNames, content: ReportContent | None = None
) -> PageTable[Any]:
    """Return a line per problem: first, fastest and latest time, and what the latest one is.

    :param names: what shortens names of kernels.
    :param content: has the names of layers.
    """

    def layer(row: HistoryRow) -> str:
        known = content.layers.get(row.key) if content is not None else None
        return known.name if known is not None else ""

    named: list[Column[HistoryRow]] = [Column("layer", layer)]
    columns: list[Column[HistoryRow]] = [
        Column("#", lambda row: row.number, align="right", text=lambda row: f"P{row.number}"),
        *(named if content is not None and any(one.name for one in content.layers.values()) else []),
        problem_column(lambda row: row.key.problem),
        number_column("first ms", lambda row: row.points[0].row.time_ms),
        number_column("fastest ms", lambda row: row.fastest.row.time_ms),
        number_column("latest ms", lambda row: row.last.row.time_ms),
        number_column(
            "latest against fastest",
            lambda row: row.last.ratio,
            slower,
            lambda row: f"interval {slower(row.last.low)} to {slower(row.last.high)}",
        ),
        Column(
            "latest",
            lambda row: row.trend.value,
            style=lambda row: f"trend-{TREND_CLASSES[row.trend]}",
        ),
        name_column("latest best instance", lambda row: display_name(row.last.row), names),
    ]
    return PageTable(
        columns,
        history.rows,
        id="history-table",
        filter_hint="problem or instance",
        row_id=lambda row: f"h{row.number}",
        details={
            "latest best instance": lambda row: [
                *kernel_details(row.last.row),
                *(
                    (history.labels[point.place], f"{point.row.time_ms:.5g} ms, {display_name(point.row)}")
                    for point in row.points
                ),
                *((history.labels[place], "no verified time") for place in row.absent),
            ]
        },
    )
