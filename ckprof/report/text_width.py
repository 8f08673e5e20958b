"""How many characters of a line texts take, and what is left of those that take too many."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import Final

#: stands for what is cut out of a text
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"


def display_width(text: str) -> int:
    """Return how many characters of a line a text takes: East Asian ones take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def shortened(text: str, width: int, *, in_the_middle: bool = False) -> str:
    """Return a text that takes at most ``width`` characters.

    :param in_the_middle: keep its end as well, as is best for names.
    """
    if display_width(text) <= width:
        return text
    if width < 1:
        return ""
    room = width - display_width(CUT)
    kept = room // 2 if in_the_middle else 0
    return first_of(text, room - kept) + CUT + first_of(text[::-1], kept)[::-1]


def first_of(text: str, width: int) -> str:
    """Return as many characters of a text as there is room for."""
    return text[: bisect_right([*accumulate(map(_char_width, text))], width)]
