"""How ckProfiler, as of 2026, and CK Tile's dispatcher call the directions of convolution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.model.problem_case import ALL_SPLITS, AUTO
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTypes:
    """What a number for the data type stands for."""

    input: str
    weight: str
    output: str
    #: what products are computed in, where it is not the operands' types
    compute: str = ""

    @classmethod
    def all(cls, name: str) -> LineTypes:
        """Return one type for the three tensors."""
        return cls(input=name, weight=name, output=name)

    @property
    def shared(self) -> DataType | None:
        """The type of the three tensors and of the products; ``None`` if there are several."""
        if self.compute or {self.input, self.weight, self.output} != {self.input}:
            return None
        return DataType(self.input)

    def __str__(self) -> str:
        if self.input == self.weight == self.output:
            tensors = self.input
        else:
            tensors = f"{self.input}*{self.weight}->{self.output}"
        return f"{tensors} by {self.compute}" if self.compute else tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitArgument:
    """What the last argument of an operation that divides its reduction can be, beside a number."""

    #: numbers of splits that it tries when it is asked for its sweep
    sweep: tuple[int, ...]
    #: asks for the sweep; empty: every number below 1 does
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionalForm:
    """How a direction's operation is called on ckProfiler's command line."""

    #: operation names, e.g. ``grouped_conv_fwd`` and ``grouped_conv_fwd_tile``
    operations: tuple[str, ...]
    #: names of the positional arguments between the operation and the convolution parameters, in order;
    #: ``dtype``, ``layout`` and ``ndim`` are among them
    leading: tuple[str, ...]
    #: data type number -> what it stands for
    dtypes: Mapping[int, LineTypes]
    #: layout number -> tags of input, weight and output in two dimensions, e.g. ``NHWGC/GKYXC/NHWGK``
    layouts: Mapping[int, str]
    #: what follows the convolution parameters; ``None``: nothing
    split_k: SplitArgument | None = None
    #: the same of the last of several operations, where it differs
    last_split_k: SplitArgument | None = None
    #: values of other leading arguments that are not free -> what they stand for
    choices: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    #: (dimensions, layout number) -> data type numbers that the first of the operations has code for
    implemented: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    #: what is computed beside the convolution, see :meth:`Combination.parse
    #: <ckprof_plugins.elementwise.combination.Combination.parse>`, with values of leading arguments in
    #: braces; empty: nothing
    elementwise: str = ""

    @property
    def trailing(self) -> tuple[str, ...]:
        """Names of the arguments after the convolution parameters."""
        return ("split_k",) if self.split_k else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherForm:
    """How a direction is called through the C interface of CK Tile's dispatcher."""

    #: value of ``ConvProblemC.direction``
    number: int
    #: which of ``input``, ``weight``, ``output`` the arguments ``a``, ``b``, ``c`` of a run are
    buffers: tuple[str, str, str]
    #: declares further C functions, which programs expect of the direction's libraries; includes nothing of
    #: ckprof
    header: Path | None = None
    #: C++ that defines them; it stands after the texts of ``ckprof_conv_api.h`` and of the header, and
    #: includes neither
    source: Path | None = None


_SWITCHES: Final = ("verify", "init", "log", "time")
_FORWARD_LEADING: Final = ("dtype", "layout", "index_type", *_SWITCHES, "ndim")
_GRADIENT_LEADING: Final = ("dtype", "layout", *_SWITCHES, "ndim")

_INDEX_TYPES: Final = MappingProxyType({0: "32 bit", 1: "64 bit"})

_LAYOUTS: Final = MappingProxyType(
    {
        0: "GNHWC/GKYXC/GNHWK",
        1: "NHWGC/GKYXC/NHWGK",
        2: "NGCHW/GKYXC/NGKHW",
        3: "NGCHW/GKCYX/NGKHW",
    }
)
_WEIGHT_LAYOUTS: Final = MappingProxyType(
    {
        0: "GNCHW/GKCYX/GNKHW",
        1: "GNHWC/GKYXC/GNHWK",
        2: "NHWGC/GKYXC/NHWGK",
        3: "NGCHW/GKYXC/NGKHW",
        4: "NGCHW/GKCYX/NGKHW",
    }
)

_FLOAT8: Final = (
    LineTypes.all("fp8"),
    LineTypes(input="bf8", weight="bf8", output="fp8"),
    LineTypes(input="fp8", weight="bf8", output="fp8"),
    LineTypes(input="bf8", weight="fp8", output="fp8"),
)
_TF32: Final = LineTypes(input="fp32", weight="fp32", output="fp32", compute="tf32")
_FLOATS: Final = tuple(map(LineTypes.all, ("fp32", "fp16", "bf16")))


