"""The one table: columns over rows, as text that fits the terminal, Markdown, CSV, plain values and HTML."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import KW_ONLY, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from ckprof.plain_text import csv_cell, markdown_cell, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RowT = TypeVar("RowT")

#: ``decimal``: to the right, with the points of all numbers below each other
Align = Literal["left", "right", "decimal"]

#: priority of columns that stay however narrow the terminal is
ESSENTIAL: Final = 9
#: characters that are left of a folded column at least, while another column can leave instead
_LEAST_FOLDED: Final = 12
#: between the columns of text
_GAP: Final = 2
#: characters that tabulate adds to a heading
_HEADING_PADDING: Final = 2
#: style -> parameter of the escape sequence; styles without one have no colour on a terminal
_COLOURS: Final = {"good": "32", "warning": "33", "bad": "31"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What texts are fitted to.

    :param width: characters of a line.
    :param colour: whether escape sequences for colours are wanted.
    """

    width: int
    colour: bool = False


@dataclass(frozen=True)
class Column(Generic[RowT]):
    """A column: what it is called, and what it shows of a row."""

    name: str
    #: raw value, for CSV, JSON and the sorting of HTML tables; ``None`` where there is no such figure
    value: Callable[[RowT], object]
    _: KW_ONLY
    #: shown in brackets after the name
    unit: str = ""
    align: Align = "left"
    #: those of the least priority leave a table first that is too wide for the terminal
    priority: int = ESSENTIAL
    #: format specification of the value as text
    form: str = ""
    #: the value as text, where a format specification does not do; without escapes
    text: Callable[[RowT], str] | None = None
    #: name in CSV and JSON, if it is another one
    key: str = ""
    #: see :data:`_COLOURS`; in HTML the class of a frame around the text
    style: Callable[[RowT], str] | None = None
    #: HTML: shown when the pointer rests on the cell
    hint: Callable[[RowT], str] | None = None
    #: HTML: class of the cells; that of numbers follows from the alignment
    css_class: str = ""

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def shown(self, row: RowT) -> str:
        """Return the text of a cell; empty where there is no value."""
        if self.text is not None:
            return self.text(row)
        value = self.value(row)
        return "" if value is None else format(value, self.form)


@dataclass(frozen=True)
class Table(Generic[RowT]):
    """Columns and rows."""

    columns: Sequence[Column[RowT]]
    rows: Sequence[RowT]
    _: KW_ONLY
    #: rows that text and Markdown show; the others are counted
    most_rows: int | None = None
    #: where the rows and columns are that are not shown, e.g. ``--format csv has every figure``
    elsewhere: str = ""
    #: style of a whole row
    style: Callable[[RowT], str] | None = None
    #: lines below the table, given the headings of the columns that it has no room for
    notes: Callable[[Sequence[str]], Sequence[str]] | None = None

    def text(self, terminal: Terminal | None = None) -> str:
        """Return the table as text without a line feed at its end.

        Every value is escaped; nothing but the colours of the styles acts on a terminal.

        :param terminal: what it is fitted to: long texts are folded, and columns without any text, or of low
            priority, are left out; ``None`` for the whole table.
        """
        columns = [_Shown.of(column, self.shown_rows, one_line) for column in self.columns]
        left_out = _fit(columns, terminal.width) if terminal else []
        lines = _text_lines(self, columns, colour=terminal is not None and terminal.colour)
        below = [*self.notes(left_out)] if self.notes is not None else []
        if left_out:
            below.append(f"(no room for {', '.join(left_out)}{self._hint})")
        for line in map(one_line, [*below, *self._more()]):
            lines += _folded(line, terminal.width) if terminal else [line]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the table as Markdown without a line feed at its end."""
        columns = [_Shown.of(column, self.shown_rows, markdown_cell) for column in self.columns]
        cells = [
            [_Cell(text) for text in row] for row in zip(*(shown.cells for shown in columns), strict=True)
        ]
        notes = self.notes([]) if self.notes is not None else []
        return "\n".join([_tabulated(columns, cells, "github"), *notes, *self._more()])

    def csv(self) -> str:
        """Return a line with the names of the columns and one for each row; missing values are empty."""
        return csv_text(self.records(), [column.key or column.heading for column in self.columns])

    def records(self) -> list[dict[str, Any]]:
        """Return the raw values of each row by the names of the columns."""
        return [
            {column.key or column.heading: column.value(row) for column in self.columns} for row in self.rows
        ]

    @property
    def shown_rows(self) -> Sequence[RowT]:
        """The rows of text and Markdown."""
        return self.rows[: self.most_rows]

    @property
    def _hint(self) -> str:
        return f"; {self.elsewhere}" if self.elsewhere else ""

    def _more(self) -> list[str]:
        count = len(self.rows) - len(self.shown_rows)
        return ["", f"... and {count} more{self._hint}"] if count else []


def csv_text(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return records as CSV; fields that a record lacks are empty, no text is a formula for spreadsheets."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in record.items()} for record in records)
    return buffer.getvalue()


def display_width(text: str) -> int:
    """Return how many characters of a line a text takes: East Asian ones take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in ("W", "F")
        else 1
        for char in text
    )


