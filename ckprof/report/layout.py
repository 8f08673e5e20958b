"""Columns of text beside each other: what stays of them where a terminal is too narrow, one line per row."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof.report.text_width import display_width, first_of, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.report.table import Column, RowT


#: ``decimal``: to the right, with the points of all numbers below each other
Align = Literal["left", "right", "decimal"]

#: characters that are left of a text that is cut, while a column of some weight could leave instead
_LEGIBLE: Final = 40
#: the same, while any other column could leave instead that nobody asked for
_LEAST: Final = 12
#: columns of at least this priority outweigh the middle of a long text
_WEIGHTY: Final = 5
#: priority of columns that somebody asked for: they outweigh all but the ends of long texts
ASKED: Final = 7
#: between the columns
_GAP: Final = 2
#: characters that tabulate adds to a heading
_HEADING_PADDING: Final = 2


#: a text and the parameter of the escape sequence of its colour; empty for none
TextCell: TypeAlias = tuple[str, str]


class ShownColumn:
    """The texts of a column, as far as there is room for them.

    :param rows: that are shown.
    :param escape: what the format makes of each text.
    """

    def __init__(self, column: Column[RowT], rows: Sequence[RowT], escape: Callable[[str], str]) -> None:
        def escaped(text: Callable[[RowT], str] | None) -> list[str] | None:
            return [escape(text(row)).strip() for row in rows] if text is not None else None

        self.heading = escape(column.heading)
        self.cells = escaped(column.shown) or []
        self.align, self.priority = column.align, column.priority
        #: shorter texts for where there is no room, if there are any
        self._short = escaped(column.short)
        #: the name in each cell, empty where there is none; ``None`` for texts without names
        self.names = escaped(column.names)
        #: the same with their parts
        self.kernels = [column.names(row) for row in rows] if column.names else []
        self.styles = [column.style(row) if column.style else "" for row in rows]
        #: the texts that stand whole below the table if they are cut; ``None`` if none do
        self.whole = [column.shown(row) for row in rows] if column.whole_below else None
        if self.align == "decimal":
            self._align_points()
        #: the whole texts, and what shortens their names
        self._whole, self._common = self.cells, WHOLE_NAMES
        #: characters that the longest text takes, or may take
        self.width = max(self._least, *map(display_width, self.cells), 0)

    @property
    def is_cut(self) -> bool:
        """True when a text is not shown as a whole."""
        return self.cells != self._whole or any(display_width(cell) > self.width for cell in self.cells)

    def shown(self, row: int) -> str:
        """Return what there is room for of a text."""
        return shortened(self.cells[row], self.width)

    def shorten(self, common: ShortNames) -> None:
        """Take the shorter texts, and leave out what all names have."""
        self.cells = self.cells if self._short is None else self._short
        widths = [*map(display_width, self.cells)]
        if self.names is not None:
            self._common = common
            self.cells = self._with_names(None)
            # what stands in place of a name, such as a reason, takes no more room than is legible
            widths = [
                display_width(cell) if name else min(display_width(cell), _LEGIBLE)
                for cell, name in zip(self.cells, self.names, strict=True)
            ]
        self.width = max(self._least, *widths, 0)

    def _with_names(self, width: int | None) -> list[str]:
        """Return the texts with shorter names.

        :param width: characters that a name may take.
        """
        return [
            cell.replace(name, self._common.short(name, width), 1) if name else cell
            for cell, name in zip(self._whole, self.names or (), strict=True)
        ]

    def narrow(self, width: int) -> None:
        """Allow texts and heading fewer characters."""
        self.width = width
        if self.names is not None:
            pairs = zip(self._whole, self.names, strict=True)
            around = (display_width(cell) - display_width(name) for cell, name in pairs if name)
            self.cells = self._with_names(max(width - max(around, default=0), 0))
        while self.heading and display_width(self.heading) + _HEADING_PADDING > width:
            self.heading = self.heading[:-1]

    @property
    def _least(self) -> int:
        return display_width(self.heading) + _HEADING_PADDING

    def _align_points(self) -> None:
        decimals = [len(cell.partition(".")[2]) + ("." in cell) for cell in self.cells]
        most = max(decimals, default=0)
        self.cells = [
            cell and cell + " " * (most - count) for cell, count in zip(self.cells, decimals, strict=True)
        ]


def fit(columns: list[ShownColumn], width: int, others: Sequence[str]) -> tuple[list[str], ShortNames]:
    """Have a table take no more than ``width`` characters: remove, shorten and narrow columns.

    :param others: names that no row has, from which shortened ones differ as well.
    :returns: headings of columns without room, and the names that were shortened.
    """
    left_out: list[str] = []
    if columns and columns[0].cells:
        columns[:] = [shown for shown in columns if any(shown.cells)] or columns[:1]
    if _total(columns) <= width:
        return left_out, WHOLE_NAMES
    names = ShortNames([*(name for shown in columns for name in shown.kernels if name), *others])
    for shown in columns:
        shown.shorten(names)
    while _total(columns) > width:
        least = min(reversed(columns), key=lambda shown: shown.priority)
        if least.priority >= _WEIGHTY:
            texts = [shown for shown in columns if shown.align == "left"]
            room = width - _total(columns) + sum(shown.width for shown in texts)
            floor = _LEAST if least.priority >= ASKED else _LEGIBLE
            if texts and room >= sum(min(floor, shown.width) for shown in texts):
                _share(texts, room)
                break
        if len(columns) == 1:
            columns[0].narrow(width)
            break
        columns.remove(least)
        left_out.append(least.heading)
    _widen(columns, width - _total(columns))
    return left_out, names


def _total(columns: Sequence[ShownColumn]) -> int:
    return sum(shown.width for shown in columns) + _GAP * (len(columns) - 1)


def _share(columns: Sequence[ShownColumn], room: int) -> None:
    """Narrow the widest columns alike until all have room."""
    for number, shown in enumerate(sorted(columns, key=lambda shown: shown.width)):
        shown.narrow(min(shown.width, room // (len(columns) - number)))
        room -= shown.width


def _widen(columns: Sequence[ShownColumn], spare: int) -> None:
    """Give what is left over to texts that are cut."""
    for shown in columns:
        if spare > 0 and shown.is_cut:
            wanted = max(0, max(map(display_width, shown.cells)) - shown.width)
            shown.width += min(spare, wanted)
            spare -= min(spare, wanted)


def folded(text: str, width: int) -> list[str]:
    """Return the lines of a text that is too long for one, broken after words where there are some."""
    lines: list[str] = []
    while display_width(text) > width:
        end = _break(text, max(len(first_of(text, width)), 1))
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*lines, text]


def _break(text: str, end: int) -> int:
    """Return where a line ends, at most at ``end``: after a word, if that is not too short."""
    for marks in (" ", "_,;/"):
        position = max(text.rfind(mark, 0, end) for mark in marks) + 1
        if 2 * position > end:
            return position
    return text.rfind(" ", 0, end) + 1 or end


def tabulated(columns: Sequence[ShownColumn], rows: Sequence[Sequence[TextCell]], style: str) -> str:
    """Lay a table out.

    Each text is replaced by as many characters as it takes on a terminal until that is done, so that neither
    colours nor wide characters are miscounted.
    """
    from tabulate import tabulate

    laid_out = tabulate(
        [["#" * display_width(text) for text, _ in row] for row in rows],
        headers=["#" * display_width(shown.heading) for shown in columns],
        tablefmt=style,
        disable_numparse=True,
        colalign=["left" if shown.align == "left" else "right" for shown in columns] if rows else None,
    )
    headings = [(shown.heading, "") for shown in columns]
    texts = (painted(*cell) for row in (headings, *rows) for cell in row if display_width(cell[0]))
    return re.sub("#+", lambda _: next(texts), laid_out)


def painted(text: str, code: str) -> str:
    """Return a text in a colour."""
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


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
