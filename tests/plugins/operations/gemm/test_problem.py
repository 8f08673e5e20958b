"""Sizes, formulas and the reference of matrix products, against sums that are written out."""

import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.measure.options import RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.verify.storage import decode
from ckprof.measure.verify.tolerance import Sums, derive_tolerance
from ckprof.model.problem import Problem
from ckprof.model.problem_types import know_problem_type, problem_from, sizes
from ckprof.model.types import DataType
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import (
    GEMM_OPERATIONS,
    GEMM_TYPES,
    LAYOUTS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
    elementwise_op_named,
    find_layout,
    types_of,
)

odd = st.integers(1, 23)
problems = st.builds(GemmProblem, m=odd, n=odd, k=odd, batch=st.sampled_from([1, 1, 3]))
pads = st.tuples(*[st.integers(0, 9)] * 3)


def with_strides(problem, layout, more):
    """Return the problem with lines that are so much longer; 0 leaves them packed."""
    strides = {
        f"stride_{name}": problem.tensor(name, layout).shape[-1] + further if further else 0
        for name, further in zip("abe", more, strict=True)
    }
    return replace(problem, **strides)


def test_flop_and_bytes_of_the_example():
    problem = GemmProblem(m=3840, n=4096, k=2048)
    assert problem.flop == problem.real_flop == 64_424_509_440
    assert problem.traffic_bytes(DataType.FP16) == 63_963_136
    # operands of one byte, results of two and of four
    operands, results = 3840 * 2048 + 2048 * 4096, 3840 * 4096
    assert problem.traffic_bytes(DataType.FP8) == operands + 2 * results
    assert problem.traffic_bytes(DataType.INT8) == operands + 4 * results


@pytest.mark.parametrize("dtype", GEMM_TYPES)
def test_tolerances_of_types(dtype):
    sums = Sums(reduction_length=2048, magnitude=50.0, deviation=7.5)
    tolerance = derive_tolerance(types_of(dtype), sums)
    # one rounding to the type of the result, which is cut off in bf16, and what sums err by, also in 14 bits
    rounding = {DataType.FP32: 2.0**-24, DataType.BF16: 2.0**-7}.get(dtype, 2.0**-11)
    of_sums = 0.02 if dtype in (DataType.FP8, DataType.BF8) else 1e-4
    if dtype is DataType.INT8:
        assert (tolerance.rtol, tolerance.atol) == (0.0, 0.0)
        return
    assert rounding < tolerance.rtol < rounding + of_sums
    assert 0 < tolerance.atol < of_sums * 10 + 2.0**-10


def test_descriptions():
    assert GemmProblem(m=512, n=512, k=100).describe() == "M512 N512 K100"
    strided = GemmProblem(m=1, n=2, k=3, stride_a=8, stride_b=9, stride_e=10, batch=2)
    assert strided.describe() == "M1 N2 K3 batch 2 lda 8 ldb 9 lde 10"
    assert Gemm.default_problem[0].describe() == "M512 N512 K512"


@pytest.mark.parametrize("name", ["m", "n", "k", "batch", "stride_a", "stride_b", "stride_e"])
def test_sizes_out_of_range(name):
    for value in (-1, 2**31, *([0] if "stride" not in name else [])):
        with pytest.raises(InputError, match=f"{name} is {value}, expected"):
            GemmProblem(**{"m": 1, "n": 1, "k": 1, name: value})


def test_it_is_a_problem_that_can_be_kept():
    problem = GemmProblem(m=3, n=5, k=7, stride_a=8)
    assert isinstance(problem, Problem)
    know_problem_type(GemmProblem)
    assert problem_from(msgspec.json.decode(msgspec.json.encode(problem))) == problem
    assert problem_from({**problem.as_dict(), "outcomes": []}) == problem
    assert sizes(problem) == {name: value for name, value in problem.as_dict().items() if name != "flop"}
    with pytest.raises(InputError, match="no loaded plugin knows a problem with depth, m"):
        problem_from({"m": 1, "depth": 2})
    with pytest.raises(InputError, match="wrong problem"):
        problem_from({**sizes(problem), "m": "three"})


@pytest.mark.parametrize("name", [layout.name for layout in LAYOUTS])
def test_lines_must_not_overlap(name):
    layout = find_layout(name)
    assert layout is not None
    problem = GemmProblem(m=40, n=50, k=60)
    least = {"a": 60 if name[0] == "r" else 40, "b": 50 if name[1] == "r" else 60, "e": 50}
    for tensor, length in least.items():
        assert problem.unmet_by(layout) is None
        assert replace(problem, **{f"stride_{tensor}": length}).unmet_by(layout) is None
        unmet = replace(problem, **{f"stride_{tensor}": length - 1}).unmet_by(layout)
        assert unmet is not None and unmet.rule == f"stride-{tensor}"
        assert f"is {length - 1}, " in unmet.message and f"have {length} elements" in unmet.message


