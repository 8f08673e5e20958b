"""Formulas as data: recorded by running Python functions on symbols, written as Python or C++.

Equal subexpressions are one node, so what kernels share is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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

Operand = "Symbol | int | float"


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
        names = tuple(one.name if isinstance(one, Symbol) else _literal(one) for one in operands)
        name = self._nodes.get((operator, names))
        if name is None:
            name = f"v{len(self._nodes)}"
            self._nodes[operator, names] = name
            self._definitions[name] = operator, names
        return Symbol(self, name)

    def steps(self, results: Iterable[Symbol], known: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the names that must be computed for some results, in order, without those ``known``."""
        wanted: set[str] = set()
        done = set(known)
        stack = [one.name for one in results]
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
            operands = tuple(f"{one}.0" if one.lstrip("-").isdecimal() else one for one in operands)
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
