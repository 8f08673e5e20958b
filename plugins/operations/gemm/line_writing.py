"""Writing problem lines: ckProfiler's arguments with type and layout, tile_engine's options without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.elementwise import MOST_D_TENSORS
from ckprof_plugins.operations.gemm.further_problems import MultiDProblem
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
#: letters of tensors in ckProfiler's and tile_engine's names of strides -> names of tensors
_MATRICES: Final = {"A": "a", "B": "b", "C": "e"}


def problem_line(one: CountedProblem, problem: GemmProblem) -> str:
    """Return the line of a problem.

    :raises InputError: no operation of ckProfiler has its type, its splits or its D tensors, or options
        cannot say it.
    """
    if one.dtype is None or one.layout is None:
        return _options(one, problem)
    form = _form(one, problem)
    strides = {f"Stride{letter}": problem.stride(name) for letter, name in _MATRICES.items()}
    strides |= {f"BatchStride{letter}": problem.batch_stride(name) for letter, name in _MATRICES.items()}
    strides["StrideE"] = problem.stride_e
    if isinstance(problem, MultiDProblem):
        strides |= {f"StrideD{number}": stride for number, stride in enumerate(problem.strides_d)}
    numbers = {
        "dtype": next(number for number, dtype in form.dtypes.items() if dtype is one.dtype),
        "layout": next(number for number, name in LAYOUTS.items() if name == one.layout),
        **_SWITCH_VALUES,
        **{"M": problem.m, "N": problem.n, "K": problem.k, "BatchCount": problem.batch},
        **{name: stride or -1 for name, stride in strides.items()},
        "KBatch": one.splits[0] if len(one.splits) == 1 else -1,
    }
    return f"ckProfiler {form.word} {' '.join(str(numbers[name]) for name in form.required)}"


def _form(one: CountedProblem, problem: GemmProblem) -> LineForm:
    """Return the operation of ckProfiler that computes a problem.

    :raises InputError: there is none.
    """
    splits = one.splits
    words = _words(one, problem)
    for word in words:
        form = FORMS[word]
        known = splits in ((), (1,), form.all_splits) or (len(splits) == 1 and word in _SPLITTING)
        if one.dtype in form.dtypes.values() and known:
            return form
    dtype = one.dtype.value if one.dtype is not None else ""
    what = f"{dtype} with splits {', '.join(map(str, splits))}" if splits else dtype
    named = " and ".join(words) or "operations"
    raise InputError(f"{named} of ckProfiler: no {what}: {problem.describe()}")


def _words(one: CountedProblem, problem: GemmProblem) -> tuple[str, ...]:
    """Return the operations of ckProfiler that may compute a problem."""
    if isinstance(problem, MultiDProblem):
        of_all = (form for form in FORMS.values() if form.elementwise_op is problem.elementwise_op)
        full = len(problem.strides_d) == MOST_D_TENSORS and not one.splits
        return tuple(form.word for form in of_all) if full else ()
    if problem.batch > 1:
        return (_BATCHED,)
    return (*(_SPLITTING if one.splits else ()), *((_PLAIN,) if one.splits in ((), (1,)) else ()))


def _options(one: CountedProblem, problem: GemmProblem) -> str:
    """Return tile_engine's options, which say nothing of type and layout.

    :raises InputError: they cannot say it.
    """
    if len(one.splits) > 1:
        raise InputError(
            "only lines with type and layout can say several numbers of splits: "
            f"{problem.describe()}; pass --dtype and --layout"
        )
    options: dict[str, object] = {"m": problem.m, "n": problem.n, "k": problem.k}
    for prefix, strides in (("stride", problem.stride), ("batch_stride", problem.batch_stride)):
        given = {f"{prefix}_{letter.lower()}": strides(name) for letter, name in _MATRICES.items()}
        options |= {name: stride for name, stride in given.items() if stride}
    if isinstance(problem, MultiDProblem):
        if len(set(problem.strides_d)) > 1:
            raise InputError(f"options have one stride for all D tensors: {problem.describe()}")
        options["elementwise_op"] = problem.elementwise_op.value
        options["num_d_tensors"] = len(problem.strides_d)
        options |= {"stride_ds": problem.strides_d[0]} if problem.strides_d[0] else {}
    if problem.batch > 1:
        options["batch"] = problem.batch
    if one.splits:
        options["split_k"] = one.splits[0]
    return " ".join(f"-{name}={value}" for name, value in options.items())
