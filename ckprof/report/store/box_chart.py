"""Box plots of raw samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.report.store.svg import (
    CHART_WIDTH,
    ChartText,
    Frame,
    Scale,
    chart,
    cut_middle,
    short,
    tag,
    x_axis,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from ckprof.report.store.boxes import Box

#: pixels of a box with what is around it
_LINE: Final = 34
_NAME: Final = 48
_PER_CHARACTER: Final = 7.2


def box_chart(boxes: Sequence[Box], text: ChartText) -> Markup | None:
    """Draw a box per kernel over one axis of times; ``None`` without any box."""
    if not boxes:
        return None
    names = [cut_middle(box.name, _NAME) for box in boxes]
    left = 16 + round(_PER_CHARACTER * max(map(len, names)))
    frame = Frame(width=CHART_WIDTH, height=_LINE * len(boxes) + 52, left=left, right=20, top=6, bottom=46)
    every = [value for box in boxes for value in (box.low, box.high, *box.beyond)]
    low, high = min(every), max(every)
    margin = max(0.04 * (high - low), 0.005 * high)
    x = Scale(domain=(low - margin, high + margin), range=frame.x_range)
    parts = x_axis(frame, x, "ms")
    for number, (box, name) in enumerate(zip(boxes, names, strict=True)):
        parts += _box(box, name, frame.top + _LINE * (number + 0.5), left, x)
    return chart(frame, parts, text)


def _box(box: Box, name: str, at: float, left: int, x: Scale) -> list[Markup]:
    said = (
        f"{box.samples} samples, median {short(box.median)} ms, quartiles "
        f"{short(box.first_quartile)} and {short(box.third_quartile)}, whiskers {short(box.low)} to "
        f"{short(box.high)}, {box.beyond_count} beyond"
    )
    whole = tag("title", box.name) if name != box.name else ""
    first, third, median = x(box.first_quartile), x(box.third_quartile), x(box.median)
    low, high = x(box.low), x(box.high)
    whiskers = f"M{low} {at - 5}v10M{low} {at}H{first}M{third} {at}H{high}M{high} {at - 5}v10"
    # lines of no length with round ends: a circle each would take most of the page
    dots = f"M{'M'.join(f'{x(value)} {at}h0' for value in box.beyond)}"
    beyond = [tag("path", d=dots, class_="beyond")] if box.beyond else []
    width = max(1.0, round(third - first, 1))
    return [
        tag("text", whole, name, x=left - 8, y=at + 4, class_="bar-name", text_anchor="end"),
        tag("path", d=whiskers, class_="whisker"),
        tag("rect", tag("title", said), x=first, y=at - 9, width=width, height=18, class_="box"),
        tag("path", d=f"M{median} {at - 9}v18", class_="median"),
        *beyond,
    ]
