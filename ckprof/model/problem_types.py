"""Which types of problems there are: those of convolutions, and those that operations of plugins bring.

Problems are kept as JSON objects of their fields. No two types have the same ones; one may have all those of
another.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from ckprof.errors import InputError
from ckprof.model.problem import SIZE_NAMES, ConvProblem, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: names of the fields -> type
_TYPES: dict[frozenset[str], type[object]] = {frozenset(SIZE_NAMES): ConvProblem}

#: asked once for further types when a problem has fields that no known one has; the last one counts
_SOURCE: list[Callable[[], Iterable[type[object]]]] = []


def ask_for_problem_types(source: Callable[[], Iterable[type[object]]]) -> None:
    """Have this source, and no longer the one before, asked when a problem of no known type is met."""
    _SOURCE[:] = [source]


def know_problem_type(kind: type[object]) -> None:
    """Have problems of this type recognised from now on.

    :param kind: a frozen dataclass with fields that JSON has.
    """
    names = (field.name for field in fields(cast("Any", kind)))
    _TYPES[frozenset(names)] = kind
    # what fits all fields of a type is no problem of one that has fewer of them
    most_first = sorted(_TYPES, key=len, reverse=True)
    _TYPES.update({key: _TYPES.pop(key) for key in most_first})


def has_other_type(values: Mapping[str, Any], others: frozenset[str] = frozenset()) -> bool:
    """Say whether these are the fields of a problem of a known type that is no convolution.

    :param others: fields that may be there as well.
    """
    if values.keys() >= set(SIZE_NAMES):
        return False
    while True:
        if any(kind is not ConvProblem and names == values.keys() - others for names, kind in _TYPES.items()):
            return True
        if not _SOURCE:
            return False
        for kind in _SOURCE.pop()():
            know_problem_type(kind)


def problem_from(values: Mapping[str, Any]) -> Problem:
    """Return the problem with these fields; what else there is is left out.

    :raises InputError: no known type has such fields, or a value is wrong.
    """
    import msgspec

    while True:
        for names, kind in _TYPES.items():
            if names <= values.keys():
                try:
                    given = {name: values[name] for name in names}
                    return cast("Problem", msgspec.convert(given, kind))
                except msgspec.ValidationError as exc:
                    raise InputError(f"wrong problem: {exc}") from None
        if not _SOURCE:
            break
        for kind in _SOURCE.pop()():
            know_problem_type(kind)
    raise InputError(
        f"no loaded plugin knows a problem with {', '.join(sorted(values))}: "
        "load the one that it was made with"
    )


def decode_problem(kind: type[object], value: object) -> object:
    """Decode a problem within a record: a hook for decoders of msgspec.

    :raises ValueError: no known type has such fields, or a value is wrong.
    """
    if kind is not Problem or not isinstance(value, dict):
        return value
    try:
        return problem_from(value)
    except InputError as exc:
        raise ValueError(exc.message) from None


def sizes(problem: Problem) -> dict[str, Any]:
    """Return the fields of a problem by name, as plain JSON values."""
    import msgspec

    return cast("dict[str, Any]", msgspec.to_builtins(problem))
