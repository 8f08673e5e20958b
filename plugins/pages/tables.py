"""The tables of reports of stores, for the page and the image, and the whole report as Markdown."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.formatting import agreeing, change, counted, percent
from ckprof.report.escape import html_text
from ckprof.report.figures import display_name, name_column, number_column, problem_column, resolution_text
from ckprof.report.short_names import ShortNames
from ckprof.report.table import Column, RowT, Table
from ckprof.report.totals import network_labels, slower, total_columns, total_lines
from ckprof.report.unserved import Unserved, with_unserved
from ckprof.sweep.evidence import SweptLayer
from ckprof_plugins.pages.charts import Bar, bar_chart
from ckprof_plugins.pages.svg import tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ckprof.model.kernel import KernelRef
    from ckprof.report.totals import Network, Total
    from ckprof_plugins.pages.content import BestRow, Coverage, ReportContent
    from ckprof_plugins.pages.devices import DeviceRow
    from ckprof_plugins.pages.heat import HeatInstance, HeatMap

    Line = tuple[Network, Total]


#: columns that the smallest window has room for
_NARROW: Final = 5
#: what an empty cell of numbers shows
DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class PageTable(Table[RowT]):
    """A table that sorts by its headings."""

    _: KW_ONLY
    id: str = ""
    #: what the filter of the table asks for; empty for a table without one
    filter_hint: str = ""
    #: of the box that scrolls
    css_class: str = "scroll"
    #: id of a row
    row_id: Callable[[RowT], str] | None = None
    #: name of a column -> what its cells show of a row when they are opened: pairs of a name and a text
    details: Mapping[str, Callable[[RowT], Sequence[tuple[str, str]]]] = field(default_factory=dict)

    @property
    def is_wide(self) -> bool:
        """Say whether a small window has no room for all columns beside each other."""
        return len(self.columns) > _NARROW

    @property
    def body(self) -> Markup:
        """The rows as HTML."""
        return Markup("\n").join(map(self._row, self.rows))

    def _row(self, row: RowT) -> Markup:
        cells = [self._cell(column, row) for column in self.columns]
        id_, style = self.row_id and self.row_id(row), self.style and self.style(row)
        return tag("tr", *cells, id=id_, class_=style or None)

    def _cell(self, column: Column[RowT], row: RowT) -> Markup:
        """Return a cell: numbers sort by their values, lines may break within names, details open."""
        text, style = cell_text(column, row), column.style and column.style(row)
        if column.css_class == "name":
            text = Markup("_<wbr>").join(map(html_text, text.split("_")))
        opened = self.details[column.name](row) if column.name in self.details else ()
        parts = [tag("div", tag("dt", name), tag("dd", said)) for name, said in opened if said]
        if style:
            text = tag("span", text, class_=f"tag {style}")
        elif parts:
            text = tag("details", tag("summary", text), tag("dl", *parts), class_="more")
        value, number = column.value(row), column.align != "left"
        return tag(
            "td",
            text,
            class_="number" if number else column.css_class or None,
            data_v=("" if value is None else str(value)) if number else None,
            title=(column.hint and column.hint(row)) or None,
        )


def cell_text(column: Column[Any], row: object) -> str:
    """Return the text of a cell; no number is a dash."""
    text = column.shown(row)
    return text if column.align == "left" else spaced(text) or DASH


def spaced(text: str) -> str:
    """Return a text whose lines do not break before percent signs."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def best_columns(content: ReportContent, names: ShortNames) -> list[Column[Any]]:
    """Return the columns of the best kernel of each problem, and of problems that no kernel serves.

    :param names: what shortens names of kernels.
    """
    layers = content.layers.values()
    kinds = {(key.direction, key.dtype, key.layout) for key in content.side.by_problem}
    kind: Column[BestRow] = Column(
        "kind", lambda row: f"{row.key.direction} {row.key.dtype} {row.key.layout}"
    )
    layer: Column[BestRow] = Column("layer", lambda row: _layer(content, row).name)
    count: Column[BestRow] = Column("times", lambda row: _layer(content, row).count, align="right")
    device: Column[BestRow] = Column("device", lambda row: row.key.device)
    error: Column[BestRow] = Column(
        "error [ulp]", lambda row: row.best.error_ulp, align="right", text=_error, hint=_error_hint
    )
    columns: list[Column[BestRow]] = [
        Column("#", lambda row: row.number, align="right", text=lambda row: f"P{row.number}"),
        *([kind] if len(kinds) > 1 else []),
        *([layer] if any(known.name for known in layers) else []),
        *([count] if any(known.count > 1 for known in layers) else []),
        problem_column(lambda row: row.key.problem),
        *([device] if len({row.key.device for row in content.best}) > 1 else []),
        name_column("best instance", lambda row: display_name(row.best), names),
        *line_column(content.best, lambda row: row.best.kernel.source),
        number_column("ms", lambda row: row.best.time_ms, hint=_interval_hint),
        number_column("GFLOP/s", lambda row: row.gflops),
        number_column("GB/s", lambda row: row.gbytes_per_s),
        number_column("of ceiling", lambda row: row.of_ceiling, percent),
        *([error] if any(row.best.error_ulp is not None for row in content.best) else []),
        number_column("runner-up", _lead, change, _lead_hint),
        Column(
            "order",
            lambda row: row.resolution.order.value,
            style=lambda row: f"lead-{row.resolution.order.value}",
            hint=lambda row: resolution_text(row.resolution),
        ),
        Column(
            "verified", lambda row: row.ranked, align="right", text=lambda row: f"{row.ranked} of {row.rows}"
        ),
    ]
    shown = {
        "best instance": lambda row: row.text,
        "order": lambda row: "none",
        "verified": lambda row: f"0 of {row.tried}",
    }
    return with_unserved(columns, shown, own=("#", "kind", "layer", "times", "problem", "device"))


