"""The report as an image, for pull requests: the best kernels and the very charts of the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from ckprof.errors import UsageError
from ckprof.formatting import counted
from ckprof.report.figures import display_name
from ckprof.report.short_names import ShortNames
from ckprof.report.text_width import shortened
from ckprof_plugins.pages.charts import best_points, coverage_chart, roofline_chart
from ckprof_plugins.pages.heat import heat_chart
from ckprof_plugins.pages.svg import FONTS, chart_style, tag, text_at
from ckprof_plugins.pages.tables import best_columns, cell_text, total_charts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof_plugins.pages.content import ReportContent

#: pixels of the image for one of the drawing
_ZOOM: Final = 1.5
_WIDTH: Final = 1200
_MARGIN: Final = 24
_LINE: Final = 20
#: best kernels that are listed; the rest is counted
_MOST_ROWS: Final = 30


#: rules of what the image has besides charts
_TEXTS: Final = (
    "text.title { font-size: 20px; fill: #1b1f24; font-weight: bold; } "
    "text.heading { font-size: 15px; fill: #1b1f24; font-weight: bold; } "
    "text.head { font-weight: bold; } text.cell { fill: #1b1f24; } text.note { font-size: 12px; }"
)

#: column -> its left end in pixels, the right one of numbers, and the characters of a text that fit
_COLUMNS: Final = {
    "#": (24, 5),
    "problem": (68, 50),
    "best instance": (390, 60),
    "ms": (830, 0),
    "GFLOP/s": (905, 0),
    "GB/s": (965, 0),
    "of ceiling": (1030, 0),
    "runner-up": (1110, 0),
    "order": (1125, 8),
}


def render_png(content: ReportContent) -> bytes:
    """Draw title, best kernels, roofline, coverage and heat map.

    :raises UsageError: the renderer, or a font, is not installed.
    """
    try:
        import resvg_py
    except ImportError:
        raise UsageError("images need the package resvg-py: pip install 'ckprof[report]'") from None
    if not _has_font():
        raise UsageError(
            "images need a font, and none of the usual ones is installed: install e.g. the package "
            "fonts-dejavu-core"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=_drawing(content), background="#ffffff", zoom=_ZOOM))


class _ImageSheet:
    """A drawing that grows downwards."""

    def __init__(self) -> None:
        self.parts: list[Markup] = []
        self.height: float = _MARGIN

    def line(self, text: str, css_class: str, size: float = _LINE) -> None:
        self.height += size
        self.parts.append(text_at(_MARGIN, self.height, text, css_class))

    def chart(self, heading: str, drawn: Markup | None) -> None:
        """Add a chart of the page below a heading; nothing if there is none."""
        if drawn is None:
            return
        self.line(heading, "heading", 2 * _LINE)
        written = re.search(r' height="([\d.]+)"', drawn)
        height = float(written[1]) if written else 0.0
        self.height += _LINE / 2
        self.parts.append(tag("g", drawn, transform=f"translate({_MARGIN} {self.height})"))
        self.height += height

    def close(self) -> str:
        """Return the whole drawing."""
        height = round(self.height + _MARGIN)
        return str(
            tag(
                "svg",
                tag("style", Markup(f"{chart_style()}\n{_TEXTS}")),  # noqa: S704 - our own file
                *self.parts,
                xmlns="http://www.w3.org/2000/svg",
                width=_WIDTH,
                height=height,
                viewBox=f"0 0 {_WIDTH} {height}",
            )
        )


def _drawing(content: ReportContent) -> str:
    sheet = _ImageSheet()
    names = ShortNames(map(display_name, content.side.rows.values()), _COLUMNS["best instance"][1])
    sheet.line(content.title, "title")
    sheet.line(content.summary, "note")
    facts = dict(content.facts)
    places = [facts[name] for name in ("device", "compiler", "revision") if name in facts]
    sheet.line(shortened("; ".join(places), 170), "note")
    if content.best_table:
        _table(sheet, content, names)
    for label, drawn in total_charts(content):
        sheet.chart(f"Network {label}".rstrip(), drawn)
    sheet.chart("Roofline", roofline_chart(best_points(content.best)))
    sheet.chart("Kernels that a library needs", coverage_chart(content.coverage))
    if content.heat.cells:
        sheet.chart("Share of each problem's best speed", heat_chart(content.heat, names))
    return sheet.close()


def _table(sheet: _ImageSheet, content: ReportContent, names: ShortNames) -> None:
    columns = {column.name: column for column in best_columns(content, names)}
    sheet.line("Best per problem", "heading", 2 * _LINE)
    _table_line(sheet, _COLUMNS, "head")
    rows = content.best_table
    for row in rows[:_MOST_ROWS]:
        _table_line(sheet, (cell_text(columns[name], row) for name in _COLUMNS), "cell")
    if len(rows) > _MOST_ROWS:
        sheet.line(f"and {counted(len(rows) - _MOST_ROWS, 'more problem')}", "note")


def _table_line(sheet: _ImageSheet, texts: Iterable[str], css_class: str) -> None:
    sheet.height += _LINE
    for text, (at, most) in zip(texts, _COLUMNS.values(), strict=True):
        shown = shortened(text, most) if most else text
        anchor = None if most else "end"
        sheet.parts.append(text_at(at, sheet.height, shown, css_class, anchor))


def _has_font() -> bool:
    """Say whether text is drawn at all: without a font the renderer leaves it out in silence."""
    import resvg_py

    def drawn(text: str) -> bytes:
        style = tag("style", Markup(f"text {{ font-family: {FONTS}; }}"))  # noqa: S704 - our own
        parts = style, tag("text", text, x=1, y=20)
        svg = tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", width=24, height=24)
        return bytes(resvg_py.svg_to_bytes(svg_string=str(svg)))

    return drawn("M") != drawn(" ")
