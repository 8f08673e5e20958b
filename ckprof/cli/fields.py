"""Fields of dataclasses as options of a command, and what was typed as such a dataclass.

What an option is called, means and may be stands in the field, see :mod:`ckprof.option`.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.cli.outputs import add_output_file
from ckprof.option import options_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from dataclasses import Field

    from ckprof.option import Option

T = TypeVar("T")

#: what a text is read by where the option does not say it, by the first type of the annotation
_READERS: Final[dict[str, Callable[[str], object]]] = {"int": int, "float": float, "Path": Path, "str": str}
#: the first type of an annotation such as ``tuple[Path, ...]`` or ``int | None``
_FIRST_TYPE: Final = re.compile(r"(?:tuple\[)?(\w+)")


def add_fields(
    group: argparse._ActionsContainer,
    owner: type[T],
    *names: str,
    defaults: T | None = None,
    required: bool = True,
) -> None:
    """Add the options of a dataclass.

    :param names: of the fields, in the order of the help; all that are options if there are none.
    :param defaults: what holds without the options, if not the defaults of the dataclass.
    :param required: fields without a default have to be given.
    """
    for field, option in _declared(owner, names):
        default = _default(field, defaults)
        shown = "" if default is MISSING or "(default:" in option.help else option.shown(default)
        text = f"{option.help} (default: {shown})" if shown else option.help
        keywords = {**_reading(field, option, default), "help": text.replace("%", "%%").lstrip()}
        if option.metavar is not None:
            keywords["metavar"] = option.metavar
        if option.is_positional:
            group.add_argument(option.flag, **keywords)
        else:
            keywords["required"] = required and default is MISSING
            group.add_argument(*option.spelling(field).split(), dest=_dest(field, option), **keywords)


def add_format(group: argparse._ActionsContainer, *others: str, to_file: bool = True) -> None:
    """Add ``--format``, and ``-o`` for the file that the result is written to.

    :param others: formats beside ``table`` and ``json``.
    :param to_file: false for commands whose ``-o`` is something else.
    """
    group.add_argument(
        "--format",
        choices=("table", "json", *others),
        default="table",
        help="format of the result (default: table)",
    )
    if to_file:
        add_output_file(group)


def chosen(
    arguments: argparse.Namespace,
    owner: type[T],
    *names: str,
    defaults: T | None = None,
    **others: object,
) -> T:
    """Return what was typed as an object of a dataclass.

    :param names: of the fields that are asked for; all that are options if there are none.
    :param defaults: what holds for whatever was not typed, if not the defaults of the dataclass.
    :param others: values of further fields, or of fields of whose value the option says only a part.
    :raises UsageError: the dataclass does not allow the values.
    """
    values: dict[str, Any] = dict(others)
    for field, option in _declared(owner, names):
        value = vars(arguments).get(_dest(field, option))
        if value is not None and field.name not in values:
            default = _default(field, defaults)
            if isinstance(default, Enum):
                value = type(default)(value)
            values[field.name] = tuple(value) if isinstance(value, list) else value
    if defaults is None:
        return owner(**values)
    return cast("T", replace(cast("Any", defaults), **values))


def _declared(owner: type, names: tuple[str, ...]) -> Iterator[tuple[Field[Any], Option]]:
    declared = {field.name: (field, option) for field, option in options_of(owner)}
    for name in names or declared:
        yield declared[name]


def _default(field: Field[Any], defaults: object) -> object:
    return field.default if defaults is None else getattr(defaults, field.name)


def _dest(field: Field[Any], option: Option) -> str:
    """Return what the parser calls the value: fields with the same option share it."""
    return option.spelling(field).split()[-1].lstrip("-").replace("-", "_")


def _reading(field: Field[Any], option: Option, default: object) -> dict[str, Any]:
    """Return how argparse reads the texts of an option; what is not typed is ``None``."""
    if isinstance(default, bool):
        return {"action": "store_const", "const": not default}
    keywords: dict[str, Any] = {}
    if "tuple[" in str(field.type) or "frozenset[" in str(field.type):
        if option.is_positional:
            keywords["nargs"] = "+" if default is MISSING else "*"
        elif option.several != "store":
            keywords["action"] = option.several
    if isinstance(default, Enum):
        return {**keywords, "choices": tuple(kind.value for kind in type(default))}
    if option.choices:
        keywords["choices"] = option.choices
    return {**keywords, "type": option.parse or _READERS[_FIRST_TYPE.findall(str(field.type))[0]]}