def _layer(content: ReportContent, row: BestRow | Unserved) -> SweptLayer:
    known = content.layers.get(row.key) if row.key is not None else None
    return known or SweptLayer()


def line_column(rows: Iterable[RowT], source: Callable[[RowT], str]) -> Iterator[Column[RowT]]:
    """Yield a column with where kernels stand in their list, file and line, if that is known of any."""
    if any(map(source, rows)):
        yield Column(
            "list line",
            source,
            text=lambda row: source(row).rpartition("/")[2],
            hint=source,
            css_class="line",
        )


def kernel_details(kernel: KernelRef) -> list[tuple[str, str]]:
    """Return what leads back to a user's list: the kernel's name, its line, and the legacy string."""
    return [
        ("name", kernel.name),
        ("list line", kernel.source),
        ("instance string", kernel.instance_string),
        ("pipeline", kernel.pipeline),
    ]


#: times the error of the same kernel with other splits, from which on digits are lost
_GROWTH: Final = 4.0


def _error(row: BestRow) -> str:
    if row.best.error_ulp is None:
        return ""
    lost = row.error_growth is not None and row.error_growth >= _GROWTH
    return f"{row.best.error_ulp:.3g}" + (f" ({row.error_growth:.0f} times)" if lost else "")


def _error_hint(row: BestRow) -> str:
    if row.error_growth is None:
        return ""
    return f"{row.error_growth:.3g} times the error of the same kernel with other splits"


def _lead(row: BestRow) -> float | None:
    return row.runner_up.time_ms / row.best.time_ms if row.runner_up else None


def _interval_hint(row: BestRow) -> str:
    time = row.best.time
    if time is None:
        return ""
    low_ms, high_ms = time.interval_ms
    return f"{time.statistic}, 95 % interval {low_ms:.4g} to {high_ms:.4g} ms"


def _lead_hint(row: BestRow) -> str:
    if row.change is None or row.runner_up is None:
        return ""
    low, high = change(math.exp(row.change.low)), change(math.exp(row.change.high))
    return f"{display_name(row.runner_up)}, interval {spaced(f'{low} to {high}')}"


def best_table(content: ReportContent, names: ShortNames) -> PageTable[BestRow | Unserved]:
    """Return the best kernel of each problem."""
    return PageTable(
        best_columns(content, names),
        content.best_table,
        id="best-table",
        filter_hint="problem or instance",
        row_id=lambda row: f"p{row.number}",
        details={
            "best instance": lambda row: [] if isinstance(row, Unserved) else kernel_details(row.best.kernel)
        },
    )


def coverage_tables(curves: Sequence[Coverage], names: ShortNames) -> list[dict[str, Any]]:
    """Return the kernels of the libraries of each tolerance; the second one is shown at once."""
    return [
        {
            "summary": f"{curve.text}, within {round(100 * curve.tolerance, 1)} % of the best",
            "open": index == 1,
            "table": _coverage_table(curve, names, f"coverage-{index}"),
        }
        for index, curve in enumerate(curves)
    ]


