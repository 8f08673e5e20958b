"""The problem of convolutions: sizes, what a line says besides, and the problems that are used by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES, Convolution, joined, sizes_of

if TYPE_CHECKING:
    from ckprof.model.problem import Problem as AnyProblem
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvProblem(Convolution):
    """A grouped convolution and nothing else.

    :raises InputError: a size is not positive, a pad is negative, lengths differ, or the output is empty.
    """

    column_types: ClassVar[Mapping[str, type[int] | type[str]]] = MappingProxyType(
        {
            **dict.fromkeys("GNKC", int),
            **dict.fromkeys(("filter", "input", "strides", "dilations", "left_pads", "right_pads"), str),
        }
    )

    def columns(self) -> dict[str, int | str]:
        """Return the channels, and lengths along the axes joined with ``x``."""
        channels = zip("GNKC", (getattr(self, name) for name in SIZE_NAMES[:4]), strict=True)
        return {**dict(channels), **{name: joined(getattr(self, name)) for name in SIZE_NAMES[4:]}}

    #: What problem sets say of a layer: pads are the same on both sides, the batch is the user's.
    layer_fields: ClassVar[frozenset[str]] = frozenset(
        {"groups", "out_channels", "in_channels", "filter", "input", "strides", "dilations", "pads"}
    )

    @classmethod
    def of_layer(cls, values: Mapping[str, Any], batch: int) -> ConvProblem:
        """Return the convolution of a layer.

        :raises InputError: there is no such convolution, or a value has a wrong type.
        """
        import msgspec

        sizes = {name: value for name, value in values.items() if name != "pads"}
        pads = values["pads"]
        try:
            return msgspec.convert({**sizes, "left_pads": pads, "right_pads": pads, "batch": batch}, cls)
        except msgspec.ValidationError as exc:
            raise InputError(str(exc)) from None

    #: Columns of tables of measured times; N, C and K are those of all groups.
    table_columns: ClassVar[Mapping[str, int | None]] = MappingProxyType(
        {
            **{name: None for name in ("N", "C", "K", "G", "Hi", "Wi", "Y", "X")},
            **{"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, "dilation_h": 1, "dilation_w": 1},
            **{"Di": 1, "Z": 1, "stride_d": 1, "pad_d": 0, "dilation_d": 1},
        }
    )

    @classmethod
    def of_table(cls, values: Mapping[str, int]) -> ConvProblem:
        """Return the convolution of a row: a 2D one, unless it has a depth.

        :raises InputError: channels are no multiples of the groups, or there is no such convolution.
        """
        groups = max(1, values["G"])
        for name in "CK":
            if values[name] % groups:
                raise InputError(f"{name} is {values[name]}, not a multiple of G = {groups}")
        solid = values["Di"] > 1 or values["Z"] > 1

        def along(names: str) -> tuple[int, ...]:
            return tuple(values[name] for name in names.split())

        def by_axis(prefix: str) -> tuple[int, ...]:
            return tuple(values[f"{prefix}_{axis}"] for axis in ("dhw" if solid else "hw"))

        return ConvProblem(
            groups=values["G"],
            batch=values["N"],
            out_channels=values["K"] // groups,
            in_channels=values["C"] // groups,
            filter=along("Z Y X" if solid else "Y X"),
            input=along("Di Hi Wi" if solid else "Hi Wi"),
            strides=by_axis("stride"),
            dilations=by_axis("dilation"),
            left_pads=by_axis("pad"),
            right_pads=by_axis("pad"),
        )


def as_convolution(problem: AnyProblem) -> ConvProblem:
    """Return a problem as what it must be where only convolutions are known.

    :raises InputError: it is one of another operation.
    """
    if not isinstance(problem, ConvProblem):
        raise InputError(f"{problem.describe()}: expected a problem of a convolution")
    return problem


# What a kernel does at the ends of its operands is only seen where tiles do not divide them. So the products
# of matrices that these problems are have tails along M, N and K for nearly every kernel of the shipped
# lists. Sizes are multiples of 8 at most, which vectors of channels need, or of 16 where those do.

#: of one group: one whole tile of 64 and a rest
_IN_CHANNELS: Final = 72
_OUT_CHANNELS: Final = 88


def default_problems(out_channels: int = _OUT_CHANNELS) -> Mapping[int, ConvProblem]:
    """Return number of spatial dimensions -> problem.

    200 to 240 MFLOP each: long enough to measure, short enough for every instance on a CPU.

    :param out_channels: K, which vectors of a direction may need to be a multiple of.
    """
    return MappingProxyType(
        {
            1: _same_size(4, out_channels, (1525,)),
            2: _same_size(4, out_channels, (23, 23)),
            3: _same_size(1, out_channels, (3, 15, 15)),
        }
    )


def _same_size(batch: int, out_channels: int, size: tuple[int, ...]) -> ConvProblem:
    """Return a problem whose filter has three taps along each axis and whose output is as large as its input.

    :param size: lengths of the image.
    """
    ones = (1,) * len(size)
    return ConvProblem(
        groups=1,
        batch=batch,
        out_channels=out_channels,
        in_channels=_IN_CHANNELS,
        filter=(3,) * len(size),
        input=size,
        strides=ones,
        dilations=ones,
        left_pads=ones,
        right_pads=ones,
    )


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
        from ckprof.model.problem_case import ProblemLine
        from ckprof.problems.problem_file import parse_problem

        registry = _registry()
        operations = tuple(registry.operations)
        directions = [operation for operation in operations if ConvProblem in operation.problem_types]
        named = registry.operation(direction) if direction else None
        if named is not None and named not in directions:
            raise UsageError(
                f"{named.id} is not a direction of convolution: read its problems with Profiler.problems"
            )
        first_error: InputError | None = None
        for asked in (
            sorted(directions, key=lambda one: getattr(one, "miopen_flag", 0)) if named is None else [named]
        ):
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
        from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem

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


@cache
def _registry() -> Registry:
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.registry import Registry

    manager = PluginManager()
    manager.load_all()
    return Registry(manager)
