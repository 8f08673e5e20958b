"""Generated kernels against scipy, over random problems in all types and dimensions.

The bound is rigorous: one rounding to the type of the result, and a float accumulation whose error is at most
(number of products) x 2^-23 x (sum of the products' magnitudes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import correlate

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.instance import Instance
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_plugins.directions._convolution.layout import tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from tests.e2e.generated_kernels import ROUNDING, Built, build_kernels, problems, run_kernel

pytestmark = pytest.mark.compiler

PLAIN = {
    **{"vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1},
    **{"tile_m": 32, "tile_n": 32, "tile_k": 16, "warp_m": 1, "warp_n": 1, "warp_tile_k": 4},
}

#: what is special about an instance, and for which layouts it is built
CONFIGURATIONS = (
    ({}, ("nwgc", "nhwgc", "ndhwgc")),
    ({"num_groups_to_merge": 2}, ("nwgc", "nhwgc", "ndhwgc")),
    ({"pipeline": "compv4", "double_smem_buffer": True, "tile_m": 64, "tile_k": 64}, ("nhwgc",)),
    ({"pipeline": "compv5", "num_wave_groups": 2, "tile_n": 16, "warp_tile_n": 16}, ("nhwgc",)),
    ({"pipeline": "mem", "scheduler": "interwave", "specialization": "filter1x1_pad0"}, ("nhwgc",)),
    ({"specialization": "filter1x1_stride1_pad0", "explicit_gemm": True}, ("ndhwgc",)),
    ({"specialization": "filter3x3", "num_groups_to_merge": 4, "split_image": True}, ("nhwgc",)),
)


#: In the fast suite every type and every number of dimensions occurs, but not every pair of them.
DIAGONAL = {("nwgc", DataType.FP32), ("nhwgc", DataType.FP16), ("ndhwgc", DataType.BF16)}


def build(folder: pytest.TempPathFactory, make: Callable[..., Instance], *, all_types: bool) -> Built:
    instances = [
        make(layout=layout, dtype=dtype.value, **{**PLAIN, **changes})
        for changes, layouts in CONFIGURATIONS
        for layout in layouts
        for dtype in SHARED_TYPES
        if all_types or (layout, dtype) in DIAGONAL
    ]
    return build_kernels(folder.mktemp("numerics"), "fwd", instances)


@pytest.fixture(scope="module")
def diagonal(tmp_path_factory: pytest.TempPathFactory, make_instance: Callable[..., Instance]) -> Built:
    return build(tmp_path_factory, make_instance, all_types=False)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, make_instance: Callable[..., Instance]) -> Built:
    return build(tmp_path_factory, make_instance, all_types=True)


def by_scipy(problem: ConvProblem, image: NDArray, weight: NDArray) -> NDArray:
    """Correlate channel by channel; ``image`` is (n, *spatial, g, c), ``weight`` (g, k, *filter, c)."""
    reach = [(taps - 1) * d + 1 for taps, d in zip(problem.filter, problem.dilations, strict=True)]
    pads = list(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = np.pad(image, [(0, 0), *pads, (0, 0), (0, 0)])
    spread = np.zeros((*weight.shape[:2], *reach, weight.shape[-1]))
    spread[(slice(None), slice(None), *(slice(None, None, d) for d in problem.dilations))] = weight
    result = np.zeros((problem.batch, *problem.output, problem.groups, problem.out_channels))
    steps = tuple(slice(None, None, stride) for stride in problem.strides)
    for n, g, k, c in itertools.product(
        range(problem.batch), range(problem.groups), range(problem.out_channels), range(problem.in_channels)
    ):
        full = correlate(padded[n, ..., g, c], spread[g, k, ..., c], mode="valid", method="direct")
        result[n, ..., g, k] += full[steps]
    return result


def check(kernels: Built, ndim: int, data: st.DataObject) -> None:
    problem = data.draw(problems(ndim))
    assume(problem is not None)
    assert problem is not None
    seed = data.draw(st.integers(0, 2**16))
    for dtype in SHARED_TYPES:
        mine = [(i, kernel) for i, kernel in kernels if i.ndim == ndim and i.dtype is dtype]
        if not mine:
            continue
        layout = mine[0][0].layout
        draw = np.random.default_rng(seed)
        stored = {
            name: encode(draw.uniform(-1, 1, tensor_shape(problem, layout, name)), dtype)
            for name in ("input", "weight", "output")
        }
        image, weight = (decode(stored[name], dtype).astype(float) for name in ("input", "weight"))
        expected = by_scipy(problem, image, weight)
        products = problem.in_channels * int(np.prod(problem.filter))
        magnitude = by_scipy(problem, np.abs(image), np.abs(weight))
        bound = ROUNDING[dtype] * np.abs(expected) + products * 2.0**-23 * magnitude + 2.0**-25
        supported = 0
        for instance, kernel in mine:
            got = run_kernel(kernel, problem, stored, "output", dtype)
            if got is None:
                continue
            supported += 1
            worst = np.max(np.abs(got - expected) - bound)
            assert worst <= 0, (instance, problem, worst)
        assert supported  # the plain instances support everything


@pytest.mark.thorough
@pytest.mark.parametrize("ndim", [1, 2, 3])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_kernels_agree_with_scipy(diagonal: Built, ndim: int, data: st.DataObject) -> None:
    check(diagonal, ndim, data)


@pytest.mark.slow
@pytest.mark.parametrize("ndim", [1, 2, 3])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_all_types_in_all_dimensions(everything: Built, ndim: int, data: st.DataObject) -> None:
    check(everything, ndim, data)
