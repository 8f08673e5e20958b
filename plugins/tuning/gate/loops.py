"""The loops of both sides next to each other, with the first place where they differ marked."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ckprof.report.table import Column, Table
from ckprof_plugins.tuning.gate.causes import without_registers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.tuning.gate.baseline import LoopInstruction

#: class of the row on a page: of the first difference, and of the others
_FIRST: Final = "first-difference"
_DIFFERS: Final = "warn"


@dataclass(frozen=True, slots=True)
class LoopRow:
    """An instruction of each loop; empty where a side has none there."""

    before: str
    after: str
    #: empty where both are the same but for registers
    mark: str = ""


def side_by_side(before: Sequence[LoopInstruction], after: Sequence[LoopInstruction]) -> list[LoopRow]:
    """Return both loops, aligned by their instructions without the numbers of registers."""
    rows: list[LoopRow] = []
    old, new = ([without_registers(one.text) for one in loop] for loop in (before, after))
    mark = "first difference"
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = zip_longest(before[i1:i2], after[j1:j2])
        shown = [(one.text if one else "", other.text if other else "") for one, other in pairs]
        if tag == "equal":
            rows += [LoopRow(*texts) for texts in shown]
            continue
        for texts in shown:
            rows.append(LoopRow(*texts, mark))
            mark = "differs"
    return rows


def loop_table(rows: Sequence[LoopRow]) -> Table[LoopRow]:
    """Return them as a table for a page."""
    numbered = {id(row): number for number, row in enumerate(rows, 1)}
    columns: list[Column[LoopRow]] = [
        Column("#", lambda row: numbered[id(row)], align="right"),
        Column("before", lambda row: row.before),
        Column("after", lambda row: row.after),
        Column("difference", lambda row: row.mark),
    ]
    return Table(columns, [*rows], style=lambda row: _STYLES.get(row.mark, ""))


_STYLES: Final = {"first difference": _FIRST, "differs": _DIFFERS}
