"""Texts that are shortened to a number of characters; names of kernels lose whole parts.

Names are shortened in one way, wherever there is no room for whole ones: in tables, charts, pages and lines
of progress. What all names that stand together have is left out and said once; then, part by part, what tells
least. A part stays in the names that would be equal without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: stands for what is cut out of a text
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"
#: of tiles and wave grids
_SIZES: Final = re.compile(r"\d+x\d+x\d+")
#: between the parts of a name; further numbers, such as vector widths, and versions belong to their word
_BETWEEN: Final = re.compile(r"_(?!(?:\d+|async|v\d+)(?:_|$))")
_FLAGS: Final = ("True", "False")
#: ranks of the parts of a name: the least leaves first
_EPILOGUE, _SCHEDULER, _MMA_TILE, _WAVES, _HEAD, _OTHER, _PIPELINE, _SUFFIX, _TILE = range(9)

#: rank, word that it begins with or position, and which of several such parts it is -> the part
_Key: TypeAlias = "tuple[int, str, int]"
_Parts: TypeAlias = "dict[_Key, str]"


def _parts_of(name: str) -> _Parts:
    """Return the parts of a name.

    Names of kernels say in this order: what is computed, pipeline, epilogue, scheduler, flags; block tile,
    wave grid, MMA tile; and what else there is. Other names have no tile, and parts of one rank.
    """
    text, blank, suffix = name.partition(" ")
    words = _BETWEEN.split(text)
    sizes = [place for place, word in enumerate(words) if _SIZES.fullmatch(word)]
    head = words[: sizes[0]] if sizes else []
    while head and head[-1] in _FLAGS:
        head.pop()
    ranks = {place: rank for place, rank in zip(sizes, (_TILE, _WAVES, _MMA_TILE), strict=False)}
    behind = zip(range(len(head) - 1, -1, -1), (_SCHEDULER, _EPILOGUE, _PIPELINE), strict=False)
    ranks = {place: _HEAD for place in range(len(head))} | dict(behind) | ranks
    parts: _Parts = {}
    for place, word in enumerate(words):
        rank = ranks.get(place, _OTHER)
        kind = "flag" if word in _FLAGS else re.sub(r"\d.*", "", word) if rank == _OTHER else ""
        number = 0
        while (rank, kind, number) in parts:
            number += 1
        parts[rank, kind, number] = word
    if blank:
        parts[_SUFFIX, "", 0] = blank + suffix
    return parts


def _without(parts: _Parts, keys: set[_Key]) -> _Parts:
    return {key: word for key, word in parts.items() if key not in keys}


def _text(parts: _Parts) -> str:
    return "_".join(parts.values()).replace("_ ", " ").strip()


class ShortNames:
    """Names of kernels that stand together.

    :param names: all of them.
    :param width: characters that a name may take where nothing else is said; ``None`` for any number.
    """

    def __init__(self, names: Iterable[str] = (), width: int | None = None) -> None:
        self._width = width
        self._whole = {name: _parts_of(name) for name in names}
        self._common = _common_of(self._whole)
        self._texts: dict[int | None, Mapping[str, str]] = {}

    def short(self, name: str, width: int | None = None) -> str:
        """Return a name without what all have; one that is not among them keeps that.

        :param width: characters that it may take; where it would be another name's text, it takes more.
        """
        width = self._width if width is None else width
        if name not in self._whole:
            return name if width is None else ShortNames([name]).short(name, width)
        if width not in self._texts:
            self._texts[width] = self._fitted(width)
        return self._texts[width][name]

    @property
    def common(self) -> str:
        """What all names have, for a line that says so; empty if nothing."""
        words: list[str] = []
        before = False
        for key, word in next(iter(self._whole.values()), {}).items():
            if key in self._common:
                words.append(f"{'_' if before else ', '}{word}")
            before = key in self._common
        return "".join(words).removeprefix(", ")

    def _fitted(self, width: int | None) -> Mapping[str, str]:
        """Return the texts of all names."""
        shown = {name: _without(parts, self._common) for name, parts in self._whole.items()}
        texts = {name: _text(parts) for name, parts in shown.items()}
        if _ambiguous(texts):
            return {name: name for name in texts}
        if width is None:
            return texts
        # several names keep pipeline and tile, however narrow the place
        last = _PIPELINE if len(shown) > 1 else _TILE
        keys = {key: None for parts in shown.values() for key in parts if key[0] < last}
        for key in sorted(keys, key=lambda key: key[0]):
            if max(map(display_width, texts.values())) <= width:
                return texts
            fewer = {name: _without(parts, {key}) for name, parts in shown.items()}
            while equal := _ambiguous(texts := {name: _text(parts) for name, parts in fewer.items()}):
                fewer |= {name: shown[name] for name in equal}
            shown = fewer
        cut = {name: shortened(text, width, in_the_middle=True) for name, text in texts.items()}
        return texts if _ambiguous(cut) else cut


def _common_of(names: Mapping[str, _Parts]) -> set[_Key]:
    """Return the parts that all of several names have, without which they differ."""
    if len(names) < 2:
        return set()
    first, *others = names.values()
    common = {key for key, word in first.items() if all(parts.get(key) == word for parts in others)}
    while common and _ambiguous({name: _text(_without(parts, common)) for name, parts in names.items()}):
        common.remove(max(common))
    return common


def _ambiguous(texts: Mapping[str, str]) -> list[str]:
    """Return the names whose text is empty or another one's as well."""
    counts = Counter(texts.values())
    return [name for name, text in texts.items() if not text or counts[text] > 1]


#: loses nothing of a name but what there is no room for
WHOLE_NAMES: Final = ShortNames()


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
