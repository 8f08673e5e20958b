"""How names of kernels are shortened: in one way, wherever there is no room for whole ones.

Tables, charts, lines of progress: what all names that stand together begin and end with is left out, and what
is still too long is cut in the middle.
"""

from __future__ import annotations

import unicodedata
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

#: stands for what is cut out of a text
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"
#: shortest beginning and end of names that is worth leaving out
_WORTH_CUTTING: Final = 8


class ShortNames:
    """Names of kernels that stand together.

    :param names: all of them; a single one loses nothing but its middle.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        #: what all names begin and end with
        self.start, self.end = common_ends(names)

    def short(self, name: str, width: int | None = None) -> str:
        """Return a name without what all have.

        :param width: characters that it may take at most.
        """
        inner = name.removeprefix(self.start).removesuffix(self.end)
        return inner if width is None else shortened(inner, width, in_the_middle=True)

    @property
    def left_out(self) -> str:
        """What is left out, for a line that says so; empty if nothing is."""
        parts = [f"{word} {text}" for word, text in (("beginning", self.start), ("end", self.end)) if text]
        return " and ".join(parts)


def common_ends(names: Iterable[str]) -> tuple[str, str]:
    """Return what all names begin and end with, in whole words joined by underscores.

    Something is left of each name. Both are empty where leaving them out gains little, or there is one name.
    """
    distinct = sorted(set(names))
    if len(distinct) < 2:
        return "", ""
    # what the first and the last of sorted names share, all between them share
    start = _common_start(distinct[0], distinct[-1])
    start = start[: start.rfind("_") + 1]
    backwards = sorted(name[len(start) :][::-1] for name in distinct)
    end = _common_start(backwards[0], backwards[-1])[::-1]
    # a name that is no more than the end keeps its last word
    end = "" if any(len(name) == len(end) for name in backwards) else end
    end = end[end.find("_") :] if "_" in end else ""
    return _worth_cutting(start), _worth_cutting(end)


def _worth_cutting(part: str) -> str:
    return part if len(part) >= _WORTH_CUTTING else ""


def _common_start(first: str, second: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(char for char, _ in pairs)


def display_width(text: str) -> int:
    """Return how many characters of a line a text takes: East Asian ones take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


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
    end, taken = 0, 0
    while end < len(text) and taken + _char_width(text[end]) <= width:
        taken += _char_width(text[end])
        end += 1
    return text[:end]


#: loses nothing of names but the middle of those that are too long
WHOLE_NAMES: Final = ShortNames()
