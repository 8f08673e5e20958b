"""The one table: columns over rows, as text that fits the terminal, Markdown, CSV, plain values and HTML."""

from __future__ import annotations

import csv
import io
import os
import shutil
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ckprof.report.escape import csv_cell, markdown_cell
from ckprof.report.layout import Align, ShownColumn, fit, folded, painted, tabulated
from ckprof.report.short_names import WHOLE_NAMES
from ckprof.sanitize import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

RowT = TypeVar("RowT")

#: priority of columns that stay however narrow the terminal is
ESSENTIAL: Final = 9
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


def output_width(stream: TextIO) -> int | None:
    """Return what tables are fitted to: the width of a terminal, or ``COLUMNS``; ``None`` without both."""
    fitted = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return shutil.get_terminal_size().columns if fitted else None


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
    #: the text for terminals without room for the whole one
    short: Callable[[RowT], str] | None = None
    #: the name in the text, empty if it has none: it is shortened on terminals without room for it
    names: Callable[[RowT], str] | None = None
    #: texts that are cut on a terminal, but for names, stand whole below the table
    whole_below: bool = False
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
    #: names of kernels that no row has, from which shortened names differ as well
    other_names: Sequence[str] = ()
    #: style of a whole row
    style: Callable[[RowT], str] | None = None
    #: what the texts below the table are said of, if not the first column
    label: Callable[[RowT], str] | None = None
    #: lines below the table, given the headings of the columns that it does not show, or not whole
    notes: Callable[[Sequence[str]], Sequence[str]] | None = None

    def text(self, terminal: Terminal | None = None) -> str:
        """Return the table as text without a line feed at its end.

        Every value is escaped; nothing but the colours of the styles acts on a terminal.

        :param terminal: what it is fitted to, each row in one line: columns without any text, or of low
            priority, are left out, names are shortened and long texts are cut; ``None`` for the whole table.
        """
        columns = [ShownColumn(column, self.shown_rows, one_line) for column in self.columns]
        left_out, names = fit(columns, terminal.width, self.other_names) if terminal else ([], WHOLE_NAMES)
        lines = _text_lines(self, columns, colour=terminal is not None and terminal.colour)
        cut = [shown.heading for shown in columns if shown.is_cut]
        below = [*self.notes([*left_out, *cut])] if self.notes is not None else []
        below += self._whole_texts(columns)
        if left_out:
            below.append(f"(no room for {', '.join(left_out)}{self._hint})")
        for line in map(one_line, [*below, *self._more()]):
            lines += folded(line, terminal.width) if terminal else [line]
        if terminal and names.common:
            lines[:0] = [*folded(one_line(f"common to all names: {names.common}"), terminal.width), ""]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the table as Markdown without a line feed at its end."""
        columns = [ShownColumn(column, self.shown_rows, markdown_cell) for column in self.columns]
        cells = [
            [(text, "") for text in row] for row in zip(*(shown.cells for shown in columns), strict=True)
        ]
        notes = self.notes([]) if self.notes is not None else []
        below = map(markdown_cell, [*notes, *self._more()])
        return "\n".join([tabulated(columns, cells, "github"), *below])

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

    def _whole_texts(self, columns: Sequence[ShownColumn]) -> list[str]:
        """Return the texts that were cut and are worth lines of their own."""
        label = self.label or self.columns[0].shown
        below = [(shown, shown.whole) for shown in columns if shown.whole is not None and shown.is_cut]
        return [
            f"{label(row)}{f', {shown.heading}' if len(below) > 1 else ''}: {' '.join(whole[index].split())}"
            for index, row in enumerate(self.shown_rows)
            for shown, whole in below
            if shown.shown(index) != shown.cells[index] and not (shown.names and shown.names[index])
        ]

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


def _text_lines(table: Table[RowT], columns: Sequence[ShownColumn], *, colour: bool) -> list[str]:
    """Return the lines of the text, in the colours of the styles."""
    rows = range(len(table.shown_rows))
    cells = [
        [(shown.shown(row), _COLOURS.get(shown.styles[row], "") if colour else "") for shown in columns]
        for row in rows
    ]
    first, second, *lines = tabulated(columns, cells, "simple").split("\n")
    styles = [table.style(row) if table.style and colour else "" for row in table.shown_rows]
    return [
        first,
        second,
        *(
            painted(line.rstrip(), _COLOURS.get(style, ""))
            for line, style in zip(lines, styles, strict=False)
        ),
    ]
