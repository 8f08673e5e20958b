"""Formulas as data: recorded by running Python functions on symbols, written as Python or C++.

Equal subexpressions are one node, so what kernels share is computed once.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_type_hints

from ckprof.model.problem_case import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_PYTHON = {
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1}",
    "/": "{0} / {1}",
    "//": "{0} // {1}",
    "ceil_div": "-(-{0} // {1})",
    "maximum": "{0} if {0} > {1} else {1}",
    "minimum": "{0} if {0} < {1} else {1}",
    "sqrt": "sqrt({0})",
}
_CPP = {
    **_PYTHON,
    "//": "std::floor({0} / {1})",
    "ceil_div": "std::ceil({0} / {1})",
    "maximum": "{0} > {1} ? {0} : {1}",
    "minimum": "{0} < {1} ? {0} : {1}",
    "sqrt": "std::sqrt({0})",
}


class Symbol:
    """A value that is not known yet; arithmetic on it is recorded in its :class:`Recorder`."""

    __slots__ = ("name", "recorder")

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.recorder = recorder
        self.name = name

    def _record(self, operator: str, *operands: Symbol | float) -> Symbol:
        return self.recorder.record(operator, operands)

    def __add__(self, other: Symbol | float) -> Symbol:
        return self if other == 0 and not isinstance(other, Symbol) else self._record("+", self, other)

    def __radd__(self, other: Symbol | float) -> Symbol:
        return self if other == 0 and not isinstance(other, Symbol) else self._record("+", other, self)

    def __sub__(self, other: Symbol | float) -> Symbol:
        return self._record("-", self, other)

    def __rsub__(self, other: Symbol | float) -> Symbol:
        return self._record("-", other, self)

    def __neg__(self) -> Symbol:
        return self._record("-", 0, self)

    def __mul__(self, other: Symbol | float) -> Symbol:
        return self if other == 1 and not isinstance(other, Symbol) else self._record("*", self, other)

    def __rmul__(self, other: Symbol | float) -> Symbol:
        return self if other == 1 and not isinstance(other, Symbol) else self._record("*", other, self)

    def __truediv__(self, other: Symbol | float) -> Symbol:
        return self if other == 1 and not isinstance(other, Symbol) else self._record("/", self, other)

    def __rtruediv__(self, other: Symbol | float) -> Symbol:
        return self._record("/", other, self)

    def __floordiv__(self, other: Symbol | float) -> Symbol:
        return self if other == 1 and not isinstance(other, Symbol) else self._record("//", self, other)

    def ceil_div(self, other: Symbol | float) -> Symbol:
        """Record a division that rounds up."""
        return self if other == 1 and not isinstance(other, Symbol) else self._record("ceil_div", self, other)

    def reverse_ceil_div(self, other: Symbol | float) -> Symbol:
        """Record a division of something by this that rounds up."""
        return self._record("ceil_div", other, self)

    def maximum(self, other: Symbol | float) -> Symbol:
        """Record the larger of two."""
        return self._record("maximum", self, other)

    def minimum(self, other: Symbol | float) -> Symbol:
        """Record the smaller of two."""
        return self._record("minimum", self, other)

    def square_root(self) -> Symbol:
        """Record a square root."""
        return self._record("sqrt", self)


class Recorder:
    """Collects what is computed on symbols, each thing once, in an order in which it can be computed."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, tuple[str, ...]], str] = {}
        self._definitions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def input(self, name: str) -> Symbol:
        """Return the symbol of an input."""
        return Symbol(self, name)

    def record(self, operator: str, operands: Sequence[Symbol | float]) -> Symbol:
        """Return the symbol of a result, a known one if it was computed before."""
        names = tuple(
            operand.name if isinstance(operand, Symbol) else _literal(operand) for operand in operands
        )
        name = self._nodes.get((operator, names))
        if name is None:
            name = f"v{len(self._nodes)}"
            self._nodes[operator, names] = name
            self._definitions[name] = operator, names
        return Symbol(self, name)

    def steps(self, results: Iterable[Symbol], computed: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the names that must be computed for some results, in order, without those ``known``."""
        wanted: set[str] = set()
        done = set(computed)
        stack = [result.name for result in results]
        while stack:
            name = stack.pop()
            if name in wanted or name in done or name not in self._definitions:
                continue
            wanted.add(name)
            stack.extend(self._definitions[name][1])
        return tuple(sorted(wanted, key=place))

    def python(self, names: Iterable[str]) -> list[str]:
        """Return the assignments of some results as lines of Python."""
        return [f"{name} = {self._text(_PYTHON, name)}" for name in names]

    def cpp(self, names: Iterable[str]) -> list[str]:
        """Return the assignments of some results as lines of C++, all of them ``double``."""
        return [f"const double {name} = {self._text(_CPP, name)};" for name in names]

    def _text(self, forms: dict[str, str], name: str) -> str:
        operator, operands = self._definitions[name]
        form = forms[operator]
        if forms is _CPP:
            operands = tuple(
                f"{operand}.0" if operand.lstrip("-").isdecimal() else operand for operand in operands
            )
        return form.format(*operands)


def place(name: str) -> int:
    """Return where the result of that name stands in the order of recording."""
    return int(name[1:])


def compile_function(source: str, name: str, names: dict[str, object]) -> Callable[..., object]:
    """Return a function of generated Python.

    :param source: text that this package wrote: names, operators and numbers only.
    :param name: what to return.
    :param names: global names of the text.
    """
    space: dict[str, object] = dict(names)
    exec(compile(source, "<time model>", "exec"), space)  # noqa: S102 - written by Recorder from numbers
    return cast("Callable[..., object]", space[name])


def _literal(value: float) -> str:
    return repr(value)


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


def form_of(problem: Any) -> Form:
    """Return the form of a problem, a dataclass of numbers, tuples of numbers and closed sets of values."""
    # what programs derive from a problem has fields beside its sizes
    sizes = plain(problem)
    values = {field.name: getattr(sizes, field.name) for field in fields(cast("Any", sizes))}
    return Form(
        kind=type(sizes),
        scalars=tuple(name for name, value in values.items() if isinstance(value, int)),
        vectors=tuple((name, len(value)) for name, value in values.items() if isinstance(value, tuple)),
        constants=tuple(
            (name, value) for name, value in values.items() if not isinstance(value, (int, tuple))
        ),
    )


@lru_cache
def is_told_by_dimensions(kind: type[Any]) -> bool:
    """Say whether problems of a type with as many spatial dimensions have one form: numbers alone."""
    return all(hint in (int, tuple[int, ...]) for hint in get_type_hints(kind).values())


def symbolic_problem(form: Form, recorder: Recorder) -> Any:
    """Return a problem whose values are symbols; nothing about them is checked.

    What follows from the sizes is computed by the very properties of the class.
    """
    problem = object.__new__(form.kind)
    for name in form.scalars:
        object.__setattr__(problem, name, recorder.input(name))
    for name, count in form.vectors:
        symbols = tuple(recorder.input(f"{name}_{index}") for index in range(count))
        object.__setattr__(problem, name, symbols)
    for name, value in form.constants:
        object.__setattr__(problem, name, value)
    return problem
