"""Headings, texts and tables in turn: a report for people, as text for a terminal or as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ckprof.report.escape import markdown_block, markdown_cell, markdown_text
from ckprof.report.layout import wrapped_text
from ckprof.report.table import Table
from ckprof.sanitize import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.report.table import Terminal


@dataclass(frozen=True, slots=True)
class Heading:
    """A title of its own."""

    title: str
    #: of the headings of Markdown
    level: int = 3


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that Markdown must leave as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list, one text an item."""

    texts: tuple[str, ...]


#: of a document; a text may have several lines
Part: TypeAlias = "str | Heading | Block | Items | Table[Any]"


class Document:
    """Parts that stand below each other, a blank line between them."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self.parts = list(parts)

    def add(self, *parts: Part) -> None:
        """Append parts; a text may have several lines, an empty one is left out."""
        self.parts += [part for part in parts if part != ""]

    def text(self, terminal: Terminal | None = None) -> str:
        """Return the document as text, with a line feed at its end.

        :param terminal: what tables are fitted to, and other texts than blocks are wrapped at, between words;
            ``None`` for whole tables without colours.
        """
        return "\n\n".join(_text(part, terminal) for part in self.parts) + "\n"

    def markdown(self) -> str:
        """Return the document as Markdown, with a line feed at its end."""
        return "\n\n".join(map(_markdown, self.parts)) + "\n"


def _text(part: Part, terminal: Terminal | None) -> str:
    if isinstance(part, Table):
        return part.text(terminal)
    if isinstance(part, Block):
        return plain("\n".join(part.lines))
    if isinstance(part, Items):
        text = "\n".join(f"* {one_line(text)}" for text in part.texts)
    else:
        text = plain(part.title if isinstance(part, Heading) else part)
    return text if terminal is None else wrapped_text(text, terminal.width)


def _markdown(part: Part) -> str:
    if isinstance(part, Table):
        return part.markdown()
    if isinstance(part, Heading):
        return f"{'#' * part.level} {markdown_cell(part.title)}"
    if isinstance(part, Items):
        return "\n".join(f"* {markdown_cell(text)}" for text in part.texts)
    return markdown_block(part.lines) if isinstance(part, Block) else markdown_text(part)
