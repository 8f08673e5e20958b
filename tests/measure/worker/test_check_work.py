from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.verify.storage import storage_type
from ckprof.measure.worker.check_work import NotExpressibleError, lower
from ckprof.model.computation import AffineIndex, Contraction
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import ComputeType, DataType, TypeSet
from ckprof_plugins.directions._convolution.layout import LAYOUTS, find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import LAYOUTS as MATRIX_LAYOUTS
from ckprof_plugins.operations.gemm.problem import GemmProblem

from ..device_checks import FLOATS, SCALE, CheckedWorker


def spec(name, axes, shape):
    return TensorSpec(name=name, axes=axes, shape=shape, drawing_order=axes, position=0)


@pytest.mark.parametrize(
    ("contraction", "text"),
    [
        (Contraction(summed=(("M", 4),)), "summed as well"),
        (Contraction(summed=()), "reached from no axis K"),
        (
            Contraction(
                summed=(("K", 4),), indices={"a": {"M": AffineIndex(terms=(("M", 1),), offset=2**31)}}
            ),
            "too large",
        ),
    ],
)
def test_what_devices_cannot_be_told_is_said(contraction, text):
    specs = spec("a", "MK", (3, 4)), spec("b", "KN", (4, 5)), spec("e", "MN", (3, 5))
    with pytest.raises(NotExpressibleError, match=text):
        lower(contraction, specs, TypeSet.shared(DataType.FP32))


DIRECTIONS = {one.id: one for one in (Forward(), BackwardData(), BackwardWeight())}


ANYWHERE = RunOptions()

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def convolutions(draw):
    ndim = draw(st.integers(1, 3))
    most = {1: 12, 2: 7, 3: 5}[ndim]

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(ndim))

    try:
        return ConvProblem(
            groups=draw(st.integers(1, 3)),
            batch=draw(st.integers(1, 3)),
            out_channels=draw(st.sampled_from((1, 2, 5, 17, 70))),
            in_channels=draw(st.sampled_from((1, 3, 8, 20, 66))),
            filter=each(1, 3),
            input=each(1, most),
            strides=each(1, 3),
            dilations=each(1, 3),
            left_pads=each(0, 2),
            right_pads=each(0, 2),
        )
    except InputError:
        assume(False)


def same_on_both(checks, operation, problem, layout, types, folder, options=ANYWHERE, exact=None):
    """Have host and device make operands and reference, and compare all of it."""
    device = prepare_problem(
        operation,
        problem,
        layout,
        types,
        replace(options, reference=ReferencePlace.DEVICE),
        folder,
        can_check=True,
        exact=exact,
    )
    host = prepare_problem(
        operation,
        problem,
        layout,
        types,
        replace(options, reference=ReferencePlace.HOST),
        folder,
        exact=exact,
    )
    worker = CheckedWorker(checks)
    loaded = worker.load(device)
    assert device.on_device and not host.on_device
    for tensor, dtype in zip(host.tensors[:-1], host.types.of_tensors, strict=False):
        stored = worker.values(tensor.name, storage_type(dtype))
        assert np.array_equal(stored.view(np.uint8), tensor.values[0 : stored.size].view(np.uint8))
    expected = host.reference[0 : host.reference.size]
    # sums of doubles in another order
    sums = host.sums
    bound = 1e-14 * max(1.0, sums.reduction_length) * max(sums.magnitude, 1e-30)
    np.testing.assert_allclose(worker.reference, expected, rtol=0, atol=bound)
    assert loaded.sums.magnitude == pytest.approx(sums.magnitude, abs=bound)
    assert loaded.sums.deviation == pytest.approx(sums.deviation, rel=1e-12)
    return worker, loaded


@FEW
@given(
    problem=convolutions(),
    direction=st.sampled_from(sorted(DIRECTIONS)),
    dtype=st.sampled_from(FLOATS),
    transposed=st.booleans(),
)
def test_references_of_convolutions_agree(checks, tmp_path, problem, direction, dtype, transposed):
    layouts = [one for one in LAYOUTS if one.ndim == problem.ndim]
    same_on_both(checks, DIRECTIONS[direction], problem, layouts[-transposed], dtype, tmp_path)


@FEW
@given(
    m=st.integers(1, 90),
    n=st.integers(1, 90),
    k=st.integers(1, 70),
    batch=st.integers(1, 3),
    gaps=st.tuples(*(st.integers(0, 3),) * 3),
    layout=st.sampled_from(MATRIX_LAYOUTS),
    dtype=st.sampled_from((*FLOATS, DataType.FP8, DataType.BF8, DataType.INT8)),
    ocp=st.booleans(),
)
def test_references_of_products_agree(checks, tmp_path, m, n, k, batch, gaps, layout, dtype, ocp):
    packed = GemmProblem(m=m, n=n, k=k, batch=batch)
    strides = {
        f"stride_{name}": packed.tensor(name, layout).shape[-1] + gap
        for name, gap in zip("abe", gaps, strict=True)
    }
    operation = Gemm()
    types = replace(operation.types(dtype), ocp=ocp)
    same_on_both(checks, operation, replace(packed, **strides), layout, types, tmp_path)


@pytest.mark.parametrize("kind", InitKind)
@pytest.mark.parametrize("dtype", FLOATS)
def test_all_kinds_of_operands_are_the_same_on_devices(checks, tmp_path, kind, dtype):
    options = RunOptions(init=kind, seed=7)
    same_on_both(checks, Forward(), SCALE, find_layout("nhwgc"), dtype, tmp_path, options)


@pytest.mark.parametrize("length", [1, 50, 3000])
@pytest.mark.parametrize("ocp", [True, False])
@pytest.mark.parametrize("dtype", [*FLOATS, DataType.FP8, DataType.BF8, DataType.INT8])
def test_operands_with_exact_sums_are_the_same_on_devices(checks, tmp_path, dtype, ocp, length):
    types = replace(Gemm().types(dtype), ocp=ocp)
    if dtype is DataType.FP32:
        types = replace(types, compute_type=ComputeType.TF32)
    problem = GemmProblem(m=20, n=12, k=length, batch=2, stride_a=length + 3)
    for kind in ExactKind:
        same_on_both(checks, Gemm(), problem, MATRIX_LAYOUTS[0], types, tmp_path, exact=kind)
    same_on_both(
        checks, Forward(), SCALE, find_layout("nhwgc"), DataType.BF16, tmp_path, exact=ExactKind.WIDE
    )


@pytest.mark.parametrize("direction", ["fwd", "bwd_weight"])
def test_long_sums_in_slices_agree(checks, tmp_path, direction):
    long = ConvProblem(
        groups=1, batch=3, out_channels=4, in_channels=2500 if direction == "fwd" else 3, filter=(2,),
        input=(1200 if direction == "bwd_weight" else 9,), strides=(1,), dilations=(1,), left_pads=(1,),
        right_pads=(0,),
    )  # fmt: skip
    layout = find_layout("nwgc")
    worker, _ = same_on_both(checks, DIRECTIONS[direction], long, layout, DataType.BF16, tmp_path)
    assert worker.session._references.work.slices > 1
