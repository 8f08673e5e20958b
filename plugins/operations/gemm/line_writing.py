"""Writing problem lines: ckProfiler's arguments with type and layout, tile_engine's options without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.line_forms import FORMS, LAYOUTS, SWITCHES, LineForm

if TYPE_CHECKING:
    from ckprof.problems.counted import CountedProblem
    from ckprof_plugins.operations.gemm.problem import GemmProblem

#: verified, operands of integers, quiet, timed
_SWITCH_VALUES: Final = dict(zip(SWITCHES, (1, 1, 0, 1), strict=True))
#: operations that divide the reduction, in the order in which they are tried
_SPLITTING: Final = ("gemm_universal", "gemm_splitk")
_PLAIN: Final = "gemm"
_BATCHED: Final = "batched_gemm"


def problem_line(one: CountedProblem, problem: GemmProblem) -> str:
    """Return the line of a problem.

    :raises InputError: no operation of ckProfiler has its type or its splits, or it is a batch of products
        whose type and layout are not known.
    """
    if one.dtype is None or one.layout is None:
        return _options(one, problem)
    form = _form(one, problem)
    packed = {name: stride or -1 for name, stride in _strides(problem).items()}
    numbers = {
        "dtype": next(number for number, dtype in form.dtypes.items() if dtype is one.dtype),
        "layout": next(number for number, name in LAYOUTS.items() if name == one.layout),
        **_SWITCH_VALUES,
        **{"M": problem.m, "N": problem.n, "K": problem.k, **packed},
        **{"BatchStrideA": -1, "BatchStrideB": -1, "BatchStrideC": -1, "BatchCount": problem.batch},
        "KBatch": one.splits[0] if len(one.splits) == 1 else -1,
    }
    return f"ckProfiler {form.word} {' '.join(str(numbers[name]) for name in form.required)}"


def _form(one: CountedProblem, problem: GemmProblem) -> LineForm:
    """Return the operation of ckProfiler that computes a problem.

    :raises InputError: there is none.
    """
    splits = one.splits
    if problem.batch > 1:
        words: tuple[str, ...] = (_BATCHED,)
    else:
        words = (*(_SPLITTING if splits else ()), *((_PLAIN,) if splits in ((), (1,)) else ()))
    for word in words:
        form = FORMS[word]
        known = splits in ((), (1,), form.all_splits) or (len(splits) == 1 and word in _SPLITTING)
        if one.dtype in form.dtypes.values() and known:
            return form
    dtype = one.dtype.value if one.dtype is not None else ""
    what = f"{dtype} with splits {', '.join(map(str, splits))}" if splits else dtype
    raise InputError(f"{' and '.join(words)} of ckProfiler: no {what}: {problem.describe()}")


def _options(one: CountedProblem, problem: GemmProblem) -> str:
    """Return tile_engine's options, which say nothing of type and layout."""
    if problem.batch > 1 or len(one.splits) > 1:
        raise InputError(
            "only lines with type and layout can say a batch of products or several numbers of splits: "
            f"{problem.describe()}; pass --dtype and --layout"
        )
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
    strides = {f"stride_{name[-1].lower()}": stride for name, stride in _strides(problem).items() if stride}
    splits = {"split_k": one.splits[0]} if one.splits else {}
    return " ".join(f"-{name}={value}" for name, value in {**sizes, **strides, **splits}.items())


def _strides(problem: GemmProblem) -> dict[str, int]:
    return {"StrideA": problem.stride_a, "StrideB": problem.stride_b, "StrideC": problem.stride_e}
