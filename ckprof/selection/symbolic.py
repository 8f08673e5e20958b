"""A problem whose sizes are not known yet, to write formulas that work for every problem."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_type_hints

if TYPE_CHECKING:
    from ckprof.selection.expression import Recorder


class FieldNames(NamedTuple):
    """The fields of a type of problems."""

    #: those with one value
    scalars: tuple[str, ...]
    #: those with one value per axis
    vectors: tuple[str, ...]


def field_names(kind: type[object]) -> FieldNames:
    """Return the fields of a type of problems, in their order.

    :param kind: a dataclass of integers and tuples of integers.
    """
    types = get_type_hints(kind)
    names = [field.name for field in fields(cast("Any", kind))]
    return FieldNames(
        scalars=tuple(name for name in names if types[name] is int),
        vectors=tuple(name for name in names if types[name] is not int),
    )


def symbolic_problem(kind: type[object], recorder: Recorder, ndim: int) -> Any:
    """Return a problem whose values are symbols; nothing about them is checked.

    What follows from the sizes is computed by the very properties of the class.

    :param kind: the type of the problem.
    :param ndim: values of a field that has one per axis.
    """
    problem = object.__new__(kind)
    names = field_names(kind)
    for name in names.scalars:
        object.__setattr__(problem, name, recorder.input(name))
    for name in names.vectors:
        symbols = tuple(recorder.input(f"{name}_{axis}") for axis in range(ndim))
        object.__setattr__(problem, name, symbols)
    return problem
