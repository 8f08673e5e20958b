"""The choice among a list of kernels as straight-line code: one text for Python, one for C++.

Both are written from the same recorded formulas in the same order, and hold nothing but operations that IEEE
arithmetic rounds correctly: they give the same choice for every problem whose sizes stay below 2^52.

A kernel that cannot beat the best one so far is passed over after its first terms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ckprof.errors import UsageError
from ckprof_plugins.tuning.time_model.expression import (
    Recorder,
    Symbol,
    compile_function,
    place,
    symbolic_problem,
)
from ckprof_plugins.tuning.time_model.time_model import terms
from ckprof_plugins.tuning.time_model.work import work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.time_model.expression import Form
    from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel
    from ckprof_plugins.tuning.time_model.time_model import Terms
    from ckprof_plugins.tuning.time_model.work import GemmSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What kernels compute that the model cannot tell apart: their time is computed once."""

    kernel: ModelKernel
    splits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The code of one slot. ``room`` is what the best time so far leaves for the terms that overlap."""

    #: what other slots need as well, and the first term
    always: list[str]
    #: the time besides those terms, an expression
    rest: str
    #: name of the first term; the slot is passed over unless it fits into the room
    waiting: str
    #: the second term
    second: list[str]
    computing: str
    #: the sum of fourth powers
    third: list[str]
    powers: str


class Program:
    """The code for one list of slots and one form of problems."""

    def __init__(self, model: TimeModel, slots: Sequence[Slot], gemm_sizes: GemmSizes, form: Form) -> None:
        self._form = form
        self._recorder = Recorder()
        problem = self._problem = symbolic_problem(form, self._recorder)
        sizes = gemm_sizes(problem)
        self._terms: list[Terms] = [
            terms(
                work(slot.kernel.computes, sizes, slot.splits, model.units),
                model.shared,
                slot.kernel.parameters,
            )
            for slot in slots
        ]
        self._totals: list[Symbol] = [term.total for term in self._terms]

    def lines(self, render: Callable[[Sequence[str]], list[str]]) -> list[Lines]:
        """Return the code of all slots.

        :param render: writes the assignments of some names.
        """
        steps = self._recorder.steps
        uses = Counter(name for term in self._terms for name in steps(self._symbols(term)))
        computed: set[str] = set()
        lines = []
        for term in self._terms:
            shared = [name for name in steps(self._symbols(term), computed) if uses[name] > 1]
            first = [term.waiting] if term.extra is None else [term.waiting, term.extra]
            always = sorted({*shared, *steps(first, computed)}, key=place)
            computed.update(always)
            second = steps([term.computing], computed)
            third = steps([term.powers], {*computed, *second})
            rest = repr(term.fixed) if term.extra is None else f"({term.fixed!r} + {term.extra.name})"
            lines.append(
                Lines(
                    always=render(always),
                    rest=rest,
                    waiting=term.waiting.name,
                    second=render(second),
                    computing=term.computing.name,
                    third=render(third),
                    powers=term.powers.name,
                )
            )
        return lines

    @staticmethod
    def _symbols(term: Terms) -> list[Symbol]:
        return [term.waiting, term.computing, term.powers, *([] if term.extra is None else [term.extra])]

    @cached_property
    def best(self) -> Callable[[Problem], int]:
        """Problem -> index of the slot with the smallest predicted time; the first of equal ones."""
        body = [self._unpacking(), "best = 1e300", "chosen = 0"]
        for index, lines in enumerate(self.lines(self._recorder.python)):
            body += lines.always
            body.append(f"room = best - {lines.rest}")
            body.append(f"if {lines.waiting} < room:")
            body += [f"    {line}" for line in lines.second]
            body.append(f"    if {lines.computing} < room:")
            body += [f"        {line}" for line in (*lines.third, "square = room * room")]
            body.append(f"        if {lines.powers} < square * square:")
            body.append(f"            best = {lines.rest} + sqrt(sqrt({lines.powers}))")
            body.append(f"            chosen = {index}")
        return cast("Callable[[Problem], int]", self._function("best", [*body, "return chosen"]))

    @cached_property
    def times(self) -> Callable[[Problem], tuple[float, ...]]:
        """Problem -> predicted times of all slots in microseconds."""
        steps = self._recorder.steps(self._totals)
        body = [self._unpacking(), *self._recorder.python(steps)]
        body.append(f"return ({''.join(f'{total.name}, ' for total in self._totals)})")
        return cast("Callable[[Problem], tuple[float, ...]]", self._function("times", body))

    def cpp_inputs(self, *, by_values: bool) -> list[str]:
        """Return the C++ that reads the sizes of ``problem``.

        :param by_values: from its values in their order; else by the names of the fields.
        :raises UsageError: a size is not among the values that kernel libraries get.
        """
        if by_values:
            return self._cpp_values()
        lines = [f"const double {name} = static_cast<double>(problem.{name});" for name in self._form.scalars]
        for name, count in self._form.vectors:
            for axis in range(count):
                lines.append(f"const double {name}_{axis} = static_cast<double>(problem.{name}[{axis}]);")
        return lines

    def _cpp_values(self) -> list[str]:
        """Return what reads problems that are given as their values alone."""
        places = {
            value.name: position
            for position, value in enumerate(self._problem.values())
            if isinstance(value, Symbol)
        }
        names = [*self._form.scalars]
        names += [f"{name}_{axis}" for name, count in self._form.vectors for axis in range(count)]
        lost = [name for name in names if name not in places]
        if lost:
            kind = self._form.kind.__name__
            raise UsageError(f"{kind}.values() does not have {', '.join(lost)}: no C++ can read it")
        return [
            f"const double {name} = static_cast<double>(problem.values[{places[name]}]);" for name in names
        ]

    def cpp_lines(self) -> list[Lines]:
        """Return the C++ of the choice, slot by slot."""
        return self.lines(self._recorder.cpp)

    def cpp_times(self) -> tuple[list[str], list[str]]:
        """Return the C++ that computes all times, and the names that hold them."""
        steps = self._recorder.steps(self._totals)
        return self._recorder.cpp(steps), [total.name for total in self._totals]

    def _unpacking(self) -> str:
        """Return the assignments of all sizes, in one line."""
        parts = [f"{name} = problem.{name}" for name in self._form.scalars]
        for name, count in self._form.vectors:
            names = "".join(f"{name}_{axis}, " for axis in range(count))
            parts.append(f"{names}= problem.{name}")
        return "; ".join(parts)

    def _function(self, name: str, body: Sequence[str]) -> Callable[..., object]:
        from math import sqrt

        source = f"def {name}(problem):\n" + "".join(f"    {line}\n" for line in body)
        return compile_function(source, name, {"sqrt": sqrt})