@dataclass(slots=True)
class _Shown:
    """The texts of a column."""

    column: Column[Any]
    heading: str
    cells: list[str]
    #: characters that the longest text takes, or may take
    width: int

    @classmethod
    def of(cls, column: Column[RowT], rows: Sequence[RowT], escape: Callable[[str], str]) -> _Shown:
        cells = [escape(column.shown(row)).strip() for row in rows]
        if column.align == "decimal":
            decimals = [len(cell.partition(".")[2]) + ("." in cell) for cell in cells]
            most = max(decimals, default=0)
            cells = [
                cell and cell + " " * (most - count) for cell, count in zip(cells, decimals, strict=True)
            ]
        heading = escape(column.heading)
        width = max(display_width(heading) + _HEADING_PADDING, *map(display_width, cells), 0)
        return cls(column, heading, cells, width)

    def narrow(self, width: int) -> None:
        """Have the texts folded to fewer characters, and the heading cut."""
        self.width = width
        while self.heading and display_width(self.heading) + _HEADING_PADDING > width:
            self.heading = self.heading[:-1]


def _fit(columns: list[_Shown], width: int) -> list[str]:
    """Remove and narrow columns until a table fits; return the headings of those without room."""
    if columns and columns[0].cells:
        columns[:] = [shown for shown in columns if any(shown.cells)] or columns[:1]
    left_out: list[str] = []
    while _total(columns) > width:
        least = min(reversed(columns), key=lambda shown: shown.column.priority)
        texts = [shown for shown in columns if shown.column.align == "left"]
        if least.column.priority == ESSENTIAL and len(columns) > 1:
            others = _total(columns) - sum(shown.width for shown in texts)
            if width - others >= sum(min(_LEAST_FOLDED, shown.width) for shown in texts) and texts:
                _share(texts, width - others)
                break
        elif len(columns) == 1:
            columns[0].narrow(width)
            break
        columns.remove(least)
        left_out.append(least.heading)
    return left_out


def _total(columns: Sequence[_Shown]) -> int:
    return sum(shown.width for shown in columns) + _GAP * (len(columns) - 1)


def _share(columns: Sequence[_Shown], room: int) -> None:
    """Narrow the widest columns alike until all have room."""
    for number, shown in enumerate(sorted(columns, key=lambda shown: shown.width)):
        shown.narrow(min(shown.width, room // (len(columns) - number)))
        room -= shown.width


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a text that is too long for one, broken after words where there are some."""
    lines: list[str] = []
    while display_width(text) > width:
        end = next(
            n for n in range(min(len(text), width), 0, -1) if display_width(text[:n]) <= width or n == 1
        )
        end = _break(text, end)
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


def _text_lines(table: Table[RowT], columns: Sequence[_Shown], *, colour: bool) -> list[str]:
    """Return the lines of the text, in the colours of the styles."""
    cells: list[list[_Cell]] = []
    codes: list[str] = []
    for index, row in enumerate(table.shown_rows):
        pieces = [_folded(shown.cells[index], shown.width) for shown in columns]
        styles = [shown.column.style(row) if shown.column.style else "" for shown in columns]
        for line in zip_longest(*pieces, fillvalue=""):
            cells.append([_Cell(*cell) for cell in zip(line, map(_colour_of, styles), strict=True)])
            codes.append(_colour_of(table.style(row)) if table.style else "")
    if not colour:
        cells, codes = [[_Cell(cell.text) for cell in line] for line in cells], [""] * len(codes)
    first, second, *lines = _tabulated(columns, cells, "simple").split("\n")
    return [first, second, *map(_painted, map(str.rstrip, lines), codes)]


class _Cell(NamedTuple):
    text: str
    #: of its colour; empty for none
    code: str = ""


def _colour_of(style: str) -> str:
    return _COLOURS.get(style, "")


def _painted(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _tabulated(columns: Sequence[_Shown], rows: Sequence[Sequence[_Cell]], style: str) -> str:
    """Lay a table out.

    Each text is replaced by as many characters as it takes on a terminal until that is done, so that neither
    colours nor wide characters are miscounted.
    """
    from tabulate import tabulate

    headings = [_Cell(shown.heading) for shown in columns]
    laid_out = tabulate(
        [["#" * display_width(cell.text) for cell in row] for row in rows],
        headers=["#" * display_width(cell.text) for cell in headings],
        tablefmt=style,
        disable_numparse=True,
        colalign=["left" if shown.column.align == "left" else "right" for shown in columns] if rows else None,
    )
    texts = (_painted(*cell) for row in (headings, *rows) for cell in row if display_width(cell.text))
    return re.sub("#+", lambda _: next(texts), laid_out)