@settings(deadline=None, max_examples=60)
@given(problems, st.sampled_from(LAYOUTS), st.integers(0, 2**31))
def test_the_reference_is_the_sum_written_out(problem, layout, seed):
    random = np.random.default_rng(seed)
    # as text: which axes of the memory are which
    batch = "g" if problem.batch > 1 else ""
    orders = {name: batch + layout.order(name).lower() for name in "abe"}
    operands = {name: random.uniform(-1, 1, problem.tensor(name, layout).shape) for name in "ab"}
    expected = np.einsum(f"{orders['a']},{orders['b']}->{orders['e']}", operands["a"], operands["b"])
    found = Gemm().reference(problem, layout, operands)
    assert found.shape == problem.tensor("e", layout).shape and found.flags.c_contiguous
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(LAYOUTS), pads, st.sampled_from(GEMM_TYPES), st.integers(1, 400))
def test_what_is_prepared_is_the_product_of_what_is_stored(
    tmp_path_factory, problem, layout, more, dtype, part
):
    folder = tmp_path_factory.mktemp("problem")
    strided = with_strides(problem, layout, more)
    types = replace(types_of(dtype), ocp=part % 2 == 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckprof.measure.prepare._PART_ELEMENTS", part)
        options = RunOptions(init=InitKind.DECIMAL, seed=7)
        prepared = prepare_problem(Gemm(), strided, layout, types, options, folder)
    logical = {}
    for file in prepared.request.operands:
        spec = strided.tensor(file.name, layout)
        raw = np.load(Path(file.path))
        assert raw.shape == spec.stored_shape and file.position == "abe".index(file.name)
        # what lies between the lines is the poison, and nothing else is
        gaps = raw[..., spec.shape[-1] :]
        assert (gaps.reshape(-1, 1).view(np.uint8) == 0xFF).all()
        logical[file.name] = decode(raw[..., : spec.shape[-1]], file.dtype, ocp=types.ocp)
        assert np.isfinite(logical[file.name]).all() and np.ptp(logical[file.name]) <= 10
    assert prepared.reference is not None
    spec = strided.tensor("e", layout)
    reference = np.asarray(prepared.reference[0 : prepared.reference.size]).reshape(spec.stored_shape)
    inside = reference[..., : spec.shape[-1]]
    assert np.isnan(reference[..., spec.shape[-1] :]).all()
    a = logical["a"] if layout.a == "MK" else logical["a"].swapaxes(-1, -2)
    b = logical["b"] if layout.b == "KN" else logical["b"].swapaxes(-1, -2)
    assert np.allclose(inside, a @ b, rtol=1e-12, atol=1e-12)
    assert prepared.sums.magnitude == np.abs(inside).max()
    assert prepared.exact is (dtype is DataType.INT8)


def test_values_are_the_same_in_every_layout(tmp_path):
    problem = GemmProblem(m=5, n=6, k=7)
    found = []
    for layout in LAYOUTS:
        folder = tmp_path / layout.name
        folder.mkdir()
        prepared = prepare_problem(Gemm(), problem, layout, DataType.FP16, RunOptions(), folder)
        assert prepared.reference is not None
        found.append(np.asarray(prepared.reference[0 : prepared.reference.size]))
    assert all(np.array_equal(found[0], other) for other in found[1:])


OPERATION = Gemm()
ADD, MULTIPLY = ElementwiseOp.MULTI_D_ADD, ElementwiseOp.MULTI_D_MULTIPLY
gaps = st.sampled_from([0, 0, 1, 8])


@st.composite
def cases(draw):
    """A batch or a product with D tensors, with gaps between lines and between matrices."""
    layout = draw(st.sampled_from(LAYOUTS))
    m, n, k = draw(odd), draw(odd), draw(odd)
    lines = {"a": k if layout.a == "MK" else m, "b": n if layout.b == "KN" else k, "e": n}
    strides = {f"stride_{name}": length + draw(gaps) for name, length in lines.items()}
    if draw(st.booleans()):
        of_d = tuple(draw(st.sampled_from([0, n, n + 3])) for _ in range(draw(st.integers(1, 2))))
        op = draw(st.sampled_from(GEMM_OPERATIONS))
        return MultiDProblem(m=m, n=n, k=k, **strides, elementwise_op=op, strides_d=of_d), layout
    plain = GemmProblem(m=m, n=n, k=k, **strides, batch=draw(st.integers(2, 7)))
    apart = {}
    for name, length in lines.items():
        count = plain.tensor(name, layout).shape[-2]
        extent = (count - 1) * strides[f"stride_{name}"] + length
        apart[f"batch_stride_{name}"] = draw(st.sampled_from([0, extent, extent + draw(odd)]))
    return StridedBatchProblem(**msgspec.to_builtins(plain), **apart), layout


def written_out(problem, layout, logical):
    """The definition, as text for einsum: which axes of the memory are which."""
    batch = "g" if problem.batch > 1 else ""
    orders = [batch + layout.order(name).lower() for name in "abe"]
    result = np.einsum(f"{orders[0]},{orders[1]}->{orders[2]}", logical["a"], logical["b"])
    if isinstance(problem, MultiDProblem):
        for name in problem.d_tensors:
            result = result + logical[name] if problem.elementwise_op is ADD else result * logical[name]
    return result


@settings(deadline=None, max_examples=60)
@given(cases(), st.sampled_from(GEMM_TYPES), st.integers(1, 400))
def test_what_is_prepared_is_what_is_stored(tmp_path_factory, case, dtype, part):
    problem, layout = case
    assert problem.unmet_by(layout) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckprof.measure.prepare._PART_ELEMENTS", part)
        folder = tmp_path_factory.mktemp("problem")
        prepared = prepare_problem(OPERATION, problem, layout, types_of(dtype), RunOptions(seed=3), folder)
    files = {file.name: file for file in (*prepared.request.operands, prepared.request.result)}
    assert tuple(files) == problem.tensors
    # buffers by position: E keeps the place that it has without D tensors
    assert [files[name].position for name in ("a", "b", "e")] == [0, 1, 2]
    assert [file.position for name, file in files.items() if name.startswith("d")] == list(
        range(3, len(files))
    )
    logical = {}
    for file in prepared.request.operands:
        raw = np.load(Path(file.path)).reshape(-1)
        spec = problem.tensor(file.name, layout)
        view = np.lib.stride_tricks.as_strided(raw, spec.shape, [s * raw.itemsize for s in spec.strides])
        logical[file.name] = decode(view.copy(), file.dtype, ocp=True)
        assert file.dtype is (types_of(dtype).result if file.name.startswith("d") else dtype)
        # what lies between lines and matrices is the poison, and nothing else is
        view[...] = 0
        poisoned = (raw.view(np.uint8) == 0xFF).reshape(raw.size, -1).all(axis=1)
        assert poisoned.sum() == spec.stored_elements - spec.elements
    expected = written_out(problem, layout, logical)
    assert prepared.reference is not None
    reference = np.asarray(prepared.reference[0 : prepared.reference.size]).copy()
    spec = problem.tensor("e", layout)
    inside = np.lib.stride_tricks.as_strided(reference, spec.shape, [s * 8 for s in spec.strides])
    assert np.allclose(inside, expected, rtol=1e-12, atol=1e-12)
    assert np.isnan(reference).sum() == spec.stored_elements - spec.elements
    assert math.isclose(prepared.sums.magnitude, np.abs(expected).max(), rel_tol=1e-9)
    assert prepared.sums.roundings == (2 if isinstance(problem, MultiDProblem) else 1)


def test_flop_and_bytes():
    plain = GemmProblem(m=3840, n=4096, k=2048)
    base = {"m": 3840, "n": 4096, "k": 2048}
    for count in (1, 2):
        problem = MultiDProblem(**base, elementwise_op=ADD, strides_d=(0,) * count)
        assert problem.flop == problem.real_flop == plain.flop + count * 3840 * 4096
        assert problem.traffic_bytes(DataType.FP16) == plain.traffic_bytes(DataType.FP16) + count * 31_457_280
        # D has the type of the result
        assert problem.traffic_bytes(DataType.FP8) == plain.traffic_bytes(DataType.FP8) + count * 31_457_280
    batch = StridedBatchProblem(**base, batch=7, batch_stride_a=10**8)
    assert (batch.flop, batch.traffic_bytes(DataType.BF16)) == (
        7 * plain.flop,
        7 * plain.traffic_bytes(DataType.BF16),
    )


def test_descriptions_and_values():
    problem = MultiDProblem(m=1, n=2, k=3, stride_e=8, elementwise_op=MULTIPLY, strides_d=(0, 4))
    assert problem.describe() == "M1 N2 K3 lde 8 MultiDMultiply d2 ldd1 4"
    assert problem.values() == (1, 2, 3, 0, 0, 8, 1, 0, 0, 0, 2, 2, 0, 4)
    assert [op.number for op in (ADD, MULTIPLY)] == [1, 2]
    batch = StridedBatchProblem(m=1, n=2, k=3, batch=5, batch_stride_a=4, batch_stride_e=6)
    assert batch.describe() == "M1 N2 K3 batch 5 batch strides 4 packed 6"
    assert batch.values() == (1, 2, 3, 0, 0, 0, 5, 4, 0, 6)


@given(cases())
def test_they_can_be_kept_and_are_told_apart(case):
    problem, _ = case
    assert isinstance(problem, Problem)
    for kind in (StridedBatchProblem, MultiDProblem, GemmProblem):
        know_problem_type(kind)
    assert problem_from(msgspec.json.decode(msgspec.json.encode(problem))) == problem
    assert problem_from({**problem.as_dict(), "outcomes": []}) == problem
    assert sizes(problem) == {name: value for name, value in problem.as_dict().items() if name != "flop"}
    plain = GemmProblem(**{name: getattr(problem, name) for name in sizes(GemmProblem(m=1, n=1, k=1))})
    assert plain != problem and problem_from(sizes(plain)) == plain
    assert set(sizes(plain)) == {"m", "n", "k", "stride_a", "stride_b", "stride_e", "batch"}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_matrices_must_not_overlap(layout):
    plain = GemmProblem(m=40, n=50, k=60, batch=2, stride_a=70, stride_b=80, stride_e=90)
    packed = StridedBatchProblem(**msgspec.to_builtins(plain))
    for name in "abe":
        *_, lines, length = plain.tensor(name, layout).shape
        extent = (lines - 1) * plain.stride(name) + length
        field = f"batch_stride_{name}"
        assert replace(packed, **{field: extent}).unmet_by(layout) is None
        unmet = replace(packed, **{field: extent - 1}).unmet_by(layout)
        assert unmet is not None and unmet.rule == f"stride-{name}"
        assert f"is {extent - 1}, " in unmet.message and f"takes {extent} elements" in unmet.message
        assert replace(packed, **{field: extent - 1}, batch=1).unmet_by(layout) is None
    with_d = MultiDProblem(m=40, n=50, k=60, elementwise_op=ADD, strides_d=(0, 49))
    unmet = with_d.unmet_by(layout)
    assert unmet is not None and (unmet.rule, unmet.message[:20]) == ("stride-d", "the stride of D1 is ")


def test_wrong_problems():
    base = {"m": 1, "n": 1, "k": 1, "elementwise_op": ADD}
    for strides, said in (((), "num_d_tensors is 0"), ((0, 0, 0), "is 3"), ((0, -1), "stride_d1 is -1")):
        with pytest.raises(InputError, match=said):
            MultiDProblem(**base, strides_d=strides)
    with pytest.raises(InputError, match=r"batch is 2: .* unsupported family"):
        MultiDProblem(**base, strides_d=(0,), batch=2)
    with pytest.raises(InputError, match="batch_stride_b is -1"):
        StridedBatchProblem(m=1, n=1, k=1, batch=2, batch_stride_b=-1)
    with pytest.raises(InputError, match="Gelu, which takes one operand"):
        elementwise_op_named("Gelu")


@pytest.mark.parametrize("op", GEMM_OPERATIONS)
@pytest.mark.parametrize("count", [1, 2])
def test_the_deviation_is_that_of_random_operands(op, count):
    problem = MultiDProblem(m=300, n=300, k=40, elementwise_op=op, strides_d=(0,) * count)
    random = np.random.default_rng(5)
    layout = LAYOUTS[0]
    operands = {
        name: random.normal(0, 2, problem.tensor(name, layout).shape) for name in problem.tensors[:-1]
    }
    squares = {name: float((values**2).mean()) for name, values in operands.items()}
    result = OPERATION.reference(problem, layout, operands)
    assert math.isclose(OPERATION.deviation(problem, squares), float(result.std()), rel_tol=0.03)


def truncated(values):
    bits = values.astype(np.float32).view(np.uint32) & 0xFFFF0000
    return bits.view(np.float32)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(GEMM_OPERATIONS), st.integers(1, 2), st.booleans(), st.integers(0, 2**31))
def test_tolerance_holds_two_roundings_and_no_third(op, count, bf16, seed):
    """What a kernel does, rounding by rounding: the product to the result's type, then the combination."""
    random = np.random.default_rng(seed)
    cast = truncated if bf16 else (lambda values: values.astype(np.float16))
    dtype = DataType.BF16 if bf16 else DataType.FP16
    product = random.normal(0, 5, (16, 16))
    of_d = [cast(random.uniform(-0.5, 0.5, (16, 16))).astype(np.float64) for _ in range(count)]
    exact, found = product, cast(product).astype(np.float32)
    exact = op.properties.formula(exact, tuple(of_d), {})
    found = op.properties.formula(found, tuple(d.astype(np.float32) for d in of_d), {})
    errors = np.abs(cast(found).astype(np.float64) - exact)
    sizes_of = {"reduction_length": 64, "magnitude": float(np.abs(exact).max()), "deviation": 5.0}
    twice = derive_tolerance(types_of(dtype), Sums(**sizes_of, roundings=2))
    once = derive_tolerance(types_of(dtype), Sums(**sizes_of))
    assert (errors <= twice.atol + twice.rtol * np.abs(exact)).all()
    assert once.rtol < twice.rtol <= 3 * once.rtol
