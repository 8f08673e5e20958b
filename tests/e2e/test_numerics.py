"""Generated kernels against scipy, over random problems in all types and dimensions.

The bound is rigorous: one rounding to the type of the result, and a float accumulation whose error is at most
(number of products) x 2^-23 x (sum of the products' magnitudes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import correlate

from ckprof.build.builder import build_library
from ckprof.build.cache import ObjectCache
from ckprof.codegen.tree import generate_tree
from ckprof.errors import InputError
from ckprof.model.dtype import DataType
from ckprof.model.instance import Instance
from ckprof.model.problem import ConvProblem
from ckprof.model.recipe import BuildRequest
from ckprof.model.tensor import tensor_shape
from ckprof.paths import object_cache_dir
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.run.library import AbiStatus, CBuffers, CProblem, Kernel, Library
from ckprof.run.storage import decode, encode

pytestmark = pytest.mark.compiler

#: relative error of one rounding; CK Tile truncates to bf16
ROUNDING = {DataType.FP32: 2.0**-24, DataType.FP16: 2.0**-11, DataType.BF16: 2.0**-7}

#: elements before and after each output that a kernel must not touch
FENCE = 64

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


@pytest.fixture(scope="module")
def kernels(
    tmp_path_factory: pytest.TempPathFactory, make_instance: Callable[..., Instance]
) -> Sequence[tuple[Instance, Kernel]]:
    """Build all configurations in all types; return (instance, kernel)."""
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    target = next(t for t in registry.targets if t.embedded)
    recipe = target.recipe(BuildRequest(arch=target.default_arch))
    instances = [
        make_instance(layout=layout, dtype=dtype.value, **{**PLAIN, **changes})
        for changes, layouts in CONFIGURATIONS
        for layout in layouts
        for dtype in DataType
    ]
    root = tmp_path_factory.mktemp("numerics")
    tree = generate_tree(
        root, "numerics", instances, registry.pipelines.as_mapping(), registry.direction("fwd"), recipe.arch,
        recipe.api_level,
    )  # fmt: skip
    result = build_library(tree, recipe, timeout_s=200, work_dir=root, cache=ObjectCache(object_cache_dir()))
    assert not result.failures and result.library is not None
    library = Library.load(result.library)
    return [(instance, library.kernels[instance.key]) for instance in instances]


def axes_of(ndim: int) -> st.SearchStrategy[ConvProblem | None]:
    def axis(least: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
        return st.tuples(*[st.integers(least, most)] * ndim)

    def make(**fields: object) -> ConvProblem | None:
        try:
            return ConvProblem(**fields)
        except InputError:
            return None  # the output would be empty

    return st.builds(
        make,
        groups=st.sampled_from((1, 2, 3, 4)),
        batch=st.integers(1, 3),
        out_channels=st.integers(1, 9),
        in_channels=st.sampled_from((1, 1, 2, 3, 5, 17)),
        filter=st.one_of(axis(1, 4), st.just((1,) * ndim), st.just((3,) * ndim)),
        input=axis(1, 7),
        strides=st.one_of(axis(1, 3), st.just((1,) * ndim)),
        dilations=axis(1, 2),
        left_pads=st.one_of(axis(0, 3), st.just((0,) * ndim)),
        right_pads=st.one_of(axis(0, 3), st.just((0,) * ndim)),
    )


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


@pytest.mark.parametrize("ndim", [1, 2, 3])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_kernels_agree_with_scipy(
    kernels: Sequence[tuple[Instance, Kernel]], ndim: int, data: st.DataObject
) -> None:
    problem = data.draw(axes_of(ndim))
    assume(problem is not None)
    assert problem is not None
    seed = data.draw(st.integers(0, 2**16))
    supported = 0
    for dtype in DataType:
        mine = [(i, kernel) for i, kernel in kernels if i.ndim == ndim and i.dtype is dtype]
        layout = mine[0][0].layout
        draw = np.random.default_rng(seed)
        stored = {
            name: encode(draw.uniform(-1, 1, tensor_shape(problem, layout, name)), dtype)
            for name in ("input", "weight")
        }
        image, weight = (decode(stored[name], dtype).astype(float) for name in ("input", "weight"))
        expected = by_scipy(problem, image, weight)
        products = problem.in_channels * int(np.prod(problem.filter))
        magnitude = by_scipy(problem, np.abs(image), np.abs(weight))
        bound = ROUNDING[dtype] * np.abs(expected) + products * 2.0**-23 * magnitude + 2.0**-25
        for instance, kernel in mine:
            status, reason = kernel.is_supported(CProblem.of(problem, 1))
            if status is not AbiStatus.OK:
                assert status is AbiStatus.REFUSED and reason
                continue
            supported += 1
            fenced = (
                np.full(expected.size + 2 * FENCE, 0x7F, dtype=np.uint8)
                .repeat(stored["input"].itemsize)
                .view(stored["input"].dtype)
            )
            before = fenced.copy()
            output = fenced[FENCE:-FENCE]
            buffers = CBuffers(stored["input"].ctypes.data, stored["weight"].ctypes.data, output.ctypes.data)
            status, reason, _ = kernel.run(CProblem.of(problem, 1), buffers)
            assert status is AbiStatus.OK, reason
            got = decode(output, dtype).astype(float).reshape(expected.shape)
            worst = np.max(np.abs(got - expected) - bound)
            assert worst <= 0, (instance, problem, worst)
            for fence in (slice(0, FENCE), slice(-FENCE, None)):
                assert fenced[fence].tobytes() == before[fence].tobytes(), (instance, problem)
    assert supported >= len(DataType)  # the plain instances support everything
