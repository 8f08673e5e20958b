"""Roofline and coverage."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.report.figures import display_name
from ckprof.report.short_names import ShortNames
from ckprof.wording import percent
from ckprof_plugins.pages.svg import (
    CHART_WIDTH,
    Frame,
    Scale,
    axes,
    chart,
    polyline,
    short,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from ckprof.model.roof import Roof
    from ckprof_plugins.pages.best import BestRow, Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel on a problem."""

    #: what the point is called, without its figures
    name: str
    gflops: float
    #: floating-point operations per byte
    intensity: float
    #: of its device and type
    roofs: tuple[Roof, ...] = ()
    #: where it leads to; empty for nowhere
    target: str = ""


def best_points(rows: Sequence[BestRow]) -> list[RooflinePoint]:
    """Return a point for each best kernel whose bytes can be counted."""
    return [
        RooflinePoint(
            name=f"P{row.number}: {display_name(row.best)}",
            gflops=row.gflops,
            intensity=row.intensity,
            roofs=row.roofs,
            target=f"#p{row.number}",
        )
        for row in rows
        if row.intensity
    ]


def roofline_chart(points: Sequence[RooflinePoint], figures: str = "") -> Markup | None:
    """Draw speed over arithmetic intensity; ``None`` without any point.

    :param figures: where the same figures are, a sentence.
    """
    if not points:
        return None
    roofs = list(dict.fromkeys(roof for point in points for roof in point.roofs))
    names = _roof_names(roofs)
    frame = Frame(width=CHART_WIDTH, height=400)
    intensities = [point.intensity for point in points]
    speeds = [point.gflops for point in points]
    ridges = [
        roof.gflops / roof.gbytes_per_s for roof in roofs if 0 < roof.gflops / roof.gbytes_per_s < math.inf
    ]
    x = Scale(domain=(min(intensities) / 2, max([*intensities, *ridges]) * 2), range=frame.x_range, log=True)
    heights = [roof.at(x.domain[1]) for roof in roofs]
    y = Scale(domain=(min(speeds) / 2, max([*speeds, *heights]) * 1.6), range=frame.y_range, log=True)
    parts = axes(frame, x, y, ("floating-point operations per byte", "GFLOP/s"))
    for roof, name in zip(roofs, names, strict=True):
        parts += _roof(roof, name, x, y)
    for point in points:
        said = f"{point.name}, {point.gflops:.4g} GFLOP/s at {point.intensity:.3g} FLOP/B"
        place = {"cx": x(point.intensity), "cy": y(point.gflops)}
        drawn = tag("circle", tag("title", said), **place, r=4.5, class_="point")
        parts.append(tag("a", drawn, href=point.target, aria_label=said) if point.target else drawn)
    summary = (
        f"{len(points)} points between {min(intensities):.3g} and {max(intensities):.3g} operations per "
        f"byte, between {min(speeds):.4g} and {max(speeds):.4g} GFLOP/s. "
        + " ".join([*(_described(roof, name) for roof, name in zip(roofs, names, strict=True)), figures])
    )
    return chart(frame, parts, "roofline", "Roofline", summary.strip(), role="group")


def _roof_names(roofs: Sequence[Roof]) -> list[str]:
    """Return what the roofs are called, with the element type where one kind has several."""
    kinds = Counter(roof.kind for roof in roofs)
    return [
        f"{roof.kind.value} roof" + (f" {roof.dtype.value}" if roof.dtype and kinds[roof.kind] > 1 else "")
        for roof in roofs
    ]


def _roof(roof: Roof, name: str, x: Scale, y: Scale) -> list[Markup]:
    low, high = x.domain
    ridge = roof.gflops / roof.gbytes_per_s
    # where the slope enters the plot, so that no line leaves it
    entry = max(low, y.domain[0] / roof.gbytes_per_s) if roof.gbytes_per_s < math.inf else low
    stops = sorted({entry, min(max(ridge, entry), high), high})
    label = tag(
        "text",
        name,
        x=x(high) - 4,
        y=y(roof.at(high)) - 6,
        class_=f"roof-label {roof.kind.value}",
        text_anchor="end",
    )
    return [
        polyline([(x(intensity), y(roof.at(intensity))) for intensity in stops], f"roof {roof.kind.value}"),
        label,
    ]


def _described(roof: Roof, name: str) -> str:
    parts = [
        f"{short(value)} {unit}"
        for value, unit in ((roof.gflops, "GFLOP/s"), (roof.gbytes_per_s, "GB/s"))
        if value < math.inf
    ]
    return f"The {name} is {' and '.join(parts)}."


def coverage_chart(curves: Sequence[Coverage]) -> Markup | None:
    """Draw how many problems a library of n kernels serves, a curve per tolerance."""
    most = max((len(curve.steps) for curve in curves), default=0)
    if not most:
        return None
    frame = Frame(width=CHART_WIDTH, height=280, right=130)
    x = Scale(domain=(0, max(most, 2)), range=frame.x_range)
    y = Scale(domain=(0, 100), range=frame.y_range)
    parts = axes(frame, x, y, ("kernels in the library", "problems served, %"))
    texts = []
    for number, curve in enumerate(curves):
        shares = [0.0, *(100 * step.covered / curve.problems for step in curve.steps)]
        corners = [(x(0), y(0))]
        for count, share in enumerate(shares[1:], start=1):
            corners += [(x(count), corners[-1][1]), (x(count), y(share))]
        parts.append(polyline([*corners, (x(x.domain[1]), corners[-1][1])], f"series s{number}"))
        label = f"within {percent(curve.tolerance, None)}: {len(curve.steps)}"
        at = frame.top + 14 + 18 * number
        parts.append(tag("text", label, x=frame.width - 122, y=at, class_=f"series-label s{number}"))
        texts.append(f"{curve.text} within {percent(curve.tolerance, None)} of the best.")
    return chart(frame, parts, "coverage", "Coverage", " ".join(texts))


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


def bar_chart(bars: Sequence[Bar], id_: str, name: str, description: str) -> Markup | None:
    """Draw times as bars from zero, with their spread; ``None`` without any bar."""
    if not bars:
        return None
    common = ShortNames(bar.name for bar in bars)
    names = [common.short(bar.name, _NAME) for bar in bars]
    figures = [f"{short(bar.time_ms)} ms" + (f", {bar.note}" if bar.note else "") for bar in bars]
    left, right = (16 + round(_PER_CHARACTER * max(map(len, texts))) for texts in (names, figures))
    frame = Frame(width=CHART_WIDTH, height=_BAR * len(bars) + 12, left=left, right=right, top=4, bottom=8)
    most = max(bar.time_ms + bar.spread_ms for bar in bars)
    x = Scale(domain=(0, most or 1.0), range=frame.x_range)
    parts: list[Markup] = []
    for number, (bar, shown, figure) in enumerate(zip(bars, names, figures, strict=True)):
        top = frame.top + _BAR * number
        middle = top + _BAR / 2
        parts.append(
            tag(
                "text",
                tag("title", bar.name) if shown != bar.name else "",
                shown,
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
    return chart(frame, parts, id_, name, description)
