"""Text from outside, such as names of files and messages of compilers, as text: never as control."""

from __future__ import annotations

import re
from typing import Final

#: everything that terminals act upon: C0 and C1 controls but for tab and line feed, and what reorders text
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: what makes a line a command of a build service, wherever blanks stand in front
_COMMAND: Final = re.compile(r"^(\s*)(::|##\[|##vso\[)", re.MULTILINE)


def plain(text: str) -> str:
    """Return a text with its control characters spelled out, and no line that a build service obeys.

    Line feeds and tabs stay.
    """
    return _COMMAND.sub(r"\1 \\\2", _CONTROL.sub(_spelled, text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Return a text as :func:`plain` does, in one line."""
    return plain(text.replace("\r\n", "\n").replace("\n", "\\n").replace("\t", "\\t"))


def csv_cell(value: object) -> object:
    """Return the value of a CSV cell so that no spreadsheet takes a text for a formula: behind an apostrophe.

    Numbers stay what they are.
    """
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a Markdown table: without tags, borders or line breaks of its own."""
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(escaped.split("\n"))


def _spelled(found: re.Match[str]) -> str:
    # as JSON has it, too: what is inside its texts keeps its meaning
    return f"\\u{ord(found[0]):04x}"
