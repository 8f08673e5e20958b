"""Lines of problems over stores or commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.ranking import TIE
from ckprof.report.store.history import Trend
from ckprof.report.store.svg import (
    CHART_WIDTH,
    ChartText,
    Frame,
    Scale,
    chart,
    cut_middle,
    polyline,
    short,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from ckprof.report.store.history import History, HistoryPoint, HistoryRow

#: trend -> CSS class; what needs a look last
TREND_CLASSES: Final = {Trend.BEST: "steady", Trend.OPEN: "unsure", Trend.SLOWER: "slower"}
#: of the small drawing of one problem
_WIDTH: Final = 150
_HEIGHT: Final = 34
#: slower than this many times the fastest is drawn at the edge
_MOST: Final = 10.0


def history_chart(history: History) -> Markup:
    """Draw a line per problem: its time as a multiple of its fastest one, with the limits of each."""
    frame = Frame(width=CHART_WIDTH, height=380, left=64, right=40, bottom=60)
    last = len(history.labels) - 1
    x = Scale(domain=(0, max(1, last)), range=(frame.x_range[0] + 24, frame.x_range[1] - 24))
    points = [point for row in history.rows for point in row.points]
    high = min(_MOST, max(1.1, *(point.high for point in points)))
    y = Scale(
        domain=(max(0.5, min(0.98, *(point.low for point in points))), high * 1.02), range=frame.y_range
    )
    parts: list[Markup] = []
    left, right = frame.x_range
    for value in y.ticks():
        parts.append(tag("line", x1=left, x2=right, y1=y(value), y2=y(value), class_="grid"))
        parts.append(tag("text", f"{value:g}x", x=left - 8, y=y(value) + 4, class_="tick", text_anchor="end"))
    tie = y(1 + TIE)
    parts.append(tag("line", x1=left, x2=right, y1=tie, y2=tie, class_="tie"))
    every = max(1, -(-len(history.labels) // 8))
    for place, label in enumerate(history.labels):
        if (last - place) % every == 0:
            parts.append(
                tag(
                    "text",
                    tag("title", label),
                    cut_middle(label, 18),
                    x=x(place),
                    y=frame.height - 34,
                    class_="tick",
                    text_anchor="middle",
                )
            )
    name = "time / fastest time"
    height = (frame.y_range[0] + frame.y_range[1]) / 2
    turned = f"rotate(-90 14 {height})"
    parts.append(tag("text", name, x=14, y=height, class_="axis", text_anchor="middle", transform=turned))
    middle = (left + right) / 2
    parts.append(
        tag("text", "oldest to latest", x=middle, y=frame.height - 8, class_="axis", text_anchor="middle")
    )
    # what needs a look is drawn last, over the others
    order = list(TREND_CLASSES)
    for row in sorted(history.rows, key=lambda row: order.index(row.trend)):
        parts.append(_line(row, x, y, history))
    trends = history.trends
    counts = ", ".join(f"{trends[trend]} {trend.value}" for trend in Trend if trends[trend])
    description = (
        f"{len(history.rows)} problems over {len(history.labels)} stores or commands: {counts}. Each time is "
        "a multiple of the problem's fastest one; the table has the same figures."
    )
    text = ChartText(id="history-chart", name="History", description=description, role="group")
    return chart(frame, parts, text)


def _line(row: HistoryRow, x: Scale, y: Scale, history: History) -> Markup:
    said = f"P{row.number}: " + ", ".join(
        f"{history.labels[point.place]} {short(point.row.time_ms)} ms" for point in row.points
    )
    drawn = _drawn(row.points, x, y, radius=3)
    group = tag("g", tag("title", said), *drawn, class_=f"line {TREND_CLASSES[row.trend]}")
    return tag("a", group, href=f"#h{row.number}", aria_label=said)


def _drawn(points: Sequence[HistoryPoint], x: Scale, y: Scale, radius: float) -> list[Markup]:
    def at(value: float) -> float:
        return y(min(max(value, y.domain[0]), y.domain[1]))

    limits = "".join(
        f"M{x(point.place):g} {at(point.low):g}V{at(point.high):g}"
        for point in points
        if point.high > point.low
    )
    marks = [tag("circle", cx=x(point.place), cy=at(point.ratio), r=radius) for point in points]
    return [
        polyline([(x(point.place), at(point.ratio)) for point in points], "trace"),
        *([tag("path", d=limits, class_="limits")] if limits else []),
        *marks,
    ]


def sparkline(row: HistoryRow, places: int) -> Markup:
    """Draw the line of one problem, small, on an axis of its own."""
    low = min(0.98, *(point.low for point in row.points))
    high = max(1.05, *(point.high for point in row.points))
    x = Scale(domain=(0, max(1, places - 1)), range=(6, _WIDTH - 6))
    y = Scale(domain=(low, min(high, _MOST)), range=(_HEIGHT - 4, 4))
    tie = y(1 + TIE)
    return tag(
        "svg",
        tag("line", x1=0, x2=_WIDTH, y1=tie, y2=tie, class_="tie"),
        tag("g", *_drawn(row.points, x, y, radius=2.2), class_=f"line {TREND_CLASSES[row.trend]}"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        class_="spark",
        aria_hidden="true",
    )
