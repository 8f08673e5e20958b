"""How programs call a direction of convolution: ckProfiler, and CK Tile's dispatcher."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Mapping
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
class InterfaceExtension:
    """C functions that the libraries of one direction have beside those that all have."""

    #: declares them for programs; includes nothing of ckprof
    header: Path
    #: C++ that defines them; it stands after the texts of ``ckprof_conv_api.h`` and of the header, and
    #: includes neither
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherForm:
    """How a direction is called through the C interface of CK Tile's dispatcher."""

    #: value of ``ConvProblemC.direction``
    number: int
    #: which of ``input``, ``weight``, ``output`` the arguments ``a``, ``b``, ``c`` of a run are
    buffers: tuple[str, str, str]
    #: further functions that programs expect of the direction's libraries; ``None`` for none
    extension: InterfaceExtension | None = None
