"""What ckProfiler's operations on matrices take, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Mapping

#: number -> layout
LAYOUTS: Final = MappingProxyType({0: "rrr", 1: "rcr", 2: "crr", 3: "ccr"})

#: arguments that do not change the problem
SWITCHES: Final = ("verify", "init", "log", "time")
_STRIDES: Final = ("StrideA", "StrideB", "StrideC")
_HEAD: Final = ("dtype", "layout", *SWITCHES)
#: what all but one operation begin with
BASE_ARGUMENTS: Final = (*_HEAD, "M", "N", "K", *_STRIDES)

_TYPES: Final = MappingProxyType({0: DataType.FP32, 1: DataType.FP16, 2: DataType.BF16, 3: DataType.INT8})
_MIXED: Final = MappingProxyType(
    {
        4: "operands of two types, fp8 and fp16",
        5: "operands of two types, fp16 and fp8",
        6: "fp16 that is multiplied as fp8",
        7: "fp8 with a result in bf16",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineForm:
    """One operation."""

    word: str
    #: names of the arguments that it must have, in order
    required: tuple[str, ...]
    #: names of those that may follow
    optional: tuple[str, ...] = ()
    #: how many of the optional ones may be given
    groups: tuple[int, ...] = (0,)
    #: number -> type of the operands
    dtypes: Mapping[int, DataType] = field(default_factory=lambda: _TYPES)
    #: number -> what it stands for, of types that ckprof has no kernels for
    unsupported: Mapping[int, str] = field(default_factory=dict)
    #: numbers of splits that a KBatch of less than 1 tries
    all_splits: tuple[int, ...] = ()
    #: whether M and N are exchanged for sizes that suit the kernels better so
    swaps: bool = False
    #: why its problems cannot be run; empty if they can
    refused: str = ""
    #: how products are combined with D tensors, of which ``StrideD0`` and so on are the strides
    elementwise_op: ElementwiseOp | None = None

    @property
    def d_count(self) -> int:
        """D tensors."""
        return sum(name.startswith("StrideD") for name in self.required)

    @property
    def counts(self) -> frozenset[int]:
        """Numbers of arguments that it can have."""
        return frozenset(len(self.required) + count for count in self.groups)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the arguments that do not change the problem."""
        return (*SWITCHES, *(name for name in self.optional if name != "KBatch"))

    @property
    def text(self) -> str:
        """What a correct line looks like, for messages."""
        further = f" [{' '.join(self.optional)}]" if self.optional else ""
        return f"{self.word} {' '.join(self.required)}{further}"


#: word -> operation
FORMS: Final = MappingProxyType(
    {
        form.word: form
        for form in (
            LineForm(
                word="gemm",
                required=BASE_ARGUMENTS,
                optional=("warmup", "iterations"),
                groups=(0, 2),
                dtypes=MappingProxyType({**_TYPES, 4: DataType.FP8}),
            ),
            LineForm(
                word="gemm_universal",
                required=(*BASE_ARGUMENTS, "KBatch"),
                optional=("warmup", "iterations", "rotating_MB"),
                groups=(0, 3),
                unsupported=_MIXED,
                all_splits=(1, 2, 4, 8, 16, 19, 32, 38),
                swaps=True,
            ),
            LineForm(
                word="gemm_splitk",
                required=(*BASE_ARGUMENTS, "KBatch"),
                optional=("warmup", "iterations"),
                groups=(0, 2),
                unsupported=_MIXED,
                all_splits=(1, 2, 4, 8, 12, 16, 19, 20, 32, 38),
            ),
            LineForm(
                word="gemm_streamk",
                required=BASE_ARGUMENTS,
                optional=("num_sk_blocks",),
                groups=(0, 1),
                refused="stream-K is an unsupported family of kernels; gemm with the same arguments is run "
                "without it",
            ),
            LineForm(
                word="batched_gemm",
                required=(*BASE_ARGUMENTS, "BatchStrideA", "BatchStrideB", "BatchStrideC", "BatchCount"),
            ),
            LineForm(
                word="gemm_multiply_multiply",
                required=(*_HEAD, "M", "N", "K", "StrideA", "StrideB", "StrideD0", "StrideD1", "StrideE"),
                optional=("KBatch", "warmup", "iterations", "rotating_MB"),
                groups=(0, 4),
                unsupported=_MIXED,
                # as gemm_universal, whose source it was made from (inferred)
                all_splits=(1, 2, 4, 8, 16, 19, 32, 38),
                elementwise_op=ElementwiseOp.MULTI_D_MULTIPLY,
            ),
        )
    }
)
