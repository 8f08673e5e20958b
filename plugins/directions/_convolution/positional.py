"""ckProfiler's positional argument lists."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.problem_case import ALL_SPLITS, AUTO, ProblemCase
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from ckprof.model.problem_line import ProblemLine, Token
    from ckprof_plugins.directions._convolution.direction import Direction
    from ckprof_plugins.directions._convolution.forms import PositionalForm

#: The blocks after G N K C, one value per spatial axis each, in this order.
_BLOCKS: Final = ("filter", "input", "strides", "dilations", "left_pads", "right_pads")

_PARAMETERS: Final = (
    "G N K C, then filter, input, strides, dilations, left pads, right pads with NDIM values each"
)


def form_of(direction: Direction) -> str:
    """Return what a correct line looks like, for messages."""
    form = direction.positional_form
    leading = " ".join(name.upper() for name in form.leading)
    trailing = "".join(f" {name.upper()}" for name in form.trailing)
    return f"{form.operations[0]} {leading} {_PARAMETERS}{trailing}"


def parse_positional(line: ProblemLine, direction: Direction) -> ProblemCase:
    """Parse ``[ckProfiler] OPERATION ...``, or the number of dimensions and the convolution parameters alone.

    :param direction: the direction that is run.
    :raises InputError: a value is no integer, or one is missing or too many.
    """
    tokens = line.tokens()
    if PurePosixPath(tokens[0].text).name.removesuffix(".exe") == "ckProfiler":
        tokens = tokens[1:]
    if not tokens:
        raise line.error(f"nothing after ckProfiler; form: {form_of(direction)}")
    form = direction.positional_form
    if tokens[0].text in form.operations:
        return _parse_operation(line, tokens, direction, form)
    if not tokens[0].text.lstrip("+-").isdecimal():
        raise line.error(
            f"expected a MIOpenDriver conv line or {form_of(direction)}, got {tokens[0].text!r}",
            tokens[0].column,
        )
    ndim = _ndim(line, tokens[0])
    return ProblemCase(problem=_parse_parameters(line, tokens[1:], ndim, direction))


def _parse_operation(
    line: ProblemLine, tokens: list[Token], direction: Direction, form: PositionalForm
) -> ProblemCase:
    head = tokens[1 : 1 + len(form.leading)]
    if len(head) < len(form.leading):
        missing = form.leading[len(head)]
        raise line.error(f"{missing} (argument {len(head) + 1}) is missing; form: {form_of(direction)}")
    leading = dict(zip(form.leading, head, strict=True))
    numbers = {name: line.integer(token, name) for name, token in leading.items()}
    ndim = _ndim(line, leading["ndim"])
    dtype_token, layout_token = leading["dtype"], leading["layout"]
    if numbers["dtype"] not in form.dtypes:
        expected = ", ".join(f"{number} {name}" for number, name in form.dtypes.items())
        raise line.error(
            f"data type {dtype_token.text} is not supported for {direction.id} (known: {expected})",
            dtype_token.column,
        )
    if numbers["layout"] not in form.layouts:
        expected = ", ".join(
            f"{number} {'/'.join(name for name in names if name)}" for number, names in form.layouts.items()
        )
        raise line.error(
            f"layout {layout_token.text} is not supported for {direction.id} (known: {expected})",
            layout_token.column,
        )
    layout = form.layouts[numbers["layout"]][ndim - 1]
    if layout is None:
        raise line.error(
            f"layout {layout_token.text} is not supported for {ndim}D problems of {direction.id}",
            layout_token.column,
        )
    rest = tokens[1 + len(form.leading) :]
    parameters = rest[: len(rest) - len(form.trailing)] if form.trailing else rest
    problem = _parse_parameters(line, parameters, ndim, direction)
    trailing = dict(zip(form.trailing, rest[len(parameters) :], strict=True))
    return ProblemCase(
        problem=problem,
        direction=direction.id,
        dtype=DataType(form.dtypes[numbers["dtype"]]),
        layout=layout,
        splits=_splits(line, trailing["split_k"]) if "split_k" in trailing else (),
        ignored=tuple(
            f"{name} {token.text}"
            for name, token in leading.items()
            if name not in ("dtype", "layout", "ndim")
        ),
    )


def _splits(line: ProblemLine, token: Token) -> tuple[int, ...]:
    """Return what ckProfiler's last argument asks for: a number, all of its sweep, or the kernel's choice."""
    if token.text == "all":
        return ALL_SPLITS
    splits = line.integer(token, "split_k")
    return (splits if splits > 0 else AUTO,)


def _ndim(line: ProblemLine, token: Token) -> int:
    ndim = line.integer(token, "the number of spatial dimensions")
    if ndim not in (1, 2, 3):
        raise line.error(f"the number of spatial dimensions must be 1, 2 or 3, not {ndim}", token.column)
    return ndim


def _parse_parameters(line: ProblemLine, tokens: list[Token], ndim: int, direction: Direction) -> ConvProblem:
    names = ["G", "N", "K", "C"]
    names += [f"{block} {axis}" for block in _BLOCKS for axis in ("D", "H", "W")[3 - ndim :]]
    if len(tokens) < len(names):
        raise line.error(
            f"{names[len(tokens)]} is missing: {len(tokens)} of {len(names)} convolution parameters of a "
            f"{ndim}D problem are there; form: {form_of(direction)}"
        )
    if len(tokens) > len(names):
        extra = tokens[len(names)]
        raise line.error(
            f"unexpected {extra.text!r}: a {ndim}D problem has {len(names)} convolution parameters; "
            f"form: {form_of(direction)}",
            extra.column,
        )
    values = [line.integer(token, name) for name, token in zip(names, tokens, strict=True)]
    blocks = {
        block: tuple(values[4 + index * ndim : 4 + (index + 1) * ndim]) for index, block in enumerate(_BLOCKS)
    }
    groups, batch, out_channels, in_channels = values[:4]
    try:
        return ConvProblem(
            groups=groups, batch=batch, out_channels=out_channels, in_channels=in_channels, **blocks
        )
    except InputError as exc:
        raise line.error(exc.message) from None
