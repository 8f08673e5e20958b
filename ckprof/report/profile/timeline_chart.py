"""One iteration of the loop of a kernel as a picture: what its waves and the units do, cycle by cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.kernel_profile import SpanKind
from ckprof.report.profile.tables import css_classes
from ckprof.report.store.svg import CHART_WIDTH, ChartText, Frame, Scale, chart, tag, x_axis
from ckprof.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from ckprof.model.kernel_profile import KernelProfile, Span

#: pixels of a lane, of the bars of what its wave does and of its loads and stores, and of a wait, a lower one
_LANE: Final = 26
_BAR: Final = 14
_FLIGHT: Final = 4
_WAIT: Final = 8
#: a cycle has about as many pixels; wider charts scroll
_PER_CYCLE: Final = 0.8
_WIDEST: Final = 6000
#: pixels around the lanes: what they are called stands to their left
_LEFT: Final = 236
_RIGHT: Final = 16
_TOP: Final = 6
#: class of the bar of loads and stores that are on their way
_IN_FLIGHT: Final = "flight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A row of the picture."""

    name: str
    #: what stands behind the name
    note: str
    spans: Sequence[Span]


def lanes(profile: KernelProfile) -> list[Lane]:
    """Return the waves, then the units that work meanwhile."""
    watched = profile.timeline
    found = []
    for index, (group, wave) in enumerate(watched.waves):
        own = [span for span in watched.spans if span.wave == index and span.kind is not SpanKind.WORK]
        issued = _covered([span for span in own if span.kind is SpanKind.ISSUE], watched.cycles)
        found.append(
            Lane(name=f"workgroup {group}, wave {wave}", note=f"{percent(issued)} issuing", spans=own)
        )
    for unit, name in profile.units.items():
        works = [span for span in watched.spans if span.kind is SpanKind.WORK and span.what == unit]
        if works:
            note = f"{percent(_covered(works, watched.cycles))} busy"
            found.append(Lane(name=name, note=note, spans=works))
    return found


def _covered(spans: Sequence[Span], cycles: float) -> float:
    return sum(min(span.end, cycles) - max(span.begin, 0.0) for span in spans) / (cycles or 1.0)


def timeline_chart(profile: KernelProfile) -> Markup:
    """Draw the iteration; what is drawn of one kind in a lane is one path."""
    cycles = profile.timeline.cycles
    rows = lanes(profile)
    width = round(min(max(CHART_WIDTH, _LEFT + _RIGHT + cycles * _PER_CYCLE), _WIDEST))
    frame = Frame(width=width, height=_LANE * len(rows) + 46, left=_LEFT, right=_RIGHT, top=_TOP, bottom=40)
    x = Scale(domain=(0, cycles or 1.0), range=frame.x_range)
    classes = css_classes(profile)
    parts = x_axis(frame, x, "cycles")
    for number, lane in enumerate(rows):
        y = frame.top + _LANE * number
        name = f"{lane.name}: {lane.note}"
        parts.append(tag("text", name, x=frame.left - 8, y=y + 14, class_="tick", text_anchor="end"))
        paths: dict[str, list[str]] = {}
        for span in lane.spans:
            name, offset, height = _shape(span, classes)
            begin, end = x(max(span.begin, 0.0)), x(min(span.end, cycles))
            run = f"M{begin:g} {y + offset}h{max(end - begin - 0.3, 0.3):.1f}v{height}H{begin:g}z"
            paths.setdefault(name, []).append(run)
        # what waits is drawn below what is issued
        for name in sorted(paths, reverse=True):
            parts.append(tag("path", d="".join(paths[name]), class_=name))
    bottom, top = frame.y_range
    cursor = tag("line", x1=0, x2=0, y1=bottom, y2=top, class_="cursor")
    what = "iteration of the loop" if profile.iterations else "run of the first wave"
    waves = counted(len(profile.timeline.waves), "wave")
    said = (
        f"{waves} of one SIMD during one {what}, {cycles:,.0f} cycles: "
        + "; ".join(f"{lane.name} {lane.note}" for lane in rows)
        + ". The tables below have the same figures."
    )
    return chart(frame, [*parts, cursor], ChartText(id="timeline", name="Timeline", description=said))


def _shape(span: Span, classes: Any) -> tuple[str, int, int]:
    """Return the class, the offset within the lane and the height of a span."""
    if span.kind is SpanKind.WAIT:
        return classes.get((True, span.what), ""), 2 + (_BAR - _WAIT) // 2, _WAIT
    if span.kind is SpanKind.FLIGHT:
        return _IN_FLIGHT, 2 + _BAR + 2, _FLIGHT
    return classes.get((False, span.what), ""), 2, _BAR


def timeline_data(profile: KernelProfile) -> dict[str, Any]:
    """Return what the script needs to name what the pointer is at."""
    texts = {one.address: f"{one.address:#x} {one.text}" for one in profile.instructions}
    names = [*texts]
    index = {address: number for number, address in enumerate(names)}
    kinds = {SpanKind.WAIT: "waits for", SpanKind.ISSUE: "issues", SpanKind.WORK: "works on"}
    return {
        "cycles": profile.timeline.cycles,
        "left": _LEFT,
        "right": _RIGHT,
        "top": _TOP,
        "lane": _LANE,
        "instructions": [texts[address] for address in names],
        "addresses": [f"{address:x}" for address in names],
        "lanes": [
            {
                "name": lane.name,
                "spans": [
                    [
                        round(span.begin, 1),
                        round(span.end, 1),
                        kinds[span.kind],
                        profile.waits.get(span.what, "") if span.kind is SpanKind.WAIT else "",
                        index.get(span.address, -1),
                    ]
                    for span in lane.spans
                    if span.kind in kinds
                ],
            }
            for lane in lanes(profile)
        ],
    }
