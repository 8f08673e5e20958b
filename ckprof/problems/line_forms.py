"""Problems written as MIOpenDriver lines, as ckProfiler's arguments and as JSON records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.problem import as_convolution
from ckprof.model.problem_types import sizes
from ckprof.problems.miopen_flags import BASES, LAYOUTS
from ckprof.problems.positional import ALL_SPLITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.dtype import DataType
    from ckprof.model.problem import ConvProblem
    from ckprof.plugin.protocols import Direction
    from ckprof.problems.counted import CountedProblem

#: per-axis flags of MIOpenDriver for D, H, W, and the field of the problem that they carry
_AXIS_FLAGS: Final = (
    (("--in_d", "-H", "-W"), "input"),
    (("--fil_d", "-y", "-x"), "filter"),
    (("--pad_d", "-p", "-q"), "left_pads"),
    (("--conv_stride_d", "-u", "-v"), "strides"),
    (("--dilation_d", "-l", "-j"), "dilations"),
)

#: base argument of a problem whose type no other one names
_PLAIN_BASE: Final = "conv"

#: values of ckProfiler's switches that do not change the problem: tested, decimals, quiet, timed, 32 bit
_SWITCHES: Final = {"verify": 1, "init": 1, "log": 0, "time": 1, "index_type": 0}


def to_miopen(one: CountedProblem, direction: Direction | None) -> str:
    """Return the MIOpenDriver line of a problem.

    :param direction: whose pass the line asks for; ``None``: all of them.
    :raises InputError: the line form cannot express the problem, e.g. different pads on the two sides.
    """
    problem = as_convolution(one.problem)
    if problem.left_pads != problem.right_pads:
        raise InputError(
            "MIOpenDriver has the same pads on both sides, not "
            f"{problem.left_pads} and {problem.right_pads}: {problem.describe()}"
        )
    parts: list[str | int] = [_base(one.dtype), "-n", problem.batch]
    parts += ["-c", problem.in_channels * problem.groups, "-k", problem.out_channels * problem.groups]
    for flags, name in _AXIS_FLAGS:
        for flag, value in zip(flags[3 - problem.ndim :], getattr(problem, name), strict=True):
            parts += [flag, value]
    if problem.ndim != 2:
        parts += ["--spatial_dim", problem.ndim]
    if one.layout is not None:
        parts += _layout(one.layout)
    parts += ["-m", "conv", "-g", problem.groups, "-F", direction.miopen_flag if direction else 0]
    return " ".join(map(str, parts))


def _layout(name: str) -> list[str]:
    """Return the flags of a layout.

    :raises InputError: MIOpenDriver has no name for it.
    """
    for text, known in LAYOUTS.items():
        if known == name:
            return ["--in_layout", text, "--fil_layout", text, "--out_layout", text]
    raise InputError(f"MIOpenDriver has no layout {name} ({', '.join(LAYOUTS.values())})")


def _base(dtype: DataType | None) -> str:
    """Return the base argument; plain ``conv`` stands for every type that has none of its own."""
    return {named: base for base, named in BASES.items()}.get(dtype, _PLAIN_BASE)


def to_positional(one: CountedProblem, direction: Direction | None) -> str:
    """Return the ckProfiler line of a problem, or the convolution parameters alone.

    The operation is written when direction, element type and layout are known; otherwise the line has the
    number of dimensions and the convolution parameters, which ``--problem`` takes as well.

    :raises InputError: ckProfiler has no number for the type or the layout.
    """
    numbers = " ".join(map(str, _parameters(as_convolution(one.problem))))
    if direction is None or one.dtype is None or one.layout is None:
        return f"{one.problem.ndim} {numbers}"
    form = direction.positional_form
    values = dict(_SWITCHES)
    values["dtype"] = _number(form.dtypes, one.dtype.value, "type", direction)
    layouts = {number: names[one.problem.ndim - 1] for number, names in form.layouts.items()}
    values["layout"] = _number(layouts, one.layout, "layout", direction)
    values["ndim"] = one.problem.ndim
    leading = " ".join(str(values[name]) for name in form.leading)
    trailing = "".join(f" {_splits(one) if name == 'split_k' else values[name]}" for name in form.trailing)
    return f"ckProfiler {form.operations[0]} {leading} {numbers}{trailing}"


def _splits(one: CountedProblem) -> str:
    """Return ckProfiler's word for the numbers of splits.

    :raises InputError: there are several, but not those that ``all`` stands for.
    """
    if not one.splits:
        return "1"
    if one.splits == ALL_SPLITS:
        return "all"
    if len(one.splits) > 1:
        raise InputError(
            f"ckProfiler takes one number of splits, or all, not {one.splits}: {one.problem.describe()}"
        )
    return str(one.splits[0])


def _number(table: Mapping[int, str | None], wanted: str, what: str, direction: Direction) -> int:
    for number, name in table.items():
        if name == wanted:
            return number
    known = ", ".join(sorted({name for name in table.values() if name}))
    raise InputError(
        f"ckProfiler's {direction.positional_form.operations[0]} has no {what} {wanted} ({known})"
    )


def _parameters(problem: ConvProblem) -> list[int]:
    return [
        problem.groups,
        problem.batch,
        problem.out_channels,
        problem.in_channels,
        *problem.filter,
        *problem.input,
        *problem.strides,
        *problem.dilations,
        *problem.left_pads,
        *problem.right_pads,
    ]


def to_record(one: CountedProblem) -> dict[str, object]:
    """Return the problem as plain JSON values; what the source does not say is left out."""
    record: dict[str, object] = {"name": one.name} if one.name else {}
    record["count"] = one.count
    record |= sizes(one.problem)
    if one.direction is not None:
        record["direction"] = one.direction
    if one.dtype is not None:
        record["dtype"] = one.dtype.value
    if one.layout is not None:
        record["layout"] = one.layout
    if one.splits:
        record["splits"] = list(one.splits)
    return record
