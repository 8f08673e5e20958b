"""What ckProfiler's operations on matrices take, as a table, and problems written as lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import MultiDProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem_case import ProblemCase
    from ckprof_plugins.operations.gemm.problem import GemmProblem


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


#: verified, operands of integers, quiet, timed
_SWITCH_VALUES: Final = dict(zip(SWITCHES, (1, 1, 0, 1), strict=True))
#: as ckProfiler has them by default
_TIMING_VALUES: Final = {"warmup": 1, "iterations": 10, "rotating_MB": 0}
#: letter in ckProfiler's names -> matrix
_MATRICES: Final = {"A": "a", "B": "b", "C": "e"}
#: operations that divide the reduction, in the order in which they are tried
_SPLITTING: Final = ("gemm_universal", "gemm_splitk")
_PLAIN: Final = "gemm"
_BATCHED: Final = "batched_gemm"


def problem_line(case: ProblemCase, problem: GemmProblem) -> str:
    """Return the line of a problem.

    :raises InputError: no operation of ckProfiler has its type, its splits or its D tensors, or there are
        several numbers of splits and type and layout are not known.
    """
    if case.dtype is None or case.layout is None:
        return _options(case, problem)
    form = _form(case, problem)
    packed = {name: stride or -1 for name, stride in _strides(problem).items()}
    packed["StrideE"] = packed["StrideC"]
    apart = {f"BatchStride{letter}": problem.batch_stride(name) or -1 for letter, name in _MATRICES.items()}
    if isinstance(problem, MultiDProblem):
        packed |= {f"Stride{name.upper()}": problem.stride(name) or -1 for name in problem.d_tensors}
    numbers = {
        "dtype": next(number for number, dtype in form.dtypes.items() if dtype is case.dtype),
        "layout": next(number for number, name in LAYOUTS.items() if name == case.layout),
        **_SWITCH_VALUES,
        **{"M": problem.m, "N": problem.n, "K": problem.k, **packed},
        **{**apart, "BatchCount": problem.batch},
        "KBatch": case.splits[0] if len(case.splits) == 1 else -1,
        **_TIMING_VALUES,
    }
    names = form.required
    if case.splits and "KBatch" in form.optional:
        names += form.optional
    return f"ckProfiler {form.word} {' '.join(str(numbers[name]) for name in names)}"


def _form(case: ProblemCase, problem: GemmProblem) -> LineForm:
    """Return the operation of ckProfiler that computes a problem.

    :raises InputError: there is none.
    """
    splits = case.splits
    if isinstance(problem, MultiDProblem):
        words: tuple[str, ...] = tuple(
            form.word
            for form in FORMS.values()
            if form.elementwise_op is problem.elementwise_op and form.d_count == len(problem.strides_d)
        )
        if not words:
            raise InputError(
                f"no operation of ckProfiler combines a product like that: {problem.describe()}; lines "
                "without type and layout say it"
            )
    elif problem.batch > 1:
        words = (_BATCHED,)
    else:
        words = (*(_SPLITTING if splits else ()), *((_PLAIN,) if splits in ((), (1,)) else ()))
    for word in words:
        form = FORMS[word]
        divides = "KBatch" in (*form.required, *form.optional)
        can_split = splits in ((), (1,), form.all_splits) or (len(splits) == 1 and divides)
        if case.dtype in form.dtypes.values() and can_split:
            return form
    dtype = case.dtype.value if case.dtype is not None else ""
    what = f"{dtype} with splits {', '.join(map(str, splits))}" if splits else dtype
    raise InputError(f"{' and '.join(words)} of ckProfiler: no {what}: {problem.describe()}")


def _options(case: ProblemCase, problem: GemmProblem) -> str:
    """Return tile_engine's options, which say nothing of type and layout."""
    if len(case.splits) > 1:
        raise InputError(
            f"only lines with type and layout can say several numbers of splits: {problem.describe()}; pass "
            "--dtype and --layout"
        )
    options: dict[str, int | str] = {"m": problem.m, "n": problem.n, "k": problem.k}
    strides = {f"stride_{name[-1].lower()}": stride for name, stride in _strides(problem).items()}
    if problem.batch > 1:
        options["batch"] = problem.batch
        strides |= {f"batch_stride_{name}": problem.batch_stride(name) for name in _MATRICES.values()}
    if isinstance(problem, MultiDProblem):
        if len(set(problem.strides_d)) > 1:
            raise InputError(f"no option says several strides of D tensors: {problem.describe()}")
        options |= {"elementwise_op": problem.elementwise_op.value, "num_d_tensors": len(problem.strides_d)}
        strides["stride_ds"] = problem.strides_d[0]
    options |= {name: stride for name, stride in strides.items() if stride}
    if case.splits:
        options["split_k"] = case.splits[0]
    return " ".join(f"-{name}={value}" for name, value in options.items())


def _strides(problem: GemmProblem) -> dict[str, int]:
    return {f"Stride{letter}": problem.stride(name) for letter, name in _MATRICES.items()}
