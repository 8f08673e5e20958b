"""Generated kernels of all directions and families of GEMMs against scipy, over random problems.

The bound is rigorous for each family: a float accumulation whose error is at most (number of additions) x
2^-23 x (sum of the products' magnitudes), one rounding to the type of the result, and for splits of an
implicit GEMM one more rounding for each partial result and each addition of one, in that type.
"""

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_plugins.directions._convolution.layout import tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline, StreamKPipeline, TwoStagePipeline
from tests.e2e.generated_kernels import ROUNDING, build_kernels, problems, run_kernel

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

FORWARD = {
    **{"vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1},
    **{"tile_m": 32, "tile_n": 32, "tile_k": 16, "warp_m": 1, "warp_n": 1, "warp_tile_k": 4},
}
PLAIN = {**FORWARD, "vector_size_c": 2, "tile_m": 16}
ODD = {**PLAIN, "vector_size_c": 1}
UNIT = {"specialization": "filter1x1_stride1_pad0"}
TREE = {"streamk_enabled": True, "streamk_reduction_strategy": "TREE"}
LINEAR = {**TREE, "streamk_reduction_strategy": "LINEAR"}
#: upstream notes wrong results of this configuration on hardware
INTERWAVE = {
    **{"pipeline": "mem", "scheduler": "interwave", "tile_m": 64, "tile_n": 64, "tile_k": 64},
    **{"warp_m": 2, "warp_n": 2, "warp_tile_k": 16},
}
#: layout -> the type that has it in the gate, where every type and every number of dimensions occurs
DIAGONAL = {"nwgc": DataType.FP32, "nhwgc": DataType.FP16, "ndhwgc": DataType.BF16}
ALL = tuple(DIAGONAL)

#: direction, what is special about an instance, and for which layouts it is built in the gate; the plain
#: ones, which support every problem, for all
CONFIGURATIONS = (
    ("fwd", FORWARD, ALL),
    ("fwd", {**FORWARD, "num_groups_to_merge": 2}, ALL),
    (
        "fwd",
        {**FORWARD, "pipeline": "compv4", "double_smem_buffer": True, "tile_m": 64, "tile_k": 64},
        ("nhwgc",),
    ),
    (
        "fwd",
        {**FORWARD, "pipeline": "compv5", "num_wave_groups": 2, "tile_n": 16, "warp_tile_n": 16},
        ("nhwgc",),
    ),
    (
        "fwd",
        {**FORWARD, "pipeline": "mem", "scheduler": "interwave", "specialization": "filter1x1_pad0"},
        ("nhwgc",),
    ),
    ("fwd", {**FORWARD, **UNIT, "explicit_gemm": True}, ("ndhwgc",)),
    (
        "fwd",
        {**FORWARD, "specialization": "filter3x3", "num_groups_to_merge": 4, "split_image": True},
        ("nhwgc",),
    ),
    ("bwd_data", ODD, ALL),
    ("bwd_data", {**PLAIN, "pipeline": "mem"}, ("nhwgc",)),
    ("bwd_data", {**PLAIN, **UNIT}, ("ndhwgc",)),
    ("bwd_weight", ODD, ALL),
    ("bwd_weight", {**PLAIN, "num_groups_to_merge": 2}, ("nhwgc",)),
    ("bwd_weight", {**PLAIN, **UNIT, "explicit_gemm": True}, ("ndhwgc",)),
    ("bwd_weight", {**PLAIN, **INTERWAVE}, ("nwgc",)),
    ("bwd_weight", {**ODD, "family": TwoStagePipeline, "two_stage": True}, ("nhwgc",)),
    ("bwd_weight", {**ODD, "family": StreamKPipeline, **TREE}, ("ndhwgc",)),
    (
        "bwd_weight",
        {**ODD, "family": StreamKPipeline, **LINEAR, "streamk_persistent": True, "tile_m": 4},
        ("nwgc",),
    ),
)
#: direction -> its operands, as :func:`by_scipy` takes them, and its result
ROLES = {
    "fwd": ("input", "weight", "output"),
    "bwd_data": ("output", "weight", "input"),
    "bwd_weight": ("output", "input", "weight"),
}


def build(folder, make, *, everything):
    """Build the configurations of each direction, in the gate's layouts and types or in all of them."""

    def instances(direction):
        return [
            make(layout=layout, dtype=dtype.value, direction=direction, **changes)
            for other, changes, layouts in CONFIGURATIONS
            if other == direction
            for layout in (ALL if everything and direction != "fwd" else layouts)
            for dtype in (SHARED_TYPES if everything else [DIAGONAL[layout]])
        ]

    return {one: build_kernels(folder.mktemp(one), one, instances(one)) for one in ROLES}


@pytest.fixture(scope="module")
def diagonal(tmp_path_factory, make_instance, usual_compiler):
    return build(tmp_path_factory, make_instance, everything=False)


@pytest.fixture(scope="module")
def everything(tmp_path_factory, make_instance):
    return build(tmp_path_factory, make_instance, everything=True)


def spread(values, steps):
    """Put zeros between the values."""
    shape = [(length - 1) * step + 1 for length, step in zip(values.shape, steps, strict=True)]
    result = np.zeros(shape)
    result[tuple(slice(None, None, step) for step in steps)] = values
    return result


def by_scipy(direction, p, first, second):
    """Compute channel by channel; tensors are (n, *spatial, g, c), (g, k, *filter, c), (n, *spatial, g, k).

    :param first: the first of the direction's :data:`ROLES`, and so is ``second``.
    """
    pads = list(zip(p.left_pads, p.right_pads, strict=True))
    channels = itertools.product(range(p.batch), range(p.groups), range(p.out_channels), range(p.in_channels))
    around = [(0, 0), *pads, (0, 0), (0, 0)]
    if direction == "fwd":
        padded = np.pad(first, around)
        result = np.zeros((p.batch, *p.output, p.groups, p.out_channels))
        steps = tuple(slice(None, None, stride) for stride in p.strides)
        for n, g, k, c in channels:
            taps = spread(second[g, k, ..., c], p.dilations)
            result[n, ..., g, k] += scipy.signal.correlate(
                padded[n, ..., g, c], taps, mode="valid", method="direct"
            )[steps]
        return result
    if direction == "bwd_data":
        frame = np.zeros(
            (p.batch, *(a + n + b for n, (a, b) in zip(p.input, pads, strict=True)), p.groups, p.in_channels)
        )
        for n, g, k, c in channels:
            windows = spread(first[n, ..., g, k], p.strides)
            full = scipy.signal.convolve(
                windows, spread(second[g, k, ..., c], p.dilations), mode="full", method="direct"
            )
            frame[(n, *map(slice, full.shape), g, c)] += full
        inside = tuple(slice(a, a + n) for n, (a, _) in zip(p.input, pads, strict=True))
        return frame[(slice(None), *inside)]
    padded = np.pad(second, around)
    result = np.zeros((p.groups, p.out_channels, *p.filter, p.in_channels))
    taps = tuple(slice(None, (n - 1) * d + 1, d) for n, d in zip(p.filter, p.dilations, strict=True))
    for n, g, k, c in channels:
        windows = spread(first[n, ..., g, k], p.strides)
        result[g, k, ..., c] += scipy.signal.correlate(
            padded[n, ..., g, c], windows, mode="valid", method="direct"
        )[taps]
    return result


#: more additions of partial sums than any of these problems has
MOST_PARTS = 512


def error_bound(instance, problem, expected, magnitude, splits):
    rounding = ROUNDING[instance.dtype]
    taps = int(np.prod(problem.filter))
    if instance.direction == "fwd":
        additions = products = problem.in_channels * taps
    else:
        products = max(problem.out_channels * taps, problem.batch * int(np.prod(problem.output)))
        additions = products + MOST_PARTS
    bound = rounding * np.abs(expected) + additions * 2.0**-23 * magnitude + 2.0**-25
    if splits != 1 and instance.pipeline == ImplicitGemmPipeline.id:
        parts = splits if splits > 0 else products
        bound += 2 * (parts + 1) * rounding * magnitude
    return bound


def check(kernels, ndim, data):
    problem = data.draw(problems(ndim))
    assume(problem is not None)
    assert problem is not None
    seed = data.draw(st.integers(0, 2**16))
    split_k = data.draw(st.sampled_from((1, 1, 2, 3, 7, -1)))
    for direction, (first, second, result) in ROLES.items():
        supported = 0
        for dtype in SHARED_TYPES:
            mine = [(i, kernel) for i, kernel in kernels[direction] if i.ndim == ndim and i.dtype is dtype]
            if not mine:
                continue
            layout = mine[0][0].layout
            draw = np.random.default_rng(seed)
            stored = {
                name: encode(draw.uniform(-1, 1, tensor_shape(problem, layout, name)), dtype)
                for name in ("input", "weight", "output")
            }
            operands = [decode(stored[name], dtype).astype(float) for name in (first, second)]
            expected = by_scipy(direction, problem, *operands)
            magnitude = by_scipy(direction, problem, *(np.abs(values) for values in operands))
            for instance, kernel in mine:
                for splits in {1, split_k if direction != "fwd" else 1}:
                    got = run_kernel(kernel, problem, stored, result, dtype, splits)
                    if got is None:
                        continue
                    supported += splits == 1
                    bound = error_bound(instance, problem, expected, magnitude, splits)
                    worst = np.max(np.abs(got - expected) - bound)
                    assert worst <= 0, (instance, problem, splits, worst)
        assert supported  # the plain instances support everything


@pytest.mark.parametrize("ndim", [1, 2, 3])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_kernels_agree_with_scipy(diagonal, ndim, data):
    check(diagonal, ndim, data)


@pytest.mark.slow
@pytest.mark.parametrize("ndim", [1, 2, 3])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_all_types_in_all_dimensions(everything, ndim, data):
    check(everything, ndim, data)


def test_every_family_of_gradients_computes_something(diagonal):
    """A property over unmet_requirements alone would prove nothing: here each kernel supports its problem."""
    for direction in ("bwd_data", "bwd_weight"):
        result = ROLES[direction][-1]
        for instance, kernel in diagonal[direction]:
            ones, zeros = (1,) * instance.ndim, (0,) * instance.ndim
            problem = ConvProblem(
                groups=2, batch=2, out_channels=16, in_channels=2, filter=ones, input=(20,) * instance.ndim,
                strides=ones, dilations=ones, left_pads=zeros, right_pads=zeros,
            )  # fmt: skip
            stored = {
                name: encode(np.ones(tensor_shape(problem, instance.layout, name)), instance.dtype)
                for name in ("input", "weight", "output")
            }
            got = run_kernel(kernel, problem, stored, result, instance.dtype)
            assert got is not None, instance
            products = 16 if direction == "bwd_data" else 2 * 20**instance.ndim
            assert np.abs(got / products - 1).max() <= ROUNDING[instance.dtype], instance
