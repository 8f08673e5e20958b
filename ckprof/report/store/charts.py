"""The drawings of the report that need no script: roofline, coverage, heat map."""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ckprof.model.outcome import Status
from ckprof.report.figures import display_name
from ckprof.report.store.svg import ChartText, Frame, Scale, axes, chart, polyline, short, tag
from ckprof.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from ckprof.model.roof import Roof
    from ckprof.report.store.best import BestRow
    from ckprof.report.store.coverage import Coverage
    from ckprof.report.store.heat import Cell, HeatMap

#: lower limits in percent of the bands that the heat map is drawn in
BANDS: Final = (0, 25, 40, 50, 60, 70, 80, 90, 95, 98, 100)

#: CSS classes of cells without a time; every other status is drawn as a failure
_STATUS_CLASSES: Final = {Status.UNSUPPORTED: "unsupported", Status.WRONG_RESULT: "wrong"}


def roofline_chart(rows: Sequence[BestRow]) -> Markup | None:
    """Draw speed over arithmetic intensity, a point per problem's best; ``None`` without any point."""
    points = [(row, row.intensity) for row in rows if row.intensity is not None]
    placed = [(row, intensity) for row, intensity in points if intensity]
    if not placed:
        return None
    roofs = list(dict.fromkeys(roof for row, _ in placed for roof in row.roofs))
    names = _roof_names(roofs)
    frame = Frame(width=1140, height=420)
    intensities = [intensity for _, intensity in placed]
    speeds = [row.gflops for row, _ in placed]
    ridges = [
        roof.gflops / roof.gbytes_per_s for roof in roofs if 0 < roof.gflops / roof.gbytes_per_s < math.inf
    ]
    x = Scale(domain=(min(intensities) / 2, max([*intensities, *ridges]) * 2), range=frame.x_range, log=True)
    heights = [roof.at(x.domain[1]) for roof in roofs]
    y = Scale(domain=(min(speeds) / 2, max([*speeds, *heights]) * 1.6), range=frame.y_range, log=True)
    parts = axes(frame, x, y, ("floating-point operations per byte", "GFLOP/s"))
    for roof, name in zip(roofs, names, strict=True):
        parts += _roof(roof, name, x, y)
    for row, intensity in placed:
        name = f"P{row.number}: {row.gflops:.4g} GFLOP/s at {intensity:.3g} FLOP/B, {display_name(row.best)}"
        point = tag("circle", tag("title", name), cx=x(intensity), cy=y(row.gflops), r=4.5, class_="point")
        parts.append(tag("a", point, href=f"#p{row.number}", aria_label=name))
    summary = (
        f"{len(placed)} problems between {min(intensities):.3g} and {max(intensities):.3g} operations per "
        f"byte, their best kernels between {min(speeds):.4g} and {max(speeds):.4g} GFLOP/s. "
        + " ".join(_described(roof, name) for roof, name in zip(roofs, names, strict=True))
        + " The table of best kernels has the same figures."
    )
    text = ChartText(id="roofline", name="Roofline", description=summary, role="group")
    return chart(frame, parts, text)


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
    frame = Frame(width=1140, height=300, right=120)
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
        parts.append(tag("text", label, x=frame.width - 112, y=at, class_=f"series-label s{number}"))
        texts.append(f"{curve.text} within {percent(curve.tolerance, None)} of the best.")
    return chart(frame, parts, ChartText(id="coverage", name="Coverage", description=" ".join(texts)))


def heat_chart(heat: HeatMap) -> Markup:
    """Draw the heat map: a path per colour, so that 30,000 cells stay small."""
    columns, rows = len(heat.instances), len(heat.problems)
    width = min(36.0, max(2.5, 1060 / max(1, columns)))
    height = min(20.0, max(5.0, 700 / max(1, rows)))
    frame = Frame(
        width=round(columns * width) + 48,
        height=round(rows * height) + 40,
        left=40,
        right=8,
        top=4,
        bottom=36,
    )
    paths: dict[str, list[str]] = {}
    for row, cells in enumerate(heat.cells):
        for name, start, length in _runs(cells):
            paths.setdefault(name, []).append(f"M{start} {row}h{length}v1h-{length}z")
    drawn = [tag("path", d="".join(parts), class_=name) for name, parts in sorted(paths.items())]
    line = tag("path", d="M0 .25L.25 0", class_="hatch", stroke_width=0.07)
    hatch = tag("pattern", line, id="hatch", width=0.25, height=0.25, patternUnits="userSpaceOnUse")
    cursor = tag("rect", x=0, y=0, width=1, height=1, class_="cursor", vector_effect="non-scaling-stroke")
    scaled = f"translate({frame.left} {frame.top}) scale({width:g} {height:g})"
    parts = [tag("g", hatch, *drawn, cursor, transform=scaled, id="heat-cells")]
    every = max(1, math.ceil(14 / height))
    for row in range(0, rows, every):
        at = frame.top + (row + 0.5) * height + 4
        parts.append(tag("text", f"P{row + 1}", x=34, y=round(at, 1), class_="tick", text_anchor="end"))
    step = max(1, math.ceil(30 / width))
    for column in range(0, columns, step):
        at = frame.left + (column + 0.5) * width
        label = tag(
            "text", f"I{column + 1}", x=round(at, 1), y=frame.height - 20, class_="tick", text_anchor="middle"
        )
        parts.append(label)
    name = "instances, the best on average first"
    parts.append(tag("text", name, x=frame.left, y=frame.height - 4, class_="axis"))
    timed = sum(isinstance(cell, int) for row in heat.cells for cell in row)
    description = (
        f"{rows} problems by {columns} instances; {timed} cells have a verified time. Arrow keys move over "
        "the cells; the table of instances sums the columns up."
    )
    title = "Share of each problem's best speed"
    return chart(frame, parts, ChartText(id="heat", name=title, description=description, role="application"))


def _runs(cells: Sequence[Cell]) -> Iterator[tuple[str, int, int]]:
    """Yield (CSS class, first column, columns) of neighbours that are drawn alike."""
    start = 0
    for name, group in groupby(cells, key=_class):
        length = len(list(group))
        if name:
            yield name, start, length
        start += length


def _class(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Status):
        return status_class(cell)
    return f"q{max(index for index, least in enumerate(BANDS) if cell >= least)}"


def status_class(status: Status) -> str:
    """Return the CSS class of a cell without a time."""
    return _STATUS_CLASSES.get(status, "failed")
