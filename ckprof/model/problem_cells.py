"""Problems in tables: each field in a cell of its own, by its name.

Where problems have different fields, a cell is empty in rows of those that do not have the field. Lists and
fields with fields of their own are JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.problem_types import problem_from, sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ckprof.model.problem import Problem

_JSON: Final = ("[", "{")
#: column with the id of the operation: tables of convolutions name none
OPERATION_COLUMN: Final = "direction"


def cells_of_problem(problem: Problem) -> dict[str, object]:
    """Return the fields of a problem as they are written."""
    import msgspec

    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, (list, tuple, dict)) else value
        for name, value in sizes(problem).items()
    }


def problem_of_cells(row: Mapping[str, str], others: Collection[str]) -> Problem:
    """Return the problem of a row.

    :param others: columns that are none of the problem.
    :raises InputError: a value is wrong, or no operation has problems with these columns.
    """
    import msgspec

    given = {name: text for name, text in row.items() if text and name not in others}
    try:
        return problem_from({name: _value(text) for name, text in given.items()})
    except msgspec.DecodeError as exc:
        raise InputError(f"a list of values is wrong: {exc}") from None


def _value(text: str) -> object:
    import msgspec

    if text.startswith(_JSON):
        return msgspec.json.decode(text)
    try:
        return int(text)
    except ValueError:
        return text
