"""The profile of a kernel as one HTML page without any reference to something outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.formatting import counted, percent
from ckprof_plugins.pages.page import page_template, script_data
from ckprof_plugins.pages.profile import (
    PREDICTED,
    busy_table,
    css_classes,
    instruction_table,
    parts_table,
    shares_table,
    time_shares,
)
from ckprof_plugins.pages.svg import CHART_WIDTH, Frame, Scale, chart, tag, text_at, x_axis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof_plugins.emulator.kernel_profile import KernelProfile, Span, SpanKind
    from ckprof_plugins.pages.profile import ProfileContent


#: pixels of a lane, of the bars of what its wave does and of its loads and stores, and of a wait, a lower one
_LANE: Final = 26
_LANE_BAR: Final = 14
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


def lanes(profile: KernelProfile) -> list[tuple[str, str, Sequence[Span]]]:
    """Return the waves, then the units that work meanwhile: name, what stands behind it, and spans."""
    watched = profile.timeline
    found: list[tuple[str, str, Sequence[Span]]] = []
    for index, (group, wave) in enumerate(watched.waves):
        own = [span for span in watched.spans if span.wave == index and span.kind != "work"]
        issued = _covered([span for span in own if span.kind == "issue"], watched.cycles)
        found.append((f"workgroup {group}, wave {wave}", f"{percent(issued)} issuing", own))
    for unit, name in profile.units.items():
        works = [span for span in watched.spans if span.kind == "work" and span.what == unit]
        if works:
            found.append((name, f"{percent(_covered(works, watched.cycles))} busy", works))
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
    for number, (lane, note, spans) in enumerate(rows):
        y = frame.top + _LANE * number
        parts.append(text_at(frame.left - 8, y + 14, f"{lane}: {note}", "tick", "end"))
        paths: dict[str, list[str]] = {}
        for span in spans:
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
        + "; ".join(f"{lane} {note}" for lane, note, _ in rows)
        + ". The tables below have the same figures."
    )
    return chart(frame, [*parts, cursor], "timeline", "Timeline", said)


def _shape(span: Span, classes: Any) -> tuple[str, int, int]:
    """Return the class, the offset within the lane and the height of a span."""
    if span.kind == "wait":
        return classes.get((True, span.what), ""), 2 + (_LANE_BAR - _WAIT) // 2, _WAIT
    if span.kind == "flight":
        return _IN_FLIGHT, 2 + _LANE_BAR + 2, _FLIGHT
    return classes.get((False, span.what), ""), 2, _LANE_BAR


def timeline_data(profile: KernelProfile) -> dict[str, Any]:
    """Return what the script needs to name what the pointer is at."""
    texts = {one.address: f"{one.address:#x} {one.text}" for one in profile.instructions}
    names = [*texts]
    index = {address: number for number, address in enumerate(names)}
    kinds: dict[SpanKind, str] = {"wait": "waits for", "issue": "issues", "work": "works on"}
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
                "name": lane,
                "spans": [
                    [
                        round(span.begin, 1),
                        round(span.end, 1),
                        kinds[span.kind],
                        profile.waits.get(span.what, "") if span.kind == "wait" else "",
                        index.get(span.address, -1),
                    ]
                    for span in spans
                    if span.kind in kinds
                ],
            }
            for lane, _, spans in lanes(profile)
        ],
    }


#: pixels of a stacked bar with what is around it
_BAR: Final = 34


def render_profile(content: ProfileContent) -> str:
    """Render the page."""
    profile = content.profile
    loop = profile.loop
    rest = [one for one in profile.instructions if not one.in_loop]
    return page_template("profile").render(
        content=content,
        predicted=PREDICTED,
        facts=[(name, text.split(" ")) for name, text in content.facts],
        time=f"{content.time.time_us:.2f}",
        uncertain=f"{content.time.extrapolation_us:.2f}" if content.time.extrapolation_us else "",
        ceiling=percent(content.time.ceiling_share),
        shares=_shares_chart(profile),
        legend=_legend(profile),
        timeline=timeline_chart(profile),
        tables={
            "parts": parts_table(content.time),
            "shares": shares_table(profile),
            "busy": busy_table(content.time, profile),
            "loop": instruction_table(profile, loop, "loop-table") if loop else None,
            "rest": instruction_table(profile, rest, "rest-table") if rest else None,
        },
        data=script_data(timeline_data(profile)),
    )


def _legend(profile: KernelProfile) -> Iterator[tuple[str, str]]:
    """Yield (class, name) of the colours that the page uses."""
    classes = css_classes(profile)
    for share in time_shares(profile):
        name = f"waits for {share.name}" if share.waiting else share.name
        yield classes[share.waiting, share.id], name
    yield _IN_FLIGHT, "loads and stores on their way"


def _shares_chart(profile: KernelProfile) -> Markup:
    """Draw what waves spend their time on as stacked bars, of the loop and of all."""
    shares, classes = time_shares(profile), css_classes(profile)
    bars = [("all of the kernel", [share.whole for share in shares])]
    if any(share.loop is not None for share in shares):
        bars.insert(0, ("the loop", [share.loop or 0.0 for share in shares]))
    frame = Frame(width=CHART_WIDTH, height=_BAR * len(bars) + 8, left=150, right=16, top=4, bottom=4)
    x = Scale(domain=(0, 1), range=frame.x_range)
    parts: list[Markup] = []
    said = []
    for number, (name, values) in enumerate(bars):
        y = frame.top + _BAR * number
        parts.append(text_at(frame.left - 8, y + 19, name, "bar-name", "end"))
        at, texts = 0.0, []
        for share, value in zip(shares, values, strict=True):
            what = f"{'waiting for' if share.waiting else 'issuing to'} {share.name}"
            text, begin, end = f"{percent(value)} {what}", x(at), x(at + value)
            width, class_ = max(0.0, round(end - begin - 1, 1)), classes[share.waiting, share.id]
            title, height = tag("title", text), _BAR - 10
            parts.append(tag("rect", title, x=begin, y=y + 4, width=width, height=height, class_=class_))
            if end - begin >= 44:
                class_ = f"on {'wait' if share.waiting else 'unit'}"
                parts.append(text_at(begin + 6, y + 20, percent(value), class_))
            if value:
                texts.append(text)
            at += value
        said.append(f"{name}: {', '.join(texts)}")
    return chart(frame, parts, "shares", "What waves do", "; ".join(said))
