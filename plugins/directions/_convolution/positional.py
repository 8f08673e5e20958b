"""ckProfiler's positional argument lists."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof.errors import InputError
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.model.strings.grammar import shorten
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.ckprofiler_forms import BACKWARD_DATA, BACKWARD_WEIGHT, FORWARD
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import name_of_tags
from ckprof_plugins.directions._convolution.miopen import BASES, LAYOUTS
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.elementwise.combination import Combination

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem_case import ProblemLine, Token
    from ckprof_plugins.directions._convolution.ckprofiler_forms import (
        LineTypes,
        PositionalForm,
        SplitArgument,
    )
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.direction import Direction


#: leading arguments that say something of the problem
_MEANT: Final = ("dtype", "layout", "ndim", "element_op")
#: how an instance begins
_INSTANCE: Final = re.compile(r"[A-Za-z_]\w*<")
_CHANNELS: Final = ("G", "N", "K", "C")
#: The blocks after G N K C, one value per spatial axis each, in this order.
_BLOCKS: Final = ("filter", "input", "strides", "dilations", "left_pads", "right_pads")

_PARAMETERS: Final = (
    "G N K C, then filter, input, strides, dilations, left pads, right pads with NDIM values each"
)

#: ckProfiler reads the arguments in front of the convolution's as C++'s ``int``
_LARGEST: Final = 2**31 - 1

#: how a word begins -> what it is
_UNGROUPED: Final = {
    "depthwise": "a depthwise convolution is {} with G channels, K = 1 and C = 1",
    "conv1d": "a convolution of one dimension is {} with NDIM = 1",
    "conv2d": "a convolution of two dimensions is {} with NDIM = 2",
    "conv3d": "a convolution of three dimensions is {} with NDIM = 3",
    "conv_": "a convolution without groups is {} with G = 1",
}

_Value = TypeVar("_Value", str, "LineTypes")


def form_of(direction: Direction, form: PositionalForm | None = None) -> str:
    """Return what a correct line looks like, for messages."""
    form = form or direction.positional_form
    leading = " ".join(name.upper() for name in form.leading)
    trailing = "".join(f" {name.upper()}" for name in form.trailing)
    return f"{form.operations[0]} {leading} {_PARAMETERS}{trailing}"


def parse_positional(line: ProblemLine, direction: Direction) -> ProblemCase:
    """Parse ``[ckProfiler] OPERATION ...``, or the number of dimensions and the convolution parameters alone.

    :param direction: the direction that is run.
    :raises InputError: a value is no integer, or one is missing or too many.
    """
    tokens, named = _without_options(line.tokens()) if "--" in line.text else (line.tokens(), [])
    if tokens and tokens[0].text.rpartition("/")[2].removesuffix(".exe") == "ckProfiler":
        tokens = tokens[1:]
    if not tokens:
        raise line.error(f"nothing after ckProfiler; form: {form_of(direction)}")
    for form in direction.all_forms:
        if tokens[0].text in form.operations:
            return _CallArguments(line, tokens, direction, form).case(named)
    word = tokens[0].text
    if not word.lstrip("+-").isdecimal():
        expected = _meaning(word, direction) or f"expected a MIOpenDriver conv line or {form_of(direction)}"
        raise line.error(f"{expected}, got {shorten(word)}{_hint(word)}", tokens[0].column)
    ndim = _ndim(line, tokens[0])
    problem = _parse_parameters(line, tokens[1:], ndim, direction, direction.positional_form)
    return ProblemCase(problem=problem)


def _meaning(word: str, direction: Direction) -> str:
    """Return what is expected in place of flags alone, or of an operation without groups; else nothing."""
    if re.fullmatch("-[a-zA-Z]", word):
        return f"expected an operation of MIOpenDriver in front of its flags, such as 'conv {word} ...'"
    if found := re.fullmatch("conv([23])d", word):
        return f"expected MIOpenDriver's 'conv -_ {found[1]} ...' for {found[1]} dimensions"
    what = next((text for part, text in _UNGROUPED.items() if word.startswith(part)), "")
    for form in (FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT):
        operation = form.operations[0]
        if what and operation.removeprefix("grouped_conv") in word:
            return f"{what.format(operation)}; expected {form_of(direction, form)}"
    return ""


def _hint(word: str) -> str:
    """Return which option takes a text that is no problem; empty if none is known to."""
    if _INSTANCE.match(word):
        return "; --conf takes lists of instances"
    return f"; --problems {word} reads problems from the file" if Path(word).is_file() else ""


def _without_options(tokens: list[Token]) -> tuple[list[Token], list[str]]:
    """Return the positional arguments, and the options of 2026, which choose kernels of the same problem."""
    kept: list[Token] = []
    named: list[str] = []
    for token in tokens:
        if token.text in ("--instance", "--list-instances", "--raw-invocation"):
            named.append(token.text)
        elif named and named[-1] == "--instance" and token.text.isdecimal():
            named[-1] += f" {token.text}"
        else:
            kept.append(token)
    return kept, named


class _CallArguments:
    """An operation with its arguments.

    :raises InputError: a leading argument is missing, or has a value that means nothing.
    """

    def __init__(
        self, line: ProblemLine, tokens: list[Token], direction: Direction, form: PositionalForm
    ) -> None:
        self._line = line
        self._word = tokens[0].text
        self._direction = direction
        self._form = form
        head = tokens[1 : 1 + len(form.leading)]
        if len(head) < len(form.leading):
            missing = form.leading[len(head)]
            text = form_of(direction, form)
            raise line.error(f"{missing} (argument {len(head) + 1}) is missing; form: {text}")
        self._leading = dict(zip(form.leading, head, strict=True))
        self._numbers = {name: self._integer(token, name) for name, token in self._leading.items()}
        self._rest = tokens[1 + len(form.leading) :]

    def case(self, options: Sequence[str] = ()) -> ProblemCase:
        """Return the problem, and what the line says of it.

        :param options: parts of the line that choose kernels.
        :raises InputError: a value is wrong, missing or too many.
        """
        form = self._form
        ndim = _ndim(self._line, self._leading["ndim"])
        types = self._chosen("dtype", form.dtypes, "data type")
        tags = self._chosen("layout", form.layouts, "layout")
        choices = {
            name: self._chosen(name, table, name.replace("_", " ")) for name, table in form.choices.items()
        }
        sizes = len(_CHANNELS) + len(_BLOCKS) * ndim
        is_last = self._word == form.operations[-1]
        splits = (form.last_split_k if is_last else None) or form.split_k
        parameters = self._rest[:-1] if form.split_k and len(self._rest) > sizes else self._rest
        problem = _parse_parameters(self._line, parameters, ndim, self._direction, form)
        if form.split_k and len(self._rest) == sizes:
            text = form_of(self._direction, form)
            raise self._line.error(f"split_k, the last argument, is missing; form: {text}")
        text = form.elementwise.format(**choices)
        return ProblemCase(
            problem=FusedConvProblem.of(problem, Combination.parse(text), self._direction.tensors[-1])
            if text
            else problem,
            direction=self._direction.id,
            dtype=types.shared,
            layout=name_of_tags(tags, problem),
            splits=self._splits(self._rest[-1], splits) if splits else (),
            ignored=(
                *(f"{name} {self._leading[name].text}" for name in form.leading if name not in _MEANT),
                *options,
            ),
            notes=self._notes(ndim, types, tags),
            unsupported=self._unsupported(types),
        )

    def _chosen(self, name: str, table: Mapping[int, _Value], what: str) -> _Value:
        """Return what a number stands for.

        :raises InputError: nothing.
        """
        token = self._leading[name]
        try:
            return table[self._numbers[name]]
        except KeyError:
            known = ", ".join(f"{number} {value}" for number, value in table.items())
            raise self._line.error(
                f"{what} {token.text} is not supported for {self._word} (known: {known})", token.column
            ) from None

    def _integer(self, token: Token, name: str) -> int:
        number = self._line.integer(token, name)
        if not -_LARGEST - 1 <= number <= _LARGEST:
            raise self._line.error(f"{name} {token.text} has more than 32 bits", token.column)
        return number

    def _splits(self, token: Token, form: SplitArgument) -> tuple[int, ...]:
        """Return what the last argument asks for: a number, the sweep, or the kernel's choice."""
        if form.word and token.text == form.word:
            return form.sweep
        splits = self._integer(token, "split_k")
        if splits > 0:
            return (splits,)
        if not form.word:
            return form.sweep
        if splits == 0:
            raise self._line.error(
                "split_k is 0, which ckProfiler takes literally: no kernel divides by 0; -1 lets the kernel "
                f"choose, {form.word} tries {', '.join(map(str, form.sweep))}",
                token.column,
            )
        return (AUTO,)

    def _notes(self, ndim: int, types: LineTypes, tags: str) -> tuple[str, ...]:
        """Say so where ckProfiler would understand the line and have no code for it."""
        key = (ndim, self._numbers["layout"])
        known = self._form.implemented
        is_known = not known or self._numbers["dtype"] in known.get(key, ())
        if is_known or self._word != self._form.operations[0]:
            return ()
        return (f"ckProfiler's {self._word} itself does not implement {types} in {tags} in {ndim}D",)

    def _unsupported(self, types: LineTypes) -> str:
        if types.shared is None:
            return f"{self._word} asks for {types}: kernels of these types are not supported"
        return ""


