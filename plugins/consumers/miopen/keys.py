"""MIOpen's two keys of a convolution: of find-dbs, and of performance databases.

In both, ``in`` is what the direction reads: x forward, y of both gradients, whose ``out`` is x. Channels are
those of all groups. A key of a performance database lacks ``out``: of gradients, x is known but for what a
stride leaves out, and the smallest x is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.kernels import SIZES
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES
from ckprof_plugins.directions._convolution.problem import ConvProblem

#: letter of a key -> id of the direction
DIRECTIONS: Final[Mapping[str, str]] = {"F": "fwd", "B": "bwd_data", "W": "bwd_weight"}
LETTERS: Final = {id_: letter for letter, id_ in DIRECTIONS.items()}
#: names of types in keys -> ours
TYPES: Final[Mapping[str, str]] = {
    "FP32": "fp32",
    "FP16": "fp16",
    "BF16": "bf16",
    "INT8": "s8",
    "INT32": "s32",
    "INT64": "s64",
    "FP64": "fp64",
    "FP8": "fp8",
    "BF8": "bf8",
}
#: layouts that keys can have; the library finds others, which it calls by their order
CHANNELS_FIRST: Final = ("NCHW", "NCDHW")
CHANNELS_LAST: Final = ("NHWC", "NDHWC")
_LAYOUT: Final = "(?:NCHWc?|NHWC|CHWNc?|NCDHW|NDHWC)"
_TYPE: Final = f"(?:{'|'.join(TYPES)})"

#: columns of the table ``config`` of a database, texts first, as the library makes them
TEXT_COLUMNS: Final = ("layout", "data_type", "direction")
NUMBER_COLUMNS: Final = (
    *("spatial_dim", "in_channels", "in_h", "in_w", "in_d", "fil_h", "fil_w", "fil_d"),
    *("out_channels", "batchsize", "pad_h", "pad_w", "pad_d"),
    *("conv_stride_h", "conv_stride_w", "conv_stride_d", "dilation_h", "dilation_w", "dilation_d"),
    *("bias", "group_count"),
)
COLUMNS: Final = (*TEXT_COLUMNS, *NUMBER_COLUMNS)


def _find_pattern(axes: str) -> re.Pattern[str]:
    def lengths(column: str, between: str = "x") -> str:
        return between.join(rf"(?P<{column}_{axis}>\d+)" for axis in axes)

    return re.compile(
        rf"(?P<in_channels>\d+)-{lengths('in', '-')}-{lengths('fil')}"
        rf"-(?P<out_channels>\d+)-{lengths('out', '-')}-(?P<batchsize>\d+)"
        rf"-{lengths('pad')}-{lengths('conv_stride')}-{lengths('dilation')}-(?P<bias>\d+)"
        rf"-({_LAYOUT})(?:-({_LAYOUT})-({_LAYOUT}))?-({_TYPE}+)-([FBW])"
        rf"(?:_g(?P<group_count>\d+))?((?:_c[iwo]{_TYPE})*)(_cxTF32)?"
    )


#: number of dimensions -> letters of the axes
_AXES: Final = {2: "hw", 3: "dhw"}
#: what a row has of the axis that two dimensions lack
_FLAT: Final = {"in_d": 1, "fil_d": 1, "pad_d": 0, "conv_stride_d": 0, "dilation_d": 0}
#: letters of the axes -> how a key of a find-db looks
_FIND: Final = {axes: _find_pattern(axes) for axes in _AXES.values()}
_PERF: Final = re.compile(
    r"(\d+)" + r"x(\d+)" * (len(NUMBER_COLUMNS) - 1) + rf"x({_LAYOUT})x({_TYPE}+)x([FBW])(xTF32)?"
)


class WrongKeyError(Exception):
    """A key that no convolution has."""


class MiopenKey(NamedTuple):
    """What a key says."""

    #: name of a column of numbers -> its number; without those of an axis that there is not
    numbers: Mapping[str, int]
    layouts: tuple[str, ...]
    #: types as the key spells them
    types: str
    #: ``F``, ``B`` or ``W``
    letter: str
    #: lengths in the order D, H, W; ``None``: the key does not say them
    output: tuple[int, ...] | None = None
    #: casts of tensors as the key spells them
    casts: str = ""
    #: true where products of FP32 are computed as TF32
    is_tf32: bool = False

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return self.numbers["spatial_dim"]

    def along(self, column: str) -> tuple[int, ...]:
        """Return the numbers of the axes, in the order D, H, W, e.g. of ``conv_stride``."""
        return tuple(self.numbers[f"{column}_{axis}"] for axis in _AXES[self.ndim])

    @property
    def direction(self) -> str:
        """Id of the direction."""
        return DIRECTIONS[self.letter]

    @property
    def dtype(self) -> str:
        """Our name of the type of all tensors; empty where they differ."""
        return TYPES.get(self.types, "")

    @property
    def is_channels_first(self) -> bool:
        """True if all tensors have the layout that the library transposes for Composable Kernel."""
        return set(self.layouts) <= {CHANNELS_FIRST[self.ndim - 2]}

    @property
    def is_channels_last(self) -> bool:
        """True if all tensors have the layout that Composable Kernel reads."""
        return set(self.layouts) <= {CHANNELS_LAST[self.ndim - 2]}

    def find_text(self) -> str:
        """Return the key of a find-db. The lengths of the output must be known."""
        assert self.output is not None  # noqa: S101 - the caller's duty
        number = self.numbers
        taps, *rest = (
            "x".join(map(str, self.along(one))) for one in ("fil", "pad", "conv_stride", "dilation")
        )
        first = self.layouts[0]
        usual = first in CHANNELS_FIRST and set(self.layouts) == {first}
        layouts = [first] if usual else self.layouts * (3 if len(self.layouts) == 1 else 1)
        parts = [number["in_channels"], *self.along("in"), taps, number["out_channels"], *self.output]
        parts += [number["batchsize"], *rest, number["bias"], *layouts, self.types, self.letter]
        groups = f"_g{number['group_count']}" if number["group_count"] != 1 else ""
        return "-".join(map(str, parts)) + groups + self.casts + ("_cxTF32" if self.is_tf32 else "")

    def columns(self) -> dict[str, int | str]:
        """Return the row of the table ``config``, texts first."""
        texts = zip(TEXT_COLUMNS, (self.layouts[0], self.types, self.letter), strict=True)
        row: dict[str, int | str] = {**_FLAT, **self.numbers, **dict(texts)}
        return {name: row[name] for name in COLUMNS}

    def perf_text(self) -> str:
        """Return the key of a performance database in text form."""
        columns = self.columns()
        text = "x".join(str(columns[name]) for name in (*NUMBER_COLUMNS, *TEXT_COLUMNS))
        return text + ("xTF32" if self.is_tf32 else "")

    def problem(self) -> ConvProblem:
        """Return the convolution.

        :raises WrongKeyError: there is none.
        """
        groups, filter_, pads = self.numbers["group_count"], self.along("fil"), self.along("pad")
        strides, dilations = self.along("conv_stride"), self.along("dilation")
        sides = [(self.numbers["in_channels"], self.along("in")), (self.numbers["out_channels"], self.output)]
        (x_channels, x), (y_channels, y) = sides if self.letter == "F" else reversed(sides)
        if not groups or x_channels % groups or y_channels % groups:
            raise WrongKeyError(
                f"{groups} groups do not divide {x_channels} input and {y_channels} output channels"
            )
        if x is None:
            assert y is not None  # noqa: S101 - a key has one of them
            x = tuple(
                (size - 1) * stride + (taps - 1) * dilation + 1 - 2 * pad
                for size, stride, taps, dilation, pad in zip(
                    y, strides, filter_, dilations, pads, strict=True
                )
            )
        channels = (y_channels // groups, x_channels // groups)
        sizes = (groups, self.numbers["batchsize"], *channels, filter_, x, strides, dilations, pads, pads)
        try:
            problem = _convolution(**dict(zip(SIZE_NAMES, sizes, strict=True)))
        except InputError as exc:
            raise WrongKeyError(exc.message) from None
        if y is not None and problem.output != y:
            expected, said = ("x".join(map(str, lengths)) for lengths in (problem.output, y))
            raise WrongKeyError(f"y is {said}, but x, filter, pads and strides give {expected}")
        return problem


#: equal rows of several databases give one object
_convolution: Final = lru_cache(maxsize=1 << 14)(ConvProblem)


def parse_find_key(text: str) -> MiopenKey:
    """Read the key of a find-db.

    :raises WrongKeyError: it is none.
    """
    for axes, pattern in _FIND.items():
        found = pattern.fullmatch(text)
        if found is not None:
            numbers = {name: _number(value) for name, value in found.groupdict("1").items()}
            named = pattern.groupindex.values()
            texts = [one or "" for place, one in enumerate(found.groups(), 1) if place not in named]
            layouts, (types, letter, casts, tf32) = tuple(filter(None, texts[:3])), texts[3:]
            output = tuple(numbers.pop(f"out_{axis}") for axis in axes)
            numbers = {"spatial_dim": len(axes), **numbers}
            return MiopenKey(numbers, layouts, types, letter, output, casts, bool(tf32))
    raise WrongKeyError(
        "expected C-[D-]H-W-[Zx]YxX-K-[Do-]Ho-Wo-N-pads-strides-dilations-bias-layout-type-"
        "F|B|W[_gG][_cxTF32]"
    )


def parse_perf_key(text: str) -> MiopenKey:
    """Read the key of a performance database.

    :raises WrongKeyError: it is none.
    """
    found = _PERF.fullmatch(text)
    if found is None:
        raise WrongKeyError(f"expected {'x'.join((*NUMBER_COLUMNS, *TEXT_COLUMNS))}")
    *texts, tf32 = found.groups()
    numbers = dict(zip(NUMBER_COLUMNS, map(_number, texts[: len(NUMBER_COLUMNS)]), strict=True))
    columns = {**numbers, **dict(zip(TEXT_COLUMNS, texts[len(NUMBER_COLUMNS) :], strict=True))}
    return of_columns(columns)._replace(is_tf32=bool(tf32))


def of_columns(row: Mapping[str, object]) -> MiopenKey:
    """Return what a row of the table ``config`` says.

    :raises WrongKeyError: a cell is of another kind, or there is no such convolution.
    """
    number: dict[str, int] = {}
    for name in NUMBER_COLUMNS:
        value = row.get(name)
        if not isinstance(value, int) or value < 0:
            raise WrongKeyError(f"{name} is {value!r}, expected a number")
        number[name] = value
    layout, types, letter = (row.get(name) for name in TEXT_COLUMNS)
    if letter not in DIRECTIONS:
        raise WrongKeyError(f"direction is {letter!r}, expected F, B or W")
    if not isinstance(types, str) or not isinstance(layout, str):
        raise WrongKeyError(f"layout and data_type are {layout!r} and {types!r}, expected texts")
    if number["spatial_dim"] not in _AXES:
        raise WrongKeyError(f"spatial_dim is {number['spatial_dim']}, expected 2 or 3")
    if number["spatial_dim"] == 2:
        number = {name: value for name, value in number.items() if name not in _FLAT}
    return MiopenKey(number, (layout,), types, str(letter))


def of_problem(problem: ConvProblem, direction: str, types: str, layout: str) -> MiopenKey:
    """Return the key of a convolution whose pads are the same on both sides.

    :param types: of the tensors as keys spell them.
    :param layout: of all tensors.
    """
    x = (problem.groups * problem.in_channels, problem.input)
    y = (problem.groups * problem.out_channels, problem.output)
    (in_channels, input), (out_channels, output) = (x, y) if direction == DIRECTIONS["F"] else (y, x)
    numbers = {
        "spatial_dim": problem.ndim,
        "in_channels": in_channels,
        "out_channels": out_channels,
        "batchsize": problem.batch,
        "bias": 0,
        "group_count": problem.groups,
    }
    along = {
        "in": input,
        "fil": problem.filter,
        "pad": problem.left_pads,
        "conv_stride": problem.strides,
        "dilation": problem.dilations,
    }
    for column, sizes in along.items():
        numbers |= {f"{column}_{axis}": one for axis, one in zip(_AXES[problem.ndim], sizes, strict=True)}
    return MiopenKey(numbers, (layout,), types, LETTERS[direction], output)


_ALIGNMENT: Final = 256
#: bytes of an element of the buffer for sums
_SUM_SIZE: Final = 4


def workspace_bytes(key: MiopenKey, problem: ConvProblem) -> int:
    """Return the bytes of workspace that a find-db states for a key.

    :param key: of one type for all tensors.
    """
    groups, size = problem.groups, SIZES[key.dtype]
    x = problem.batch * groups * problem.in_channels * prod(problem.input)
    y = problem.batch * groups * problem.out_channels * prod(problem.output)
    weight = groups * problem.out_channels * problem.in_channels * prod(problem.filter)
    sums = 0
    if key.letter == "W" and key.dtype == "fp16" and (problem.in_channels % 2 or problem.out_channels % 2):
        # "out" of a weight gradient is x
        sums = _SUM_SIZE * x
    if not key.is_channels_first:
        return sums
    buffers = [x * size, y * size, weight * size, sums]
    return sum(-(-one // _ALIGNMENT) * _ALIGNMENT for one in buffers)


def _number(text: str) -> int:
    if len(text) > 18:
        raise WrongKeyError(f"{text[:20]}... is too large")
    return int(text)
