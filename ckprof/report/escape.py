"""One function for each format that makes a value, such as text from a store, text in it and nothing else.

They are applied where a format writes a value, so that nobody who has one needs to think of it.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from ckprof.sanitize import one_line, plain, visible

#: what Markdown acts upon anywhere; ``_`` within words is text in all dialects
_MARKUP: Final = re.compile(r"[\\`*]|(?<![^\W_])_|_(?![^\W_])")
#: what not every dialect takes a backslash before. Without colon, dot and at sign as they are, nothing is an
#: address; without the bracket, nothing is a link, or names the address of one
_ENTITIES: Final = re.compile(r"[&<>|~@$]|\](?=[(\[:])|:(?=//)|(?<=www)\.", re.IGNORECASE)
#: what makes a line a heading, an item, a rule or the underline of a heading
_BLOCK: Final = re.compile(r"^(\s*)(#{1,6}|[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d+(?=[.)](?:\s|$)))", re.MULTILINE)
#: what no document of XML can hold
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def html_text(value: object) -> Markup:
    """Return a value for HTML or SVG, between tags or as an attribute; what is markup already stays."""
    return value if isinstance(value, Markup) else escape(plain(str(value)))


def markdown_text(text: str) -> str:
    """Return a text for Markdown: it has no links, images, tags, emphasis or blocks. Its lines stay."""
    # blanks at the end of a line break it
    lines = "\n".join(line.rstrip() for line in plain(text).split("\n"))
    escaped = _MARKUP.sub(r"\\\g<0>", lines)
    escaped = _ENTITIES.sub(lambda found: f"&#{ord(found[0])};", escaped)
    return _BLOCK.sub(lambda found: f"{found[1]}&#{ord(found[2][0])};{found[2][1:]}", escaped)


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a table, or a heading, in Markdown: in one line."""
    return markdown_text(" ".join(text.replace("\r\n", "\n").split("\n")))


def markdown_block(lines: list[str] | tuple[str, ...]) -> str:
    """Return lines that Markdown leaves as they are, within a fence that none of them can end."""
    shown = [one_line(line) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *shown, fence])


def csv_cell(value: object) -> object:
    """Return the value of a CSV cell so that no spreadsheet takes a text for a formula: after an apostrophe.

    Numbers stay what they are.
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def xml_text(text: str) -> str:
    """Return a text for XML, which escapes markup itself: without control, and what XML cannot hold."""
    return _NOT_XML.sub("?", plain(text))
