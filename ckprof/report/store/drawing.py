"""Charts of the report on their own: files, and cells of notebooks."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from ckprof.files import write_output

if TYPE_CHECKING:
    from ckprof.report.store.svg import ChartText

#: the families that systems have; a renderer knows no generic ones
FONTS: Final = '"DejaVu Sans", "Liberation Sans", "Noto Sans", Roboto, Arial, Helvetica, sans-serif'


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart: notebooks show it, ``svg`` is its text, :meth:`save` writes it."""

    #: a whole file
    svg: str
    #: what it shows, in words
    description: str

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


def standalone(drawn: Markup, text: ChartText) -> Drawing:
    """Return a chart of the page as a file of its own, in the colours of the light theme."""
    opened, _, rest = str(drawn).partition(">")
    opened = opened.replace("<svg", "<svg xmlns='http://www.w3.org/2000/svg'", 1)
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return Drawing(svg=f"{opened}><style>{chart_style()}</style>{ground}{rest}", description=text.description)


@lru_cache(maxsize=1)
def chart_style() -> str:
    """Return the rules of the page's charts with the colours of the light theme."""
    folder = files("ckprof.report.store") / "templates"
    colours = (folder / "style.css").read_text(encoding="utf-8").partition("}")[0]
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", colours))
    rules = (folder / "chart.css").read_text(encoding="utf-8")
    # a renderer has no pointer, and no text but that of charts
    rules = re.sub(r"(?m)^.*:(?:hover|focus).*$", "", rules).replace("svg text", "text")
    filled = re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], rules)
    return re.sub(r"font: (\w+) [^;]*;", rf"font-size: \1; font-family: {FONTS};", filled)