def _coverage_table(curve: Coverage, names: ShortNames, id_: str) -> PageTable[Any]:
    columns: list[Column[tuple[int, tuple[str, int]]]] = [
        Column("kernels", lambda row: row[0], align="right"),
        name_column("instance added", lambda row: curve.names[row[1][0]], names),
        Column(
            "problems served",
            lambda row: row[1][1],
            align="right",
            text=lambda row: f"{row[1][1]} of {curve.problems}",
        ),
    ]
    return PageTable(columns, [*enumerate(curve.steps.items(), start=1)], id=id_)


def instance_table(heat: HeatMap, names: ShortNames) -> PageTable[tuple[int, HeatInstance]]:
    """Return what the whole side says of each instance."""
    rows = [*enumerate(heat.instances, start=1)]
    columns: list[Column[tuple[int, HeatInstance]]] = [
        Column("#", lambda row: row[0], align="right", text=lambda row: f"I{row[0]}"),
        name_column("instance", lambda row: row[1].name, names),
        *line_column(rows, lambda row: row[1].kernel.source),
        Column("pipeline", lambda row: row[1].kernel.pipeline),
        Column("best of", lambda row: row[1].wins, align="right"),
        Column("verified on", lambda row: row[1].ranked, align="right"),
        Column("failed on", lambda row: row[1].failed, align="right"),
        number_column("mean share of the best", lambda row: row[1].mean_share, percent),
    ]
    return PageTable(
        columns,
        rows,
        id="instance-table",
        filter_hint="instance or pipeline",
        css_class="scroll tall",
        details={"instance": lambda row: [("name", row[1].name), *kernel_details(row[1].kernel)[1:3]]},
    )


def device_table(devices: Sequence[DeviceRow]) -> PageTable[DeviceRow]:
    """Return the devices of a sweep on several of them, the slowest first."""
    columns: list[Column[DeviceRow]] = [
        Column("device", lambda device: device.id),
        Column("problems", lambda device: device.problems, align="right"),
        Column("attempts", lambda device: device.attempts, align="right"),
        number_column("reference, ms", lambda device: device.reference_ms),
        Column("checks", lambda device: device.checks, align="right"),
        number_column("ratio", lambda device: device.ratio),
        number_column("clock, MHz", lambda device: device.clock_mhz),
        number_column("hottest, °C", lambda device: device.temperature_c),
        Column("not counted", lambda device: device.slow, align="right"),
    ]
    return PageTable(columns, devices, id="device-table")


def trace_table() -> PageTable[float]:
    """Return the head of the table that the script of the page fills with the rounds of a problem."""
    numbers = ("rounds", "median ms", "least ms", "largest ms", "last against first")
    columns: list[Column[float]] = [Column("kernel", str)]
    columns += [number_column(name, lambda value: value) for name in numbers]
    return PageTable(columns, (), id="trace-table")


def failure_table(content: ReportContent, names: ShortNames) -> PageTable[Any]:
    """Return what failed, by status and reason."""
    columns: list[Column[Any]] = [
        Column("status", lambda kind: kind[0].value, style=lambda kind: f"status-{kind[0].value}"),
        Column("reason", lambda kind: kind[1]),
        Column("rows", lambda kind: len(content.failures[kind]), align="right"),
        name_column("for example", lambda kind: display_name(content.failures[kind][0]), names),
    ]
    return PageTable(columns, list(content.failures), id="failure-table")


def total_table(content: ReportContent) -> PageTable[Line]:
    """Return what networks take with all kernels, and with libraries of some."""
    lines = total_lines(content.networks)
    return PageTable(
        total_columns(content.networks),
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


def network_lines(content: ReportContent) -> Iterator[str]:
    """Yield what the sums are of, and what is not in them: a line per direction, type, layout and device."""
    repeated = any(layer.count > 1 for layer in content.layers.values())
    labels = network_labels(content.networks)
    for network in content.networks:
        of = f"{labels[network]}: " if labels[network] else ""
        number_of = counted(network.problems, "problem")
        what = (
            f"{number_of}, which occur as {network.layers} layers in all"
            if repeated
            else f"{number_of}, each once: the source does not say how often"
        )
        yield f"{of}Times are summed up over {what}."
        if network.unserved:
            named, verb = ", ".join(network.unserved), agreeing(len(network.unserved), "is", "are")
            yield f"{of}{named} {verb} unsupported and excluded from all totals."


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
