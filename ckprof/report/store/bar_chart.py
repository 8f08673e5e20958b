"""Bars beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.report.store.svg import CHART_WIDTH, ChartText, Frame, Scale, chart, cut_middle, short, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

#: pixels of a bar with what is around it
_BAR: Final = 22
#: characters of a name, and pixels that one takes
_NAME: Final = 48
_PER_CHARACTER: Final = 7.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A time in milliseconds."""

    name: str
    time_ms: float
    #: what stands behind the time
    note: str = ""
    #: half the distance of the quartiles; 0 where there is none
    spread_ms: float = 0.0
    #: drawn as the one that the others are compared with
    best: bool = False


def bar_chart(bars: Sequence[Bar], text: ChartText) -> Markup | None:
    """Draw times as bars from zero, with their spread; ``None`` without any bar."""
    if not bars:
        return None
    names = [cut_middle(bar.name, _NAME) for bar in bars]
    figures = [f"{short(bar.time_ms)} ms" + (f", {bar.note}" if bar.note else "") for bar in bars]
    left, right = (16 + round(_PER_CHARACTER * max(map(len, texts))) for texts in (names, figures))
    frame = Frame(width=CHART_WIDTH, height=_BAR * len(bars) + 12, left=left, right=right, top=4, bottom=8)
    most = max(bar.time_ms + bar.spread_ms for bar in bars)
    x = Scale(domain=(0, most or 1.0), range=frame.x_range)
    parts: list[Markup] = []
    for number, (bar, name, figure) in enumerate(zip(bars, names, figures, strict=True)):
        top = frame.top + _BAR * number
        middle = top + _BAR / 2
        parts.append(
            tag(
                "text",
                tag("title", bar.name) if name != bar.name else "",
                name,
                x=left - 8,
                y=middle + 4,
                class_="bar-name",
                text_anchor="end",
            )
        )
        parts.append(
            tag(
                "rect",
                tag("title", f"{bar.name}: {figure}"),
                x=left,
                y=top + 3,
                width=max(1.0, round(x(bar.time_ms) - left, 1)),
                height=_BAR - 6,
                class_="bar best" if bar.best else "bar",
            )
        )
        if bar.spread_ms:
            low, high = x(max(0.0, bar.time_ms - bar.spread_ms)), x(bar.time_ms + bar.spread_ms)
            ends = f"M{low} {middle - 4}v8M{low} {middle}H{high}M{high} {middle - 4}v8"
            parts.append(tag("path", d=ends, class_="whisker"))
        behind = x(bar.time_ms + bar.spread_ms) + 8
        parts.append(tag("text", figure, x=behind, y=middle + 4, class_="bar-figure"))
    return chart(frame, parts, text)
