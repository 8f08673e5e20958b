"""Names of kernels that stand together lose whole parts where there is no room.

Names are shortened in one way, wherever there is no room for whole ones: in tables, charts, pages and lines
of progress. What all names that stand together have is left out and said once; then, part by part, what tells
least. A part stays in the names that would be equal without it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.model.kernel import KEPT, KernelName
from ckprof.report.text_width import display_width, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: how much a part tells, and which field it shows -> its text
_Parts: TypeAlias = "dict[tuple[int, str], str]"


def _parts_of(name: str) -> _Parts:
    """Return the parts of a name; any text but a kernel's name is one part."""
    parts = name.parts if isinstance(name, KernelName) else ((KEPT, "", name),)
    return {(rank, field): text for rank, field, text in parts}


def _without(parts: _Parts, keys: set[tuple[int, str]]) -> _Parts:
    return {key: word for key, word in parts.items() if key not in keys}


def _text(parts: _Parts) -> str:
    return "_".join(parts.values()).replace("_ ", " ").strip()


class ShortNames:
    """Names of kernels that stand together.

    :param names: all of them, as :class:`~ckprof.model.kernel.KernelName` where their parts are known.
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
        # several names keep more than one does, however narrow the place
        last = KEPT if len(shown) > 1 else max(rank for parts in shown.values() for rank, _ in parts)
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


def _common_of(names: Mapping[str, _Parts]) -> set[tuple[int, str]]:
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
