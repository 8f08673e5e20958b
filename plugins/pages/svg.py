"""Parts of hand-written SVG charts."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from ckprof.files import write_output
from ckprof.report.escape import html_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: pixels of all charts: of a small window most, of a large one enough
CHART_WIDTH: Final = 960


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The outer size of a chart and the margins around its plot, in pixels."""

    width: int
    height: int
    left: int = 64
    right: int = 16
    top: int = 12
    bottom: int = 44

    @property
    def x_range(self) -> tuple[float, float]:
        """Left and right end of the plot."""
        return self.left, self.width - self.right

    @property
    def y_range(self) -> tuple[float, float]:
        """Lower and upper end of the plot."""
        return self.height - self.bottom, self.top


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A map from values to pixels."""

    domain: tuple[float, float]
    range: tuple[float, float]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, to a tenth."""
        low, high, value = (math.log10(x) if self.log else x for x in (*self.domain, value))
        share = (value - low) / (high - low)
        return round(self.range[0] + share * (self.range[1] - self.range[0]), 1)

    def ticks(self) -> list[float]:
        """Return round values within the domain: decades or nice steps."""
        low, high = self.domain
        if self.log:
            decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            steps = (1,) if len(decades) > 4 else (1, 2, 5)
            return [
                step * 10.0**power for power in decades for step in steps if low <= step * 10.0**power <= high
            ]
        rough = (high - low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
        return [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; ``class_`` and ``aria_label`` become ``class`` and ``aria-label``."""
    texts = [
        f' {key.rstrip("_").replace("_", "-")}="{html_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    inner = Markup("").join(map(html_text, children))
    text = f"<{name}{''.join(texts)}>{inner}</{name}>" if children else f"<{name}{''.join(texts)}/>"
    return Markup(text)  # noqa: S704 - every value is escaped above, names are our own


def x_axis(frame: Frame, x: Scale, name: str) -> list[Markup]:
    """Return upright grid lines with numbers, and the name of the axis."""
    bottom, top = frame.y_range
    parts: list[Markup] = []
    for value in x.ticks():
        at = x(value)
        parts.append(tag("line", x1=at, x2=at, y1=bottom, y2=top, class_="grid"))
        parts.append(text_at(at, bottom + 16, short(value), "tick", "middle"))
    return [*parts, x_name(frame, name)]


def x_name(frame: Frame, name: str) -> Markup:
    """Return the name of the lower axis."""
    return text_at(sum(frame.x_range) / 2, frame.height - 8, name, "axis", "middle")


def y_axis(frame: Frame, y: Scale, name: str, unit: str = "") -> list[Markup]:
    """Return level grid lines with numbers, and the name of the axis."""
    left, right = frame.x_range
    parts: list[Markup] = []
    for value in y.ticks():
        at = y(value)
        parts.append(tag("line", x1=left, x2=right, y1=at, y2=at, class_="grid"))
        parts.append(text_at(left - 8, at + 4, f"{short(value)}{unit}", "tick", "end"))
    height = sum(frame.y_range) / 2
    return [*parts, text_at(14, height, name, "axis", "middle", transform=f"rotate(-90 14 {height})")]


def text_at(
    x: float | str,
    y: float,
    text: str,
    class_: str,
    anchor: str | None = None,
    *,
    whole: str = "",
    transform: str | None = None,
) -> Markup:
    """Return a text.

    :param whole: what it is short for, shown when the pointer rests on it.
    """
    title = tag("title", whole) if whole else ""
    return tag("text", title, text, x=x, y=y, class_=class_, text_anchor=anchor, transform=transform)


def polyline(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """Return a line through pixels."""
    return tag("polyline", points=" ".join(f"{x:g},{y:g}" for x, y in points), class_=class_)


def chart(
    frame: Frame, parts: Sequence[Markup], id_: str, name: str, description: str, *, role: str = "img"
) -> Markup:
    """Return the whole drawing with its text alternative.

    :param id_: its id in the page.
    :param description: what the chart shows, in words.
    :param role: ``img``; ``group`` where it has links, ``application`` where it takes keys.
    """
    return tag(
        "svg",
        tag("title", name, id=f"{id_}-title"),
        tag("desc", description, id=f"{id_}-desc"),
        *parts,
        viewBox=f"0 0 {frame.width} {frame.height}",
        width=frame.width,
        height=frame.height,
        role=role,
        id=id_,
        tabindex=0 if role == "application" else None,
        aria_labelledby=f"{id_}-title",
        aria_describedby=f"{id_}-desc",
    )


def short(value: float) -> str:
    """Return a number with at most four significant digits, e.g. ``12k`` or ``0.25``."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.4g}{unit}"
    return f"{value:.4g}"


#: the families that systems have; a renderer knows no generic ones
FONTS: Final = '"DejaVu Sans", "Liberation Sans", "Noto Sans", Roboto, Arial, Helvetica, sans-serif'


class StandaloneChart:
    """A chart: notebooks show it, ``svg`` is its text, :meth:`save` writes it.

    :param drawn: a chart of the page, which becomes a file of its own, in the colours of the light theme.
    :param description: what it shows, in words.
    """

    def __init__(self, drawn: Markup, description: str) -> None:
        opened, _, rest = str(drawn).partition(">")
        opened = opened.replace("<svg", "<svg xmlns='http://www.w3.org/2000/svg'", 1)
        ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
        self.svg, self.description = f"{opened}><style>{chart_style()}</style>{ground}{rest}", description

    def save(self, path: Path | str) -> None:
        """Write it as an SVG file.

        :raises InputError: the file cannot be written.
        """
        write_output(Path(path), self.svg)

    def __repr__(self) -> str:
        return f"<Drawing: {self.description}>"

    def _repr_html_(self) -> str:
        """Return it as an image: its rules shall not be those of the page around it."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.description)}" src="data:image/svg+xml;base64,{data}">'


@lru_cache(maxsize=1)
def chart_style() -> str:
    """Return the rules of the page's charts with the colours of the light theme."""
    folder = files("ckprof_plugins.pages") / "templates"
    colours = (folder / "style.css").read_text(encoding="utf-8").partition("}")[0]
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", colours))
    rules = (folder / "chart.css").read_text(encoding="utf-8")
    # a renderer has no pointer, and no text but that of charts
    rules = re.sub(r"(?m)^.*:(?:hover|focus).*$", "", rules).replace("svg text", "text")
    filled = re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], rules)
    return re.sub(r"font: (\w+) [^;]*;", rf"font-size: \1; font-family: {FONTS};", filled)