def _numbered(types: Iterable[LineTypes]) -> Mapping[int, LineTypes]:
    return MappingProxyType(dict(enumerate(types)))


def _implemented(
    rows: Iterable[tuple[str, str, Iterable[int]]],
) -> Mapping[tuple[int, int], frozenset[int]]:
    """Return the table of rows: dimensions, layouts, types."""
    return MappingProxyType(
        {
            (int(ndim), int(layout)): frozenset(types)
            for ndims, layouts, types in rows
            for ndim in ndims
            for layout in layouts
        }
    )


_FORWARD_TYPES: Final = _numbered((*_FLOATS, LineTypes.all("int8"), *_FLOAT8, _TF32))

FORWARD: Final = PositionalForm(
    operations=("grouped_conv_fwd", "grouped_conv_fwd_tile"),
    leading=_FORWARD_LEADING,
    dtypes=_FORWARD_TYPES,
    layouts=_LAYOUTS,
    choices=MappingProxyType({"index_type": _INDEX_TYPES}),
    implemented=_implemented(
        [
            ("12", "01", (0, 1, 2, 3, 8)),
            ("2", "23", (0, 1, 2, 8)),
            ("3", "0", (0, 1, 2, 3, 8)),
            ("3", "1", range(9)),
            ("3", "3", (0, 1, 2, 8)),
        ]
    ),
)

CLAMPED: Final = replace(
    FORWARD,
    operations=("grouped_conv_fwd_clamp",),
    choices=MappingProxyType({"index_type": MappingProxyType({0: "32 bit"})}),
    implemented=_implemented([("23", "1", (0, 1, 2, 8))]),
    # the operation is constructed without limits
    elementwise="Clamp,floor=0,ceiling=max",
)

BIASED_AND_CLAMPED: Final = replace(
    CLAMPED, operations=("grouped_conv_fwd_bias_clamp",), elementwise="AddClamp,floor=0,ceiling=256,bias=full"
)

SCALED: Final = PositionalForm(
    operations=("grouped_conv_fwd_outelementop",),
    leading=("dtype", "element_op", "layout", *_SWITCHES, "ndim"),
    dtypes=_numbered(_FLOAT8),
    layouts=MappingProxyType({number: _LAYOUTS[number] for number in (0, 1)}),
    choices=MappingProxyType({"element_op": MappingProxyType({0: "ConvScale", 1: "ConvInvscale"})}),
    implemented=_implemented([("3", "1", range(4))]),
    # it draws the scales
    elementwise="{element_op}",
)

BACKWARD_DATA: Final = PositionalForm(
    operations=("grouped_conv_bwd_data", "grouped_conv_bwd_data_tile"),
    leading=_GRADIENT_LEADING,
    dtypes=_numbered((*_FLOATS, _TF32)),
    layouts=_LAYOUTS,
    split_k=SplitArgument(sweep=tuple(splits for splits in ALL_SPLITS if splits != AUTO)),
    last_split_k=SplitArgument(sweep=ALL_SPLITS, word="all"),
    # in three dimensions, its test for layout 3 is one for layout 2 once more
    implemented=_implemented([("2", "0123", range(4)), ("3", "012", range(4))]),
)

BACKWARD_WEIGHT: Final = PositionalForm(
    operations=("grouped_conv_bwd_weight", "grouped_conv_bwd_weight_tile"),
    leading=_GRADIENT_LEADING,
    dtypes=_numbered(
        (
            *(LineTypes.all(name) for name in ("fp32", "fp16")),
            LineTypes(input="bf16", weight="fp32", output="bf16"),
            LineTypes(input="fp16", weight="fp16", output="fp16", compute="bf8*fp8"),
            *(LineTypes.all(name) for name in ("int8", "bf16")),
            _TF32,
        )
    ),
    layouts=_WEIGHT_LAYOUTS,
    split_k=SplitArgument(sweep=ALL_SPLITS, word="all"),
    implemented=_implemented(
        [
            ("12", "1", (0, 1, 2, 6)),
            ("2", "2", (0, 1, 2, 5, 6)),
            ("23", "3", (1, 5)),
            ("23", "4", (0, 1, 5, 6)),
            ("3", "1", (0, 1, 2, 4, 6)),
            ("3", "2", range(7)),
        ]
    ),
)

#: id of a direction -> forms of its operations with more than a convolution. They are no attribute of
#: directions: a plugin's direction that is made from one of these computes the same, but is not asked for by
#: these words.
FUSED: Final[Mapping[str, tuple[PositionalForm, ...]]] = MappingProxyType(
    {"fwd": (CLAMPED, BIASED_AND_CLAMPED, SCALED)}
)
