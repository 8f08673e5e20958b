"""Writing problem lines: ckProfiler's arguments with type and layout, tile_engine's options without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.further_problems import MultiDProblem
from ckprof_plugins.operations.gemm.line_forms import FORMS, LAYOUTS, SWITCHES, LineForm

if TYPE_CHECKING:
    from ckprof.model.problem_case import ProblemCase
    from ckprof_plugins.operations.gemm.problem import GemmProblem

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
