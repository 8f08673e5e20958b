"""A problem whose sizes are not known yet, to write formulas that work for every problem of a form."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_type_hints

from ckprof.model.problem import ConvProblem

if TYPE_CHECKING:
    from ckprof.selection.expression import Recorder


class Form(NamedTuple):
    """What problems that share a formula have in common."""

    #: a dataclass
    kind: type[Any]
    #: fields with one number
    scalars: tuple[str, ...]
    #: fields with several numbers, and how many
    vectors: tuple[tuple[str, int], ...]
    #: other fields with their values
    constants: tuple[tuple[str, Hashable], ...] = ()


def convolutions(ndim: int) -> Form:
    """Return the form of convolutions with so many spatial dimensions."""
    types = get_type_hints(ConvProblem)
    names = [field.name for field in fields(ConvProblem)]
    return Form(
        kind=ConvProblem,
        scalars=tuple(name for name in names if types[name] is int),
        vectors=tuple((name, ndim) for name in names if types[name] is not int),
    )


def form_of(problem: Any) -> Form:
    """Return the form of a problem, a dataclass of numbers, tuples of numbers and closed sets of values."""
    if isinstance(problem, ConvProblem):
        # what programs derive from it has fields beside its sizes
        return convolutions(problem.ndim)
    values = {field.name: getattr(problem, field.name) for field in fields(cast("Any", problem))}
    return Form(
        kind=type(problem),
        scalars=tuple(name for name, value in values.items() if isinstance(value, int)),
        vectors=tuple((name, len(value)) for name, value in values.items() if isinstance(value, tuple)),
        constants=tuple(
            (name, value) for name, value in values.items() if not isinstance(value, (int, tuple))
        ),
    )


def symbolic_problem(form: Form, recorder: Recorder) -> Any:
    """Return a problem whose values are symbols; nothing about them is checked.

    What follows from the sizes is computed by the very properties of the class.
    """
    problem = object.__new__(form.kind)
    for name in form.scalars:
        object.__setattr__(problem, name, recorder.input(name))
    for name, count in form.vectors:
        symbols = tuple(recorder.input(f"{name}_{place}") for place in range(count))
        object.__setattr__(problem, name, symbols)
    for name, value in form.constants:
        object.__setattr__(problem, name, value)
    return problem
