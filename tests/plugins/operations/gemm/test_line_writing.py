"""Written problem lines are read as the problems that they were written from."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.problem_case import ProblemCase, ProblemLine
from ckprof.model.problem_types import sizes
from ckprof.model.types import DataType
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.line_forms import FORMS, problem_line
from ckprof_plugins.operations.gemm.lines import parse_line
from ckprof_plugins.operations.gemm.problem import (
    GEMM_OPERATIONS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
)

PLAIN = GemmProblem(m=64, n=48, k=100)
FP16 = ProblemCase(problem=PLAIN, dtype=DataType.FP16, layout="rcr")
ALL_SPLITS = [form.all_splits for form in FORMS.values() if form.all_splits]

SIZES = st.integers(min_value=1, max_value=5000)
STRIDES = st.one_of(st.just(0), SIZES)
PRODUCTS = st.builds(
    GemmProblem, m=SIZES, n=SIZES, k=SIZES, stride_a=STRIDES, stride_b=STRIDES, stride_e=STRIDES
)
SPLITS = st.one_of(st.just(()), st.tuples(st.integers(1, 64)), st.sampled_from(ALL_SPLITS))


def read(one, problem):
    parsed = parse_line(ProblemLine(text=problem_line(one, problem), path="--problem"))
    return ProblemCase(problem=parsed.problem, dtype=parsed.dtype, layout=parsed.layout, splits=parsed.splits)


@given(
    PRODUCTS,
    st.sampled_from((DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT8)),
    st.sampled_from(("rcr", "rrr", "ccr", "crr")),
    SPLITS,
)
def test_with_type_and_layout(problem, dtype, layout, splits):
    one = ProblemCase(problem=problem, dtype=dtype, layout=layout, splits=splits)
    assert read(one, problem) == one


@given(PRODUCTS, st.one_of(st.just(()), st.tuples(st.integers(1, 64))))
def test_without_type_and_layout(problem, splits):
    one = ProblemCase(problem=problem, splits=splits)
    assert read(one, problem) == one


@st.composite
def batches(draw):
    plain = replace(draw(PRODUCTS), batch=draw(st.integers(2, 9)))
    apart = {f"batch_stride_{name}": draw(STRIDES) for name in "abe"}
    return StridedBatchProblem(**sizes(plain), **apart) if any(apart.values()) else plain


def with_d(plain, op, strides):
    return MultiDProblem(**sizes(plain), elementwise_op=op, strides_d=strides)


@given(batches(), st.booleans())
def test_batches(problem, typed):
    one = ProblemCase(problem=problem)
    one = replace(one, dtype=DataType.BF16, layout="rrr") if typed else one
    assert read(one, problem) == one


@given(
    PRODUCTS,
    st.tuples(STRIDES, STRIDES),
    st.sampled_from(((), (1,), (4,), FORMS["gemm_universal"].all_splits)),
)
def test_products_with_two_factors(plain, strides, splits):
    problem = with_d(plain, ElementwiseOp.MULTI_D_MULTIPLY, strides)
    one = replace(FP16, problem=problem, splits=splits)
    assert read(one, problem) == one
    assert problem_line(one, problem).split()[:2] == ["ckProfiler", "gemm_multiply_multiply"]


@given(
    PRODUCTS, STRIDES, st.integers(1, 2), st.sampled_from(GEMM_OPERATIONS), st.sampled_from(((), (1,), (3,)))
)
def test_d_tensors_without_type_and_layout(plain, stride, count, op, splits):
    problem = with_d(plain, op, (stride,) * count)
    one = ProblemCase(problem=problem, splits=splits)
    assert read(one, problem) == one


def test_a_batch():
    problem = replace(PLAIN, batch=3)
    one = replace(FP16, problem=problem)
    assert read(one, problem) == one
    assert problem_line(one, problem).split()[:2] == ["ckProfiler", "batched_gemm"]


@pytest.mark.parametrize(
    ("changes", "problem", "message"),
    [
        ({"dtype": DataType.BF8}, PLAIN, "gemm of ckProfiler: no bf8"),
        ({"dtype": DataType.FP8, "splits": (4,)}, PLAIN, "no fp8 with splits 4"),
        ({"splits": (3, 5)}, PLAIN, "no fp16 with splits 3, 5"),
        ({"splits": (2,)}, replace(PLAIN, batch=2), "batched_gemm of ckProfiler: no fp16 with splits 2"),
        ({"dtype": None, "splits": (1, 2)}, PLAIN, "pass --dtype and --layout"),
        ({}, with_d(PLAIN, ElementwiseOp.MULTI_D_ADD, (0, 0)), "no operation of ckProfiler combines"),
        ({}, with_d(PLAIN, ElementwiseOp.MULTI_D_MULTIPLY, (0,)), "no operation of ckProfiler combines"),
        ({"dtype": None}, with_d(PLAIN, ElementwiseOp.MULTI_D_ADD, (0, 64)), "several strides of D"),
    ],
)
def test_what_no_line_says(changes, problem, message):
    with pytest.raises(InputError, match=message):
        problem_line(replace(FP16, problem=problem, **changes), problem)
