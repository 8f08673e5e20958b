"""The raw samples of the leading kernels, as boxes: quartiles, whiskers, and what lies beyond."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.noise import quantile
from ckprof.report.figures import display_name
from ckprof.report.short_names import ShortNames
from ckprof_plugins.pages.svg import (
    CHART_WIDTH,
    Frame,
    Scale,
    chart,
    short,
    tag,
    x_axis,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from ckprof.compare.side import ProblemKey, Side
    from ckprof.store.attempt import Attempt


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
_NAME: Final = 48
_PER_CHARACTER: Final = 7.2


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
