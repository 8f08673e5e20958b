"""Compares a derived list with one that is kept: what came, what went, and what each missing line became."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ckprof.model.extraction import FieldChange, ListComparison, RemovedLine
from ckprof.model.pairing import closest_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.extraction import ExtractedFile, ExtractedLine


def compare(file: ExtractedFile, kept: Sequence[str] | None) -> ListComparison:
    """Compare a derived list with a kept one.

    :param kept: lines of the kept list; ``None`` if there is none.
    """
    old = Counter(kept or ())
    new = Counter(file.texts)
    gone = old - new
    come = new - old
    added = [line for line in file.lines if _take(come, line.text)]
    by_function: dict[str, list[str]] = {}
    for line in added:
        by_function.setdefault(line.function, []).append(line.text)
    removed = _removed([text for text in (kept or ()) if _take(gone, text)], added)
    same_set = kept is not None and not added and not removed
    return ListComparison(
        place=file.place,
        common=sum((old & new).values()),
        added={function: tuple(lines) for function, lines in by_function.items()},
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


def _removed(texts: Sequence[str], added: Sequence[ExtractedLine]) -> tuple[RemovedLine, ...]:
    """Return the lines that went, each with the one that it most likely became."""
    old, new = [split_fields(text) for text in texts], [split_fields(line.text) for line in added]
    pairs = closest_pairs(old, new)
    return tuple(
        RemovedLine(
            text=text,
            nearest=added[pairs[place]].text,
            changes=_changes(old[place][1], new[pairs[place]][1], added[pairs[place]].field_names),
        )
        if place in pairs
        else RemovedLine(text=text, nearest="", changes=())
        for place, text in enumerate(texts)
    )


def _changes(old: Sequence[str], new: Sequence[str], names: Sequence[str]) -> tuple[FieldChange, ...]:
    return tuple(
        _change(names[index] if len(names) == len(old) else f"field {index}", before, after)
        for index, (before, after) in enumerate(zip(old, new, strict=True))
        if before != after
    )


def _change(name: str, old: str, new: str) -> FieldChange:
    """Return a change; a label in the field itself is its name."""
    label, colon, value = new.partition(": ")
    if colon and old.startswith(f"{label}: "):
        return FieldChange(name=label, old=old[len(label) + 2 :], new=value)
    return FieldChange(name=name, old=old, new=new)
