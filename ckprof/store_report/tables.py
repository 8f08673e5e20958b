"""Tables as the pages show them: texts and sorting values are decided before a template lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from ckprof.compare.records import change_text, short_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.problem import Problem

#: what an empty cell shows
DASH = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading."""

    name: str
    #: numbers stand to the right and sort by value
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell."""

    text: str
    #: what a numeric column sorts by; empty for a cell without a number, ``None`` in columns of texts
    value: float | str | None = None
    css_class: str = ""
    #: shown when the pointer rests on the cell
    title: str = ""
    #: CSS class of the frame around the text; empty for no frame
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row."""

    cells: tuple[Cell, ...]
    id: str = ""
    css_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that sorts by its headings."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...] = ()
    id: str = ""
    #: what the filter of the table asks for; empty for a table without one
    filter_hint: str = ""
    #: of the box that scrolls
    css_class: str = "scroll"


def columns(*names: str, numeric: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return headings.

    :param numeric: names of those above numbers.
    """
    return tuple(Column(name=name, numeric=name in numeric) for name in names)


def text_cell(text: str) -> Cell:
    """Return a cell of plain text."""
    return Cell(text=text)


def tag_cell(text: str, tag: str) -> Cell:
    """Return a cell whose text has a coloured frame."""
    return Cell(text=text, tag=tag)


def number_cell(value: float | None, text: str, title: str = "") -> Cell:
    """Return a cell of a numeric column.

    :param value: what it sorts by; ``None`` for an empty cell.
    """
    return Cell(text=text, value="" if value is None else value, css_class="number", title=title)


def count_cell(value: int) -> Cell:
    """Return a cell with a whole number."""
    return number_cell(value, str(value))


def name_cell(name: str, start: str) -> Cell:
    """Return a cell with a kernel's name.

    :param start: what all names begin with, which is left out.
    """
    return Cell(text=_without(name, start), css_class="name", title=name)


def problem_cell(problem: Problem) -> Cell:
    """Return a cell with the sizes of a problem that have an effect; all of them are its title."""
    return Cell(text=short_problem(problem), css_class="problem", title=problem.describe())


def _without(name: str, start: str) -> Markup:
    """Return a name without its start, with places where a line may break."""
    return Markup("_<wbr>").join(name.removeprefix(start).split("_"))


def number(value: float | None) -> str:
    """Return four significant digits without an exponent where that is short."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def percent(value: float | None) -> str:
    """Return a share in percent."""
    return DASH if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def signed(ratio: float | None) -> str:
    """Return a ratio of times as a change."""
    return DASH if ratio is None else change_text(ratio).replace("%", "\N{NO-BREAK SPACE}%")
