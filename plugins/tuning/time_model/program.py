"""The choice among a list of kernels as straight-line code: one text for Python, one for C++.

Both are written from the same recorded formulas in the same order, and hold nothing but operations that IEEE
arithmetic rounds correctly: they give the same choice for every problem whose sizes stay below 2^52.

A kernel that cannot beat the best one so far is passed over after its first terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import fields
from functools import cached_property, lru_cache, partial
from math import sqrt
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_type_hints

from ckprof.errors import UsageError
from ckprof.model.problem_case import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.time_model.formula import GemmSizes, Terms
    from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel


_PYTHON = {
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1}",
    "/": "{0} / {1}",
    "//": "{0} // {1}",
    "ceil_div": "-(-{0} // {1})",
    "minimum": "{0} if {0} < {1} else {1}",
    "sqrt": "sqrt({0})",
}
_CPP = {
    **_PYTHON,
    "//": "std::floor({0} / {1})",
    "ceil_div": "std::ceil({0} / {1})",
    "minimum": "{0} < {1} ? {0} : {1}",
    "sqrt": "std::sqrt({0})",
}


def _recorded(
    operator: str, neutral: float | None = None, *, swapped: bool = False
) -> Callable[[Symbol, Symbol | float], Symbol]:
    """Return a method that records an operation.

    :param neutral: an operand that changes nothing.
    :param swapped: the symbol is the second operand.
    """

    def method(self: Symbol, other: Symbol | float) -> Symbol:
        if neutral is not None and other == neutral:
            return self
        return self.recorder.record(operator, (other, self) if swapped else (self, other))

    return method


class Symbol:
    """A value that is not known yet; arithmetic on it is recorded in its :class:`FormulaRecorder`."""

    __slots__ = ("name", "recorder")

    def __init__(self, recorder: FormulaRecorder, name: str) -> None:
        self.recorder = recorder
        self.name = name

    __add__ = _recorded("+", 0)
    __radd__ = _recorded("+", 0, swapped=True)
    __sub__ = _recorded("-")
    __rsub__ = _recorded("-", swapped=True)
    __mul__ = _recorded("*", 1)
    __rmul__ = _recorded("*", 1, swapped=True)
    __truediv__ = _recorded("/", 1)
    __rtruediv__ = _recorded("/", swapped=True)
    __floordiv__ = _recorded("//", 1)
    #: rounds up
    ceil_div = _recorded("ceil_div", 1)
    reverse_ceil_div = _recorded("ceil_div", swapped=True)
    minimum = _recorded("minimum")

    def __neg__(self) -> Symbol:
        return self.recorder.record("-", (0, self))

    def square_root(self) -> Symbol:
        """Record a square root."""
        return self.recorder.record("sqrt", (self,))


class FormulaRecorder:
    """Collects what is computed on symbols, each thing once, in an order in which it can be computed."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}
        self._definitions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def record(self, operator: str, operands: Sequence[Symbol | float]) -> Symbol:
        """Return the symbol of a result, a known one if it was computed before."""
        names = tuple(operand.name if isinstance(operand, Symbol) else repr(operand) for operand in operands)
        name = self._names.setdefault((operator, names), f"v{len(self._names)}")
        self._definitions[name] = operator, names
        return Symbol(self, name)

    def steps(self, results: Iterable[Symbol], computed: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the names that must be computed for some results, in order, without those ``computed``."""
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

    def lines(self, names: Iterable[str], *, cpp: bool) -> list[str]:
        """Return the assignments of some results as lines of C++, all of them ``double``; else of Python."""
        lines = []
        for name in names:
            operator, operands = self._definitions[name]
            if cpp:
                numbers = (f"{one}.0" if one.lstrip("-").isdecimal() else one for one in operands)
                lines.append(f"const double {name} = {_CPP[operator].format(*numbers)};")
            else:
                lines.append(f"{name} = {_PYTHON[operator].format(*operands)}")
        return lines


def place(name: str) -> int:
    """Return where the result of that name stands in the order of recording."""
    return int(name[1:])


#: what problems that share a formula have in common: their class, and field -> ``int`` for a number, how many
#: numbers it has, or its value where that is none
Form: TypeAlias = "tuple[type[Any], tuple[tuple[str, Hashable], ...]]"


def form_of(problem: Any) -> Form:
    """Return the form of a problem, a dataclass of numbers, tuples of numbers and closed sets of values."""

    def of(value: Any) -> Hashable:
        return int if isinstance(value, int) else len(value) if isinstance(value, tuple) else value

    # what programs derive from a problem has fields in addition to its sizes
    sizes: Any = plain(problem)
    return type(sizes), tuple((field.name, of(getattr(sizes, field.name))) for field in fields(sizes))


@lru_cache
def is_told_by_dimensions(kind: type[Any]) -> bool:
    """Say whether problems of a type with as many spatial dimensions have one form: numbers alone."""
    hints = get_type_hints(kind)
    return all(hints[field.name] in (int, tuple[int, ...]) for field in fields(kind))


#: what kernels compute that the model cannot distinguish, and their splits: their time is computed once
Slot: TypeAlias = "tuple[ModelKernel, int]"


class Program:
    """The code for one list of slots and one form of problems."""

    def __init__(self, model: TimeModel, slots: Sequence[Slot], gemm_sizes: GemmSizes, form: Form) -> None:
        self._recorder = FormulaRecorder()
        #: size -> where it is found, in Python and in C++
        self._inputs: dict[str, str] = {}
        problem = self._problem = self._symbolic(form)
        sizes = gemm_sizes(problem)
        self._terms: list[Terms] = [model.terms(kernel, sizes, splits) for kernel, splits in slots]
        self._totals: list[Symbol] = [term.total for term in self._terms]

    def _symbolic(self, form: Form) -> Any:
        """Return a problem whose values are symbols; nothing about them is checked.

        What follows from the sizes is computed by the very properties of the class.
        """
        kind, entries = form
        problem = object.__new__(kind)
        for name, entry in entries:
            value: object = entry
            if entry is int:
                value = self._input(name, name)
            elif isinstance(entry, int):
                value = tuple(self._input(f"{name}_{index}", f"{name}[{index}]") for index in range(entry))
            object.__setattr__(problem, name, value)
        return problem

    def _input(self, name: str, place: str) -> Symbol:
        self._inputs[name] = f"problem.{place}"
        return Symbol(self._recorder, name)

    def choice(self, *, cpp: bool = False) -> list[str]:
        """Return the lines that set ``chosen`` to the slot with the smallest time, the first of equal ones.

        ``room`` is what the best time so far leaves for the terms of a slot that overlap: it is passed over
        as soon as one of them does not fit.

        :param cpp: in C++; else in Python.
        """
        steps, render = self._recorder.steps, partial(self._recorder.lines, cpp=cpp)
        root, const, end = ("std::sqrt", "const double ", ";") if cpp else ("sqrt", "", "")
        uses = Counter(name for term in self._terms for name in steps(self._symbols(term)))
        computed: set[str] = set()
        lines: list[str] = []
        for index, term in enumerate(self._terms):
            shared = [name for name in steps(self._symbols(term), computed) if uses[name] > 1]
            first = [one for one in self._symbols(term) if one not in (term.computing, term.powers)]
            always = sorted({*shared, *steps(first, computed)}, key=place)
            computed.update(always)
            second = steps([term.computing], computed)
            third = steps([term.powers], {*computed, *second})
            rest = repr(term.fixed) if term.extra is None else f"({term.fixed!r} + {term.extra.name})"
            powers = term.powers.name
            by, times = ("", "") if term.factor == 1 else (f" / {term.factor.name}", f" * {term.factor.name}")
            room = f"{const}room = best{by} - {rest}"
            nested = [
                (
                    f"{room}; {term.waiting.name} < room" if cpp else f"{term.waiting.name} < room",
                    render(second),
                ),
                (f"{term.computing.name} < room", [*render(third), f"{const}square = room * room{end}"]),
                (
                    f"{powers} < square * square",
                    [f"best = ({rest} + {root}({root}({powers}))){times}{end}", f"chosen = {index}{end}"],
                ),
            ]
            lines += render(always) if cpp else [*render(always), room]
            for depth, (condition, body) in enumerate(nested):
                indent = depth * "    "
                lines += [f"{indent}if({condition})", f"{indent}{{"] if cpp else [f"{indent}if {condition}:"]
                lines += [f"{indent}    {line}" for line in body]
            lines += [f"{depth * '    '}}}" for depth in reversed(range(len(nested)))] if cpp else []
        return lines

    @staticmethod
    def _symbols(term: Terms) -> list[Symbol]:
        symbols = (term.waiting, term.computing, term.powers, term.extra, term.factor)
        return [one for one in symbols if isinstance(one, Symbol)]

    @cached_property
    def best(self) -> Callable[[Problem], int]:
        """Problem -> index of the slot with the smallest predicted time; the first of equal ones."""
        body = [self._unpacking(), "best = 1e300", "chosen = 0", *self.choice(), "return chosen"]
        return cast("Callable[[Problem], int]", self._function("best", body))

    @cached_property
    def times(self) -> Callable[[Problem], tuple[float, ...]]:
        """Problem -> predicted times of all slots in microseconds."""
        steps = self._recorder.steps(self._totals)
        body = [self._unpacking(), *self._recorder.lines(steps, cpp=False)]
        body.append(f"return ({''.join(f'{total.name}, ' for total in self._totals)})")
        return cast("Callable[[Problem], tuple[float, ...]]", self._function("times", body))

    def cpp_inputs(self, *, by_values: bool) -> list[str]:
        """Return the C++ that reads the sizes of ``problem``.

        :param by_values: from its values in their order; else by the names of the fields.
        :raises UsageError: a size is not among the values that kernel libraries get.
        """
        places = self._inputs
        if by_values:
            places = {
                value.name: f"problem.values[{position}]"
                for position, value in enumerate(self._problem.values())
                if isinstance(value, Symbol)
            }
        lost = [name for name in self._inputs if name not in places]
        if lost:
            kind = type(self._problem).__name__
            raise UsageError(f"{kind}.values() does not have {', '.join(lost)}: no C++ can read it")
        return [f"const double {name} = static_cast<double>({places[name]});" for name in self._inputs]

    def cpp_times(self) -> tuple[list[str], list[str]]:
        """Return the C++ that computes all times, and the names that hold them."""
        steps = self._recorder.steps(self._totals)
        return self._recorder.lines(steps, cpp=True), [total.name for total in self._totals]

    def _unpacking(self) -> str:
        """Return the assignments of all sizes, in one line."""
        return "; ".join(f"{name} = {place}" for name, place in self._inputs.items())

    def _function(self, name: str, body: Sequence[str]) -> Callable[..., object]:
        source = f"def {name}(problem):\n" + "".join(f"    {line}\n" for line in body)
        space: dict[str, Any] = {"sqrt": sqrt}
        # text that was written here: names, operators and numbers only
        exec(compile(source, "<time model>", "exec"), space)  # noqa: S102
        return cast("Callable[..., object]", space[name])