def _ndim(line: ProblemLine, token: Token) -> int:
    ndim = line.integer(token, "the number of spatial dimensions")
    if ndim not in (1, 2, 3):
        raise line.error(f"the number of spatial dimensions must be 1, 2 or 3, not {ndim}", token.column)
    return ndim


#: number of dimensions -> names of the convolution's parameters, in order
_NAMES: Final = {
    ndim: (*_CHANNELS, *(f"{block} {axis}" for block in _BLOCKS for axis in ("D", "H", "W")[3 - ndim :]))
    for ndim in (1, 2, 3)
}


def _parse_parameters(
    line: ProblemLine, tokens: list[Token], ndim: int, direction: Direction, form: PositionalForm
) -> ConvProblem:
    names = _NAMES[ndim]
    # first: what is no number, such as 3x3, may be why the count is wrong
    values = [*map(line.integer, tokens, names)]
    if len(tokens) < len(names):
        raise line.error(
            f"{names[len(tokens)]} is missing: {len(tokens)} of {len(names)} convolution parameters of a "
            f"{ndim}D problem are there; form: {form_of(direction, form)}"
        )
    if len(tokens) > len(names):
        extra = tokens[len(names)]
        raise line.error(
            f"unexpected {extra.text!r}: a {ndim}D problem has {len(names)} convolution parameters; "
            f"form: {form_of(direction, form)}",
            extra.column,
        )
    blocks = {
        block: tuple(values[4 + index * ndim : 4 + (index + 1) * ndim]) for index, block in enumerate(_BLOCKS)
    }
    groups, batch, out_channels, in_channels = values[:4]
    with line.at():
        return ConvProblem(
            groups=groups, batch=batch, out_channels=out_channels, in_channels=in_channels, **blocks
        )


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
    groups = problem.groups
    parts = [_base(case.dtype), f"-n {problem.batch}"]
    parts.append(f"-c {problem.in_channels * groups} -k {problem.out_channels * groups}")
    for flags, name in _AXIS_FLAGS:
        values = zip(flags[3 - problem.ndim :], getattr(problem, name), strict=True)
        parts += [f"{flag} {value}" for flag, value in values]
    if problem.ndim != 2:
        parts.append(f"--spatial_dim {problem.ndim}")
    if case.layout is not None:
        parts += _layout(case.layout)
    parts.append(f"-m conv -g {groups} -F {direction.miopen_flag if direction else 0}")
    return " ".join(parts)


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
    if dtype in (None, DataType.FP32):
        return _PLAIN_BASE
    bases = {named: base for base, named in BASES.items()}
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
    channels = (problem.groups, problem.batch, problem.out_channels, problem.in_channels)
    return [*channels, *chain.from_iterable(getattr(problem, name) for name in _BLOCKS)]
