"""Texts that are wider than a terminal, broken between words."""

from __future__ import annotations

import re
import textwrap
from typing import Final

#: what is quoted is one word: a command to be copied, a name with blanks; no apostrophe inside of a word
_QUOTED: Final = re.compile(r"(?<!\w)('[^'\n]*'|`[^`\n]*`|\"[^\"\n]*\")(?!\w)")
#: stands for a blank at which no line ends; no text has it: control characters are spelled out before
_NO_BREAK: Final = "\x00"


def wrapped(line: str, width: int) -> str:
    """Return a line broken between words, further lines indented.

    Paths, names and what is quoted stay whole, also where they are wider than the terminal.
    """
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    kept = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", _NO_BREAK), line)
    broken = textwrap.fill(
        kept,
        width,
        subsequent_indent=f"{indent}  ",
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return broken.replace(_NO_BREAK, " ")


def wrapped_text(text: str, width: int) -> str:
    """Return a text with each of its lines broken as :func:`wrapped` does."""
    return "\n".join(wrapped(line, width) for line in text.split("\n"))
