"""How one list differs from another, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.extraction import ListComparison

#: removed lines of one list that are printed with their nearest neighbour
_SHOWN: Final = 20


def change_lines(item: ListComparison) -> Iterator[str]:
    """Yield the verdict on a list, its added lines by function, and what became of removed ones."""
    yield f"{item.place}: {item.verdict}"
    if item.missing:
        return
    for function, lines in item.added.items():
        yield f"  + {len(lines)} {function}"
    for removed in item.removed[:_SHOWN]:
        yield f"  - {removed.text}"
        if removed.nearest:
            changes = "; ".join(f"{change.name} {change.old} -> {change.new}" for change in removed.changes)
            yield f"    nearest added: {changes}"
    if len(item.removed) > _SHOWN:
        yield f"  - ... and {len(item.removed) - _SHOWN} more"
