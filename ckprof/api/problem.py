"""A problem as users write it: a convolution and what its line says besides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, overload

from ckprof.errors import InputError, UsageError
from ckprof.model.problem import ConvProblem, as_convolution, sizes_of

if TYPE_CHECKING:
    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem as ModelProblem
    from ckprof.plugin.registry import Registry
    from ckprof.problems.tokens import ParsedProblem


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
        from ckprof.plugin.protocols import OwnProblems
        from ckprof.problems.parse_line import parse_problem
        from ckprof.problems.tokens import ProblemLine

        registry = _registry()
        known = sorted(registry.directions, key=lambda one: one.miopen_flag)
        named = registry.operation(direction) if direction else None
        if named is not None and isinstance(named, OwnProblems):
            raise UsageError(
                f"{named.id} is no direction of convolution: read its problems with Profiler.problems"
            )
        first_error: InputError | None = None
        for one in known if named is None else [named]:
            try:
                parsed = parse_problem(ProblemLine(text=line, path="problem"), one, known)
            except InputError as error:
                first_error = first_error or error
            else:
                return cls.of(parsed, one.id)
        raise first_error or InputError("no direction plugin is loaded", "problem")

    @classmethod
    def of(cls, parsed: ParsedProblem, direction: str) -> Problem:
        """Return what was parsed for a direction."""
        return cls(
            **sizes_of(as_convolution(parsed.problem)),
            direction=direction,
            dtype=parsed.dtype,
            layout=parsed.layout,
            splits=parsed.splits,
            ignored=parsed.ignored,
        )

    @property
    def convolution(self) -> ConvProblem:
        """The sizes alone."""
        return plain(self)


@overload
def plain(problem: ConvProblem) -> ConvProblem: ...


@overload
def plain(problem: ModelProblem) -> ModelProblem: ...


def plain(problem: ModelProblem) -> ModelProblem:
    """Return the sizes of a problem alone, so that equal ones compare equal."""
    return ConvProblem(**sizes_of(problem)) if isinstance(problem, Problem) else problem


@cache
def _registry() -> Registry:
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.registry import Registry

    manager = PluginManager()
    manager.load_all()
    return Registry(manager)
