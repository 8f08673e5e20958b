"""Problem lines of matrix products: every form, and what is wrong with a wrong one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.problem_case import OtherOperationError, ProblemCase, ProblemLine
from ckprof.model.problem_types import sizes
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.problems.problem_file import parse_problem
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.line_forms import FORMS, LAYOUTS, problem_line
from ckprof_plugins.operations.gemm.lines import parse_line
from ckprof_plugins.operations.gemm.problem import (
    GEMM_OPERATIONS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
)

#: operation -> the numbers of arguments that ckProfiler takes, its own name among them
ARGUMENT_COUNTS = {
    "gemm": {14, 16},
    "gemm_universal": {15, 18},
    "gemm_splitk": {15, 17},
    "gemm_streamk": {14, 15},
    "batched_gemm": {18},
    "gemm_multiply_multiply": {16, 20},
}

#: a value of each argument that is in order
USUAL = {"dtype": 1, "layout": 1, "M": 64, "N": 48, "K": 100, "BatchCount": 3, "KBatch": 2}


def parse(text):
    return parse_line(ProblemLine(text=text, path="--problem"))


def arguments(form, count, **changed):
    """Return a line with so many arguments behind the operation."""
    values = USUAL | changed
    names = (*form.required, *form.optional, "one", "more")[:count]
    usual = {name: -1 if "Stride" in name else 1 for name in names}
    return " ".join(map(str, (form.word, *(values.get(name, usual[name]) for name in names))))


def runnable():
    return [form for form in FORMS.values() if not form.refused]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_numbers_of_arguments_are_those_of_ckprofiler(form):
    # the program and the operation count as well
    assert {count + 2 for count in form.counts} == ARGUMENT_COUNTS[form.word]
    for count in range(max(form.counts) + 3):
        text = arguments(form, count)
        if count in form.counts and not form.refused:
            assert parse(text).problem.k == 100
            assert parse(f"ckProfiler {text}") == parse(text)
            continue
        with pytest.raises(InputError) as caught:
            parse(text)
        said = "is missing" if count < max(form.counts) else "unexpected"
        assert (form.refused if count in form.counts else said) in str(caught.value)
        assert str(caught.value).startswith("--problem: ")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_argument_must_be_a_number(form):
    for name in (*form.required, *form.optional):
        with pytest.raises(InputError, match=f"expected an integer for {name}, got 'x1'"):
            parse(arguments(form, max(form.counts), **{name: "x1"}))


@pytest.mark.parametrize("form", runnable(), ids=lambda form: form.word)
def test_types_and_layouts(form):
    count = min(form.counts)
    for number, dtype in form.dtypes.items():
        assert parse(arguments(form, count, dtype=number)).dtype is dtype
    for number, layout in LAYOUTS.items():
        assert parse(arguments(form, count, layout=number)).layout == layout
    with pytest.raises(InputError, match="data type 8 is not supported"):
        parse(arguments(form, count, dtype=8))
    for number, meaning in form.unsupported.items():
        with pytest.raises(InputError, match=meaning):
            parse(arguments(form, count, dtype=number))
    with pytest.raises(InputError, match=r"layout 4 is not supported .*0 rrr, 1 rcr, 2 crr, 3 ccr"):
        parse(arguments(form, count, layout=4))


def test_type_4_is_fp8_for_gemm_alone():
    assert parse(arguments(FORMS["gemm"], 12, dtype=4)).dtype is DataType.FP8


def test_the_line_of_the_readme():
    parsed = parse("gemm 1 1 1 1 0 1 3840 4096 2048 -1 -1 -1")
    assert parsed.problem == GemmProblem(m=3840, n=4096, k=2048)
    assert (parsed.dtype, parsed.layout, parsed.splits) == (DataType.FP16, "rcr", ())
    assert parsed.ignored == ("verify 1", "init 1", "log 0", "time 1")


@pytest.mark.parametrize("name", ["StrideA", "StrideB", "StrideC"])
def test_strides(name):
    field = {"StrideA": "stride_a", "StrideB": "stride_b", "StrideC": "stride_e"}[name]
    form = FORMS["gemm"]
    assert getattr(parse(arguments(form, 12, **{name: 104})).problem, field) == 104
    assert getattr(parse(arguments(form, 12, **{name: -5})).problem, field) == 0
    with pytest.raises(InputError, match=f"{name} is 0, which ckProfiler takes literally.*-1 packs them"):
        parse(arguments(form, 12, **{name: 0}))


def test_splits():
    universal, splitk = FORMS["gemm_universal"], FORMS["gemm_splitk"]
    assert parse(arguments(universal, 13, KBatch=4)).splits == (4,)
    assert parse(arguments(universal, 13, KBatch=-1)).splits == (1, 2, 4, 8, 16, 19, 32, 38)
    assert parse(arguments(splitk, 13, KBatch=0)).splits == (1, 2, 4, 8, 12, 16, 19, 20, 32, 38)


@pytest.mark.parametrize(("m", "n", "said"), [(64, 100, True), (64, 96, False), (63, 100, False)])
def test_the_exchange_of_m_and_n_is_reported_and_not_made(m, n, said):
    parsed = parse(arguments(FORMS["gemm_universal"], 13, M=m, N=n))
    assert parsed.problem == GemmProblem(m=m, n=n, k=100)
    assert bool(parsed.notes) is said
    assert not parse(arguments(FORMS["gemm"], 12, M=m, N=n)).notes


def test_batches():
    form = FORMS["batched_gemm"]
    assert parse(arguments(form, 16)).problem == GemmProblem(m=64, n=48, k=100, batch=3)
    parsed = parse(arguments(form, 16, BatchStrideB=4808, StrideA=104))
    assert parsed.problem == StridedBatchProblem(
        m=64, n=48, k=100, batch=3, stride_a=104, batch_stride_b=4808
    )
    assert parsed.splits == ()
    # one product is none at a distance from others
    assert parse(arguments(form, 16, BatchCount=1, BatchStrideB=9)).problem == GemmProblem(m=64, n=48, k=100)
    with pytest.raises(InputError, match="BatchStrideA is 0, which ckProfiler takes literally: all matrices"):
        parse(arguments(form, 16, BatchStrideA=0))
    with pytest.raises(InputError, match="batch is 0, expected 1"):
        parse(arguments(form, 16, BatchCount=0))
    options = parse("-m=3 -n=4 -k=5 -batch=2 -batch_stride_a=16 -batch_stride_b=0 -batch_stride_e=40")
    expected = StridedBatchProblem(m=3, n=4, k=5, batch=2, batch_stride_a=16, batch_stride_e=40)
    assert options.problem == expected
    assert parse("-m=3 -n=4 -k=5 -batch=2 -batch_stride_a=0").problem == GemmProblem(m=3, n=4, k=5, batch=2)


def test_products_with_d_tensors():
    form = FORMS["gemm_multiply_multiply"]
    parsed = parse(arguments(form, 14, StrideD0=56, StrideD1=-1, StrideE=64))
    assert parsed.problem == MultiDProblem(
        m=64, n=48, k=100, stride_e=64, elementwise_op=ElementwiseOp.MULTI_D_MULTIPLY, strides_d=(56, 0)
    )
    assert parsed.splits == ()
    assert parse(arguments(form, 18, KBatch=2)).splits == (2,)
    assert parse(arguments(form, 18, KBatch=0)).splits == FORMS["gemm_universal"].all_splits
    with pytest.raises(InputError, match="StrideD1 is 0, which ckProfiler takes literally: all lines"):
        parse(arguments(form, 14, StrideD1=0))
    options = parse("-m=3 -n=4 -k=5 -elementwise_op=MultiDAdd -num_d_tensors=2 -stride_ds=8")
    add = MultiDProblem(m=3, n=4, k=5, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(8, 8))
    assert options.problem == add
    one = parse("-m=3 -n=4 -k=5 -elementwise_op=MultiDAdd").problem
    assert one == replace(add, strides_d=(0,))
    # tile_engine's programs for products without D tensors take the option as well
    assert parse("-m=3 -n=4 -k=5 -stride_ds=0").ignored == ("stride_ds 0",)


@given(st.tuples(*[st.integers(1, 10**6)] * 3), st.tuples(*[st.integers(1, 10**6)] * 3))
def test_sizes_alone(sizes, strides):
    m, n, k = sizes
    a, b, e = strides
    packed, strided = (
        GemmProblem(m=m, n=n, k=k),
        GemmProblem(m=m, n=n, k=k, stride_a=a, stride_b=b, stride_e=e),
    )
    for text in (f"{m} {n} {k}", f"{m}x{n}x{k}", f"{m} x {n} x {k}", f"{m},{n},{k}", f"-m={m} -n={n} -k={k}"):
        assert parse(text) == ProblemCase(problem=packed)
    assert parse(f"{m} {n} {k} {a} {b} {e}").problem == strided
    assert parse(f"{m} {n} {k} -1 -2 -3").problem == packed
    assert parse(f"-m={m} -n={n} -k={k} -stride_a={a} -stride_b={b} -stride_c={e}").problem == strided


def test_tile_engines_options():
    parsed = parse("-k=5 -n=4 -m=3 -split_k=2 -stride_a=0 -warmup=3 -csv_filename=")
    assert parsed.problem == GemmProblem(m=3, n=4, k=5)
    assert parsed.splits == (2,) and parsed.ignored == ("warmup 3", "csv_filename ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the problem is empty"),
        ("ckProfiler", "the problem is empty"),
        ("1 2", r"K \(number 3\) is missing"),
        ("1 2 3 4", r"StrideB \(number 5\) is missing"),
        ("1 2 3 4 5 6 7", "unexpected '7'"),
        ("1 2 3 0 5 6", "StrideA is 0"),
        ("1 2 x", "expected an integer for K, got 'x'"),
        ("0 2 3", "m is 0, expected 1 to 2147483647"),
        ("-1 2 3", "m is -1, expected 1"),
        ("2147483648x1x1", "m is 2147483648, expected 1 to 2147483647"),
        ("1x2,3", "expected gemm dtype"),
        ("1x2x3x4", "expected gemm dtype"),
        ("matmul 1 2 3", "expected gemm dtype .* got 'matmul'"),
        ("-m=3 -n=4", "-k is missing"),
        ("-m=3 -n=4 -k=y", "expected an integer for -k, got 'y'"),
        ("-m=3 -n=4 -k=5 -z=1", "unknown option '-z=1'"),
        ("-m=3 -n=4 -k=5 6", "unknown option '6'"),
        ("-m=3 -n=4 -k=5 -split_k=0", "-split_k is 0, expected 1 or more"),
        ("-m=3 -n=4 -k=5 -stride_a=-1", "-stride_a is -1, expected 0 or more"),
        ("-m=3 -n=4 -k=5 -batch_stride_b=-1", "-batch_stride_b is -1, expected 0 or more"),
        ("-m=3 -n=4 -k=5 -num_d_tensors=1", "D tensors need -elementwise_op"),
        ("-m=3 -n=4 -k=5 -num_d_tensors=3 -elementwise_op=MultiDAdd", "num_d_tensors is 3, expected 1 to 2"),
        ("-m=3 -n=4 -k=5 -elementwise_op=Relu", "Relu, which takes one operand .*unsupported-family"),
        ("-m=3 -n=4 -k=5 -elementwise_op=Add", "Add, expected one of MultiDAdd, MultiDMultiply"),
        ("-m=3 -n=4 -k=5 -elementwise_op=MultiDAdd -batch=2", "batch is 2: .*unsupported family"),
        ("-m=3 -n=4 -k=5 -elementwise_op=MultiDAdd -batch=2 -batch_stride_a=99", "unsupported family"),
    ],
)
def test_wrong_lines(text, said):
    with pytest.raises(InputError, match=said):
        parse(text)


def test_lines_are_told_from_those_of_convolutions():
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    operations = tuple(registry.operations)

    def read(text, operation):
        line = ProblemLine(text=text, path="list", line=3)
        return parse_problem(line, registry.operation(operation), operations)

    for text in ("conv -n 1 -c 8 -H 4 -W 4 -k 8 -y 1 -x 1", "grouped_conv_fwd 1 1 1 1 0 1 2"):
        with pytest.raises(OtherOperationError, match="list:3:1: "):
            read(text, "gemm")
    for direction in shipped_directions():
        with pytest.raises(OtherOperationError, match="gemm is an operation of gemm"):
            read("ckProfiler gemm 1 1 1 1 0 1 64 64 64 -1 -1 -1", direction.id)
    assert read("ckProfiler gemm 1 1 1 1 0 1 64 64 64 -1 -1 -1", "gemm").layout == "rcr"


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
def test_batches_are_written(problem, typed):
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
