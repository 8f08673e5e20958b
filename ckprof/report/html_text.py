"""Documents as HTML without scripts, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from ckprof.plain_text import plain
from ckprof.report.document import Heading, Items
from ckprof.report.store.svg import tag
from ckprof.report.table import Table

if TYPE_CHECKING:
    from ckprof.report.document import Document, Part
    from ckprof.report.table import Column

#: rows of a table; the rest is counted
_MOST_ROWS: Final = 50


def html_of(document: Document) -> str:
    """Return a document as HTML; whatever comes from outside is escaped."""
    return str(Markup("\n").join(_part(part) for part in document.parts))


def _part(part: Part) -> Markup:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Heading):
        return Markup("<h4>{}</h4>").format(plain(part.title))
    if isinstance(part, Items):
        items = Markup("").join(Markup("<li>{}</li>").format(plain(text)) for text in part.texts)
        return Markup("<ul>{}</ul>").format(items)
    return Markup("<pre>{}</pre>").format(plain(part if isinstance(part, str) else "\n".join(part.lines)))


def _table(table: Table[Any]) -> Markup:
    heads = Markup("").join(_cell("th", column, column.heading) for column in table.columns)
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell("td", column, column.shown(row)) for column in table.columns)
        )
        for row in table.rows[:_MOST_ROWS]
    )
    whole = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(heads, rows)
    left = len(table.rows) - _MOST_ROWS
    return whole if left <= 0 else whole + Markup("<p>... and {} more</p>").format(left)


def _cell(name: str, column: Column[Any], text: str) -> Markup:
    side = "left" if column.align == "left" else "right"
    return tag(name, plain(text) or " ", style=f"text-align: {side}")
