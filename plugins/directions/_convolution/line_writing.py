"""Problems written as MIOpenDriver lines and as ckProfiler's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.problem_case import AUTO
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import name_of_tags
from ckprof_plugins.directions._convolution.miopen import BASES, LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem_case import ProblemCase
    from ckprof_plugins.directions._convolution.ckprofiler_forms import SplitArgument
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.direction import Direction

#: per-axis flags of MIOpenDriver for D, H, W, and the field of the problem that they carry
_AXIS_FLAGS: Final = (
    (("--in_d", "-H", "-W"), "input"),
    (("--fil_d", "-y", "-x"), "filter"),
    (("--pad_d", "-p", "-q"), "left_pads"),
    (("--conv_stride_d", "-u", "-v"), "strides"),
    (("--dilation_d", "-l", "-j"), "dilations"),
)

#: base argument of problems of fp32, and of those that name no type
_PLAIN_BASE: Final = "conv"

#: values of ckProfiler's switches that do not change the problem: tested, decimals, quiet, timed, 32 bit
_SWITCHES: Final = {"verify": 1, "init": 1, "log": 0, "time": 1, "index_type": 0}


def to_miopen(case: ProblemCase, problem: Convolution, direction: Direction | None) -> str:
    """Return the MIOpenDriver line of a problem.

    :param direction: whose pass the line asks for; ``None``: all of them.
    :raises InputError: the line form cannot express the problem, e.g. different pads on the two sides.
    """
    if problem.left_pads != problem.right_pads:
        raise InputError(
            "MIOpenDriver has the same pads on both sides, not "
            f"{problem.left_pads} and {problem.right_pads}: {problem.describe()}"
        )
    parts: list[str | int] = [_base(case.dtype), "-n", problem.batch]
    parts += ["-c", problem.in_channels * problem.groups, "-k", problem.out_channels * problem.groups]
    for flags, name in _AXIS_FLAGS:
        for flag, value in zip(flags[3 - problem.ndim :], getattr(problem, name), strict=True):
            parts += [flag, value]
    if problem.ndim != 2:
        parts += ["--spatial_dim", problem.ndim]
    if case.layout is not None:
        parts += _layout(case.layout)
    parts += ["-m", "conv", "-g", problem.groups, "-F", direction.miopen_flag if direction else 0]
    return " ".join(map(str, parts))


def _layout(name: str) -> list[str]:
    """Return the flags of a layout.

    :raises InputError: MIOpenDriver has no name for it.
    """
    for text, layout in LAYOUTS.items():
        if layout == name:
            return ["--in_layout", text, "--fil_layout", text, "--out_layout", text]
    raise InputError(f"MIOpenDriver has no layout {name} ({', '.join(LAYOUTS.values())})")


def _base(dtype: DataType | None) -> str:
    """Return the base argument.

    :raises InputError: lines with that of the type are not read.
    """
    bases = {named: base for base, named in BASES.items()}
    if dtype in (None, DataType.FP32):
        return _PLAIN_BASE
    if dtype not in bases:
        raise InputError(f"MIOpenDriver lines of type {dtype.value} are not supported ({', '.join(BASES)})")
    return bases[dtype]


def to_positional(case: ProblemCase, problem: Convolution, direction: Direction | None) -> str:
    """Return the ckProfiler line of a problem, or the convolution parameters alone.

    The operation is written when direction, element type and layout are known; otherwise the line has the
    number of dimensions and the convolution parameters, which ``--problem`` takes as well.

    :raises InputError: ckProfiler has no number for the type or the layout.
    """
    numbers = " ".join(map(str, _parameters(problem)))
    if direction is None or case.dtype is None or case.layout is None:
        return f"{problem.ndim} {numbers}"
    form = direction.positional_form
    types = {number: str(named) for number, named in form.dtypes.items()}
    layouts = {number: name_of_tags(tags, problem) for number, tags in form.layouts.items()}
    values = dict(_SWITCHES)
    values["dtype"] = _number(types, case.dtype.value, "type", direction)
    values["layout"] = _number(layouts, case.layout, "layout", direction)
    values["ndim"] = problem.ndim
    known = form.implemented
    if known and values["dtype"] not in known.get((problem.ndim, values["layout"]), ()):
        raise InputError(
            f"ckProfiler's {form.operations[0]} has no code for {case.dtype.value} in {case.layout}: "
            f"{problem.describe()}"
        )
    leading = " ".join(str(values[name]) for name in form.leading)
    trailing = f" {_splits(case, form.split_k)}" if form.split_k else ""
    return f"ckProfiler {form.operations[0]} {leading} {numbers}{trailing}"


def _splits(case: ProblemCase, form: SplitArgument) -> str:
    """Return ckProfiler's word for the numbers of splits.

    :raises InputError: it has none.
    """
    if not case.splits:
        return "1"
    if case.splits == form.sweep:
        return form.word or "0"
    if len(case.splits) > 1 or (case.splits == (AUTO,) and not form.word):
        sweep = ", ".join(map(str, form.sweep))
        raise InputError(
            f"ckProfiler takes one number of splits, or {sweep} together, not {case.splits}: "
            f"{case.problem.describe()}"
        )
    return str(case.splits[0])


def _number(table: Mapping[int, str], wanted: str, what: str, direction: Direction) -> int:
    for number, name in table.items():
        if name == wanted:
            return number
    expected = ", ".join(sorted(set(table.values())))
    raise InputError(
        f"ckProfiler's {direction.positional_form.operations[0]} has no {what} {wanted} ({expected})"
    )


def _parameters(problem: Convolution) -> list[int]:
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
