"""Compares a derived list with one that is kept: what came, what went, and what each missing line became."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof_converters.extract.lists import ListKey
    from ckprof_converters.extract.strings import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field in which two lines differ."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedLine:
    """A line that the library does not have, with the added line that is most like it."""

    text: str
    #: empty if nothing of its kind was added
    nearest: str
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListComparison:
    """How a derived list differs from the kept one."""

    key: ListKey
    set_name: str
    #: in both, counted once for each occurrence
    common: int
    #: function -> lines that the kept list lacks
    added: Mapping[str, tuple[str, ...]]
    removed: tuple[RemovedLine, ...]
    #: the same lines, in another order
    reordered: bool
    #: there is no such list in the folder
    missing: bool = False

    @property
    def is_same(self) -> bool:
        """The lists are equal, line for line."""
        return not (self.added or self.removed or self.reordered or self.missing)

    @property
    def added_count(self) -> int:
        """Number of lines that the kept list lacks."""
        return sum(len(lines) for lines in self.added.values())

    @property
    def verdict(self) -> str:
        """A few words."""
        if self.missing:
            return "no such list"
        if self.is_same:
            return "same"
        if self.reordered:
            return "same set, other order"
        return f"{self.added_count} added, {len(self.removed)} removed"


def compare(
    key: ListKey, set_name: str, kept: Sequence[str] | None, derived: Sequence[tuple[str, Line]]
) -> ListComparison:
    """Compare two lists.

    :param kept: lines of the kept list; ``None`` if there is none.
    :param derived: (text, line) of the derived list; the text is a type string for a list of these.
    """
    texts = [text for text, _ in derived]
    old = Counter(kept or ())
    new = Counter(texts)
    gone = old - new
    come = new - old
    added: dict[str, list[str]] = {}
    left = Counter(come)
    added_lines: dict[str, Line] = {}
    for text, line in derived:
        if left[text]:
            left[text] -= 1
            added.setdefault(line.function, []).append(text)
            added_lines[text] = line
    removed = tuple(_removed(text, added_lines) for text in (kept or ()) if _take(gone, text))
    same_set = kept is not None and not added and not removed
    return ListComparison(
        key=key,
        set_name=set_name,
        common=sum((old & new).values()),
        added={function: tuple(lines) for function, lines in added.items()},
        removed=removed,
        reordered=same_set and list(kept or ()) != texts,
        missing=kept is None,
    )


def _take(counter: Counter[str], text: str) -> bool:
    if counter[text]:
        counter[text] -= 1
        return True
    return False


def split_fields(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and arguments of a line, split at the commas outside of brackets."""
    name, _, rest = text.partition("<")
    fields = []
    depth = 0
    current = ""
    for letter in rest.removesuffix(">"):
        if letter == "," and depth == 0:
            fields.append(current.strip())
            current = ""
            continue
        depth += (letter in "(<") - (letter in ")>")
        current += letter
    return name, (*fields, current.strip())


def _removed(text: str, added: Mapping[str, Line]) -> RemovedLine:
    name, fields = split_fields(text)
    best = ""
    fewest = len(fields) + 1
    for other in added:
        other_name, other_fields = split_fields(other)
        if other_name != name or len(other_fields) != len(fields):
            continue
        distance = sum(one != two for one, two in zip(fields, other_fields, strict=True))
        if distance < fewest:
            best, fewest = other, distance
    if not best:
        return RemovedLine(text=text, nearest="", changes=())
    names = _field_names(best, added[best])
    changes = tuple(
        FieldChange(name=label, old=one, new=two)
        for label, one, two in zip(names, fields, split_fields(best)[1], strict=True)
        if one != two
    )
    return RemovedLine(text=text, nearest=best, changes=changes)


def _field_names(text: str, line: Line) -> tuple[str, ...]:
    """Return what each field of a line is called: its parameter, its label, or its place."""
    fields = split_fields(text)[1]
    if len(line.field_names) == len(fields) and text == line.text:
        return line.field_names
    return tuple(
        field.partition(":")[0].split(">")[-1].strip() if ":" in field else f"field {place}"
        for place, field in enumerate(fields)
    )
