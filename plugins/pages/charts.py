"""Roofline, coverage, bars of times, and boxes of raw samples: quartiles, whiskers, and what lies beyond."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.formatting import percent
from ckprof.model.noise import quantile
from ckprof.report.figures import display_name
from ckprof.report.short_names import ShortNames
from ckprof_plugins.pages.svg import (
    CHART_WIDTH,
    Frame,
    Scale,
    chart,
    polyline,
    short,
    tag,
    text_at,
    x_axis,
    y_axis,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from ckprof.compare.side import ProblemKey, Side
    from ckprof.model.roofline import Ceiling
    from ckprof.store.attempt import Attempt
    from ckprof_plugins.pages.content import BestRow, Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel on a problem."""

    #: what the point is called, without its figures
    name: str
    gflops: float
    #: floating-point operations per byte
    intensity: float
    #: of its device and type
    ceilings: tuple[Ceiling, ...] = ()
    #: where it leads to; empty for nowhere
    target: str = ""


def best_points(rows: Sequence[BestRow]) -> list[RooflinePoint]:
    """Return a point for each best kernel whose bytes can be counted."""
    return [
        RooflinePoint(
            name=f"P{row.number}: {display_name(row.best)}",
            gflops=row.gflops,
            intensity=row.intensity,
            ceilings=row.ceilings,
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
    ceilings = list(dict.fromkeys(ceiling for point in points for ceiling in point.ceilings))
    names = _ceiling_names(ceilings)
    frame = Frame(width=CHART_WIDTH, height=400)
    intensities = [point.intensity for point in points]
    speeds = [point.gflops for point in points]
    ridges = [
        ceiling.gflops / ceiling.gbytes_per_s
        for ceiling in ceilings
        if 0 < ceiling.gflops / ceiling.gbytes_per_s < math.inf
    ]
    x = Scale(domain=(min(intensities) / 2, max([*intensities, *ridges]) * 2), range=frame.x_range, log=True)
    heights = [ceiling.at(x.domain[1]) for ceiling in ceilings]
    y = Scale(domain=(min(speeds) / 2, max([*speeds, *heights]) * 1.6), range=frame.y_range, log=True)
    parts = [*x_axis(frame, x, "floating-point operations per byte"), *y_axis(frame, y, "GFLOP/s")]
    for ceiling, name in zip(ceilings, names, strict=True):
        parts += _ceiling(ceiling, name, x, y)
    for point in points:
        said = f"{point.name}, {point.gflops:.4g} GFLOP/s at {point.intensity:.3g} FLOP/B"
        place = {"cx": x(point.intensity), "cy": y(point.gflops)}
        drawn = tag("circle", tag("title", said), **place, r=4.5, class_="point")
        parts.append(tag("a", drawn, href=point.target, aria_label=said) if point.target else drawn)
    summary = (
        f"{len(points)} points between {min(intensities):.3g} and {max(intensities):.3g} operations per "
        f"byte, between {min(speeds):.4g} and {max(speeds):.4g} GFLOP/s. "
        + " ".join(
            [*(_described(ceiling, name) for ceiling, name in zip(ceilings, names, strict=True)), figures]
        )
    )
    return chart(frame, parts, "roofline", "Roofline", summary.strip(), role="group")


def _ceiling_names(ceilings: Sequence[Ceiling]) -> list[str]:
    """Return what the ceilings are called, with the element type where one kind has several."""
    kinds = Counter(ceiling.kind for ceiling in ceilings)
    return [
        f"{ceiling.kind.value} ceiling"
        + (f" {ceiling.dtype.value}" if ceiling.dtype and kinds[ceiling.kind] > 1 else "")
        for ceiling in ceilings
    ]


def _ceiling(ceiling: Ceiling, name: str, x: Scale, y: Scale) -> list[Markup]:
    low, high = x.domain
    ridge = ceiling.gflops / ceiling.gbytes_per_s
    # where the slope enters the plot, so that no line leaves it
    entry = max(low, y.domain[0] / ceiling.gbytes_per_s) if ceiling.gbytes_per_s < math.inf else low
    stops = sorted({entry, min(max(ridge, entry), high), high})
    return [
        polyline(
            [(x(intensity), y(ceiling.at(intensity))) for intensity in stops], f"ceiling {ceiling.kind.value}"
        ),
        text_at(x(high) - 4, y(ceiling.at(high)) - 6, name, f"ceiling-label {ceiling.kind.value}", "end"),
    ]


def _described(ceiling: Ceiling, name: str) -> str:
    parts = [
        f"{short(value)} {unit}"
        for value, unit in ((ceiling.gflops, "GFLOP/s"), (ceiling.gbytes_per_s, "GB/s"))
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
    parts = [*x_axis(frame, x, "kernels in the library"), *y_axis(frame, y, "problems served, %")]
    texts = []
    for number, curve in enumerate(curves):
        shares = [0.0, *(100 * covered / curve.problems for covered in curve.steps.values())]
        corners = [(x(0), y(0))]
        for count, share in enumerate(shares[1:], start=1):
            corners += [(x(count), corners[-1][1]), (x(count), y(share))]
        parts.append(polyline([*corners, (x(x.domain[1]), corners[-1][1])], f"series s{number}"))
        # a library of one kernel is a point, not a line
        parts += [
            tag("circle", cx=x(count), cy=y(share), r=3.5, class_=f"mark s{number}")
            for count, share in enumerate(shares[1:], start=1)
        ]
        label = f"within {percent(curve.tolerance, None)}: {len(curve.steps)}"
        at = frame.top + 14 + 18 * number
        parts.append(text_at(frame.width - 122, at, label, f"series-label s{number}"))
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
        whole = bar.name if shown != bar.name else ""
        parts.append(text_at(left - 8, middle + 4, shown, "bar-name", "end", whole=whole))
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
        parts.append(text_at(behind, middle + 4, figure, "bar-figure"))
    return chart(frame, parts, id_, name, description)


#: whiskers reach to the farthest sample within this many distances of the quartiles (Tukey)
_REACH: Final = 1.5
#: samples beyond the whiskers that are drawn, the farthest ones
_MOST_BEYOND: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The samples of one kernel on one problem, in milliseconds."""

    name: str
    samples: int
    low: float
    first_quartile: float
    median: float
    third_quartile: float
    high: float
    #: samples beyond the whiskers, at most some of them
    beyond: tuple[float, ...] = ()
    #: how many there are
    beyond_count: int = 0


def box_of(name: str, samples_ms: Sequence[float]) -> Box:
    """Return the box of some samples, at least one."""
    ordered = sorted(samples_ms)
    first, third = quantile(ordered, 0.25), quantile(ordered, 0.75)
    reach = _REACH * (third - first)
    within = [sample for sample in ordered if first - reach <= sample <= third + reach]
    beyond = [sample for sample in ordered if not first - reach <= sample <= third + reach]
    middle = quantile(ordered, 0.5)
    farthest = sorted(beyond, key=lambda sample: -abs(sample - middle))[:_MOST_BEYOND]
    return Box(
        name=name,
        samples=len(ordered),
        low=within[0],
        first_quartile=first,
        median=middle,
        third_quartile=third,
        high=within[-1],
        beyond=tuple(sorted(farthest)),
        beyond_count=len(beyond),
    )


def boxes(side: Side, attempts: Iterable[Attempt], kernels: int) -> dict[ProblemKey, tuple[Box, ...]]:
    """Return the boxes of the fastest kernels of each problem, of rounds that count.

    :param attempts: those of the side, with their samples.
    :param kernels: how many of the fastest.
    """
    wanted = {
        row.measurement.digest: row
        for rows in side.by_problem.values()
        for row in rows[:kernels]
        if row.time is not None
    }
    counted = {digest: {one.place for one in row.rounds} for digest, row in wanted.items()}
    samples: dict[bytes, list[float]] = defaultdict(list)
    for attempt in attempts:
        digest, taken, when = attempt.key.digest, attempt.measurement, attempt.round_time
        if digest in wanted and taken is not None and when is not None and when.place in counted[digest]:
            samples[digest] += taken.samples_ms
    found: dict[ProblemKey, list[Box]] = defaultdict(list)
    for digest, row in wanted.items():
        if samples[digest]:
            found[row.key.problem].append(box_of(display_name(row), samples[digest]))
    return {key: tuple(of_problem) for key, of_problem in found.items()}


#: pixels of a box with what is around it
_LINE: Final = 34


def box_chart(boxes: Sequence[Box], id_: str, name: str, description: str) -> Markup | None:
    """Draw a box per kernel over one axis of times; ``None`` without any box."""
    if not boxes:
        return None
    common = ShortNames(box.name for box in boxes)
    names = [common.short(box.name, _NAME) for box in boxes]
    left = 16 + round(_PER_CHARACTER * max(map(len, names)))
    frame = Frame(width=CHART_WIDTH, height=_LINE * len(boxes) + 52, left=left, right=20, top=6, bottom=46)
    every = [value for box in boxes for value in (box.low, box.high, *box.beyond)]
    low, high = min(every), max(every)
    margin = max(0.04 * (high - low), 0.005 * high)
    x = Scale(domain=(low - margin, high + margin), range=frame.x_range)
    parts = x_axis(frame, x, "ms")
    for number, (box, shown) in enumerate(zip(boxes, names, strict=True)):
        parts += _box(box, shown, frame.top + _LINE * (number + 0.5), left, x)
    return chart(frame, parts, id_, name, description)


def _box(box: Box, name: str, at: float, left: int, x: Scale) -> list[Markup]:
    said = (
        f"{box.samples} samples, median {short(box.median)} ms, quartiles "
        f"{short(box.first_quartile)} and {short(box.third_quartile)}, whiskers {short(box.low)} to "
        f"{short(box.high)}, {box.beyond_count} beyond"
    )
    whole = box.name if name != box.name else ""
    first, third, median = x(box.first_quartile), x(box.third_quartile), x(box.median)
    low, high = x(box.low), x(box.high)
    whiskers = f"M{low} {at - 5}v10M{low} {at}H{first}M{third} {at}H{high}M{high} {at - 5}v10"
    # lines of no length with round ends: a circle each would take most of the page
    dots = f"M{'M'.join(f'{x(value)} {at}h0' for value in box.beyond)}"
    beyond = [tag("path", d=dots, class_="beyond")] if box.beyond else []
    width = max(1.0, round(third - first, 1))
    return [
        text_at(left - 8, at + 4, name, "bar-name", "end", whole=whole),
        tag("path", d=whiskers, class_="whisker"),
        tag("rect", tag("title", said), x=first, y=at - 9, width=width, height=18, class_="box"),
        tag("path", d=f"M{median} {at - 9}v18", class_="median"),
        *beyond,
    ]
