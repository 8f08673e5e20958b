"""The profile of a kernel as one HTML page without any reference to something outside of it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.plain_text import plain
from ckprof.report.escape import html_text
from ckprof.report.profile.content import PREDICTED, TimeShare, time_shares
from ckprof.report.profile.tables import (
    busy_table,
    css_classes,
    instruction_table,
    parts_table,
    shares_table,
)
from ckprof.report.profile.timeline_chart import timeline_chart, timeline_data
from ckprof.report.store.svg import CHART_WIDTH, ChartText, Frame, Scale, chart, tag
from ckprof.report.store.tables import PageTable
from ckprof.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

    from ckprof.model.kernel_profile import KernelProfile
    from ckprof.report.profile.content import ProfileContent
    from ckprof.report.table import Table

#: pixels of a stacked bar with what is around it
_BAR: Final = 34


def render_profile(content: ProfileContent) -> str:
    """Render the page."""
    profile = content.profile
    loop = profile.loop
    rest = [one for one in profile.instructions if not one.in_loop]
    return _template().render(
        content=content,
        predicted=PREDICTED,
        facts=[(name, text.split(" ")) for name, text in content.facts],
        time=f"{content.time.time_us:.2f}",
        uncertain=f"{content.time.extrapolation_us:.2f}" if content.time.extrapolation_us else "",
        roof=percent(content.time.roof_share),
        shares=_shares_chart(profile),
        legend=_legend(profile),
        timeline=timeline_chart(profile),
        tables={
            "parts": _page_table(parts_table(content.time), "parts-table"),
            "shares": _page_table(shares_table(profile), "shares-table"),
            "busy": _page_table(busy_table(content.time, profile), "busy-table"),
            "loop": instruction_table(profile, loop, "loop-table") if loop else None,
            "rest": instruction_table(profile, rest, "rest-table") if rest else None,
        },
        data=_json(timeline_data(profile)),
    )


def _page_table(table: Table[Any], id_: str) -> PageTable[Any]:
    return PageTable(table.columns, table.rows, id=id_)


def _json(data: Mapping[str, Any]) -> Markup:
    text = json.dumps(_plain(data), separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def _plain(value: Any) -> Any:
    """Return a value with texts that nothing acts upon."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _legend(profile: KernelProfile) -> Sequence[tuple[str, str]]:
    """Return (class, name) of the colours that the page uses."""
    classes = css_classes(profile)
    return [
        (
            classes[share.waiting, share.id],
            f"waits for {share.name}" if share.waiting else share.name,
        )
        for share in time_shares(profile)
    ] + [("flight", "loads and stores on their way")]


def _shares_chart(profile: KernelProfile) -> Markup:
    """Draw what waves spend their time on as stacked bars, of the loop and of all."""
    shares, classes = time_shares(profile), css_classes(profile)
    bars = [("all of the kernel", [share.whole for share in shares])]
    if any(share.loop is not None for share in shares):
        bars.insert(0, ("the loop", [share.loop or 0.0 for share in shares]))
    frame = Frame(width=CHART_WIDTH, height=_BAR * len(bars) + 8, left=150, right=16, top=4, bottom=4)
    x = Scale(domain=(0, 1), range=frame.x_range)
    parts: list[Markup] = []
    for number, (name, values) in enumerate(bars):
        y = frame.top + _BAR * number
        parts.append(tag("text", name, x=frame.left - 8, y=y + 19, class_="bar-name", text_anchor="end"))
        at = 0.0
        for share, value in zip(shares, values, strict=True):
            parts += _part(share, value, (x(at), x(at + value)), y, classes)
            at += value
    said = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{percent(value)} {_said(share)}" for share, value in zip(shares, values, strict=True) if value
        )
        for name, values in bars
    )
    return chart(frame, parts, ChartText(id="shares", name="What waves do", description=said))


def _said(share: TimeShare) -> str:
    return f"waiting for {share.name}" if share.waiting else f"issuing to {share.name}"


def _part(
    share: TimeShare,
    value: float,
    ends: tuple[float, float],
    y: float,
    classes: Mapping[tuple[bool, str], str],
) -> list[Markup]:
    begin, end = ends
    class_ = classes[share.waiting, share.id]
    text = f"{percent(value)} {_said(share)}"
    rect = tag(
        "rect",
        tag("title", text),
        x=begin,
        y=y + 4,
        width=max(0.0, round(end - begin - 1, 1)),
        height=_BAR - 10,
        class_=class_,
    )
    if end - begin < 44:
        return [rect]
    label = tag(
        "text", percent(value), x=begin + 6, y=y + 20, class_=f"on {'wait' if share.waiting else 'unit'}"
    )
    return [rect, label]


@lru_cache(maxsize=1)
def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(
        # style and the script of tables are those of reports of stores
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("ckprof.report.profile"), jinja2.PackageLoader("ckprof.report.store")]
        ),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=html_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("profile.html.j2")
