"""Sizes, formulas and the reference of matrix products, against sums that are written out."""

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
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import (
    GEMM_TYPES,
    LAYOUTS,
    GemmProblem,
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
