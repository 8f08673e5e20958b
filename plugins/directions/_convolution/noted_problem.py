"""A problem as users write it: a convolution and what its line says besides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_case import ProblemCase
from ckprof.problems.problem_file import parse_problem
from ckprof_plugins.directions._convolution.convolution import sizes_of
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.problem import ConvProblem, as_convolution

if TYPE_CHECKING:
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import Operation
    from ckprof.plugin.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(ConvProblem):
    """A convolution with what a problem line says of it.

    K and C (``out_channels``, ``in_channels``) are **per group**, whatever the line counted.
    """

    #: id of the direction that the line was read for
    direction: str = ""
    #: element type, if the line names one
    dtype: DataType | None = None
    #: layout name, if the line names one
    layout: str | None = None
    #: numbers of splits of the reduction, if the line names any; less than 1 lets the kernel choose
    splits: tuple[int, ...] = ()
    #: parts of the line that have no meaning here, as written
    ignored: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str, *, direction: str | None = None) -> Problem:
        """Parse a line: MIOpenDriver's ``conv ...``, ckProfiler's arguments, or just ``NDIM G N K C ...``.

        >>> Problem.parse("conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1").output
        (28, 28)

        :param direction: id or alias; by default the first one, as MIOpenDriver counts them, that the line
            can be meant for.
        :raises InputError: the line is wrong; the message has the column and the expected form.
        :raises UsageError: there is no such direction.
        """
        from ckprof.model.problem_line import ProblemLine

        registry = _registry()
        operations = tuple(registry.operations)
        directions = [operation for operation in operations if ConvProblem in operation.problem_types]
        named = registry.operation(direction) if direction else None
        if named is not None and named not in directions:
            raise UsageError(
                f"{named.id} is no direction of convolution: read its problems with Profiler.problems"
            )
        first_error: InputError | None = None
        for asked in sorted(directions, key=_usual_order) if named is None else [named]:
            try:
                case = parse_problem(ProblemLine(text=line, path="problem"), asked, operations)
            except InputError as error:
                first_error = first_error or error
            else:
                return cls.of(case, asked.id)
        raise first_error or InputError("no direction plugin is loaded", "problem")

    @classmethod
    def of(cls, case: ProblemCase, direction: str) -> Problem:
        """Return what was parsed for a direction.

        :raises InputError: it is no convolution, or the line asks for more than one.
        """
        if case.unsupported:
            raise InputError(f"{case.problem.describe()}: {case.unsupported}", "problem")
        if isinstance(case.problem, FusedConvProblem):
            raise InputError(
                f"{case.problem.describe()}: it asks for more than a convolution; Profiler.problems reads it",
                "problem",
            )
        return cls(
            **sizes_of(as_convolution(case.problem)),
            direction=direction,
            dtype=case.dtype,
            layout=case.layout,
            splits=case.splits,
            ignored=case.ignored,
        )

    @property
    def convolution(self) -> ConvProblem:
        """The sizes alone."""
        return ConvProblem(**sizes_of(self))

    @property
    def case(self) -> ProblemCase:
        """The sizes alone, and what the line says besides."""
        return ProblemCase(
            problem=self.convolution,
            direction=self.direction or None,
            dtype=self.dtype,
            layout=self.layout,
            splits=self.splits,
            ignored=self.ignored,
        )


def _usual_order(operation: Operation) -> int:
    """Return where a direction stands among those that a line can mean: as MIOpenDriver counts them."""
    return getattr(operation, "miopen_flag", 0)


@cache
def _registry() -> Registry:
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.registry import Registry

    manager = PluginManager()
    manager.load_all()
    return Registry(manager)
