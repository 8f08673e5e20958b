"""Compares a derived list with one that is kept: what came, what went, and what each missing line became."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ckprof.model.extraction import FieldChange, ListComparison, RemovedLine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.extraction import ExtractedFile, ExtractedLine


def compare(file: ExtractedFile, kept: Sequence[str] | None) -> ListComparison:
    """Compare a derived list with a kept one.

    :param kept: lines of the kept list; ``None`` if there is none.
    """
    old = Counter(kept or ())
    new = Counter(file.texts)
    gone = old - new
    come = new - old
    added: dict[str, list[str]] = {}
    added_lines: dict[str, ExtractedLine] = {}
    for line in file.lines:
        if come[line.text]:
            come[line.text] -= 1
            added.setdefault(line.function, []).append(line.text)
            added_lines[line.text] = line
    removed = tuple(_removed(text, added_lines) for text in (kept or ()) if _take(gone, text))
    same_set = kept is not None and not added and not removed
    return ListComparison(
        place=file.place,
        common=sum((old & new).values()),
        added={function: tuple(lines) for function, lines in added.items()},
        removed=removed,
        reordered=same_set and tuple(kept or ()) != file.texts,
        missing=kept is None,
    )


def _take(counter: Counter[str], text: str) -> bool:
    if counter[text]:
        counter[text] -= 1
        return True
    return False


def split_fields(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and fields of a line, split at the commas outside of brackets and before labels."""
    name, _, rest = text.partition("<")
    fields = []
    depth = 0
    current = ""
    for letter in rest.removesuffix(">"):
        # ``Inner<a, b> Label: c`` is two fields.
        if depth == 0 and (letter == "," or (letter == " " and current.endswith(">"))):
            fields.append(current.strip())
            current = ""
            continue
        depth += (letter in "(<") - (letter in ")>")
        current += letter
    return name, (*fields, current.strip())


def _removed(text: str, added: Mapping[str, ExtractedLine]) -> RemovedLine:
    name, fields = split_fields(text)
    best = ""
    fewest = len(fields) + 1
    for other in added:
        other_name, other_fields = split_fields(other)
        if other_name != name or len(other_fields) != len(fields):
            continue
        distance = sum(old != new for old, new in zip(fields, other_fields, strict=True))
        if distance < fewest:
            best, fewest = other, distance
    if not best:
        return RemovedLine(text=text, nearest="", changes=())
    names = added[best].field_names
    changes = tuple(
        _change(names[index] if len(names) == len(fields) else f"field {index}", old, new)
        for index, (old, new) in enumerate(zip(fields, split_fields(best)[1], strict=True))
        if old != new
    )
    return RemovedLine(text=text, nearest=best, changes=changes)


def _change(name: str, old: str, new: str) -> FieldChange:
    """Return a change; a label in the field itself is its name."""
    label, colon, value = new.partition(": ")
    if colon and old.startswith(f"{label}: "):
        return FieldChange(name=label, old=old[len(label) + 2 :], new=value)
    return FieldChange(name=name, old=old, new=new)
