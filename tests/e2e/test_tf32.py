"""Generated kernels that multiply in TF32, on the CPU, against operands that numpy has rounded.

The bound is that of products of fp32, far below what rounding the operands changes: a kernel that does not
round them, or rounds otherwise, fails.
"""

import numpy as np
import pytest

from ckprof.model.types import DataType
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.pipelines.gemm_families import StreamKPipeline
from tests.convolutions import convolution
from tests.e2e.generated_kernels import build_kernels, expected_of, random_tensors, run_kernel

pytestmark = pytest.mark.compiler

SMALL = {
    **{"dtype": "fp32", "compute_type": "tf32", "tile_m": 16, "tile_n": 32, "tile_k": 16},
    **{"warp_m": 1, "warp_n": 1, "warp_tile_k": 8},
    **{"vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1},
}
STREAM_K = {
    **{"family": StreamKPipeline, "streamk_enabled": True, "streamk_reduction_strategy": "TREE"},
    # several groups need rows of tiles that are full
    "tile_m": 4,
}
#: direction -> what is special about its instances
INSTANCES = {
    "fwd": [{}, {"pipeline": "compv4", "double_smem_buffer": True}],
    "bwd_data": [{}],
    "bwd_weight": [{}, STREAM_K],
}
DIRECTIONS = {one.id: one for one in shipped_directions()}
PROBLEM = convolution("2 2 2 28 19 3 2 9 10 2 1 1 2 1 2 2 0")


def to_tf32(values):
    """Round to ten bits of fraction, to nearest and ties to even, by arithmetic instead of bits."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.asarray(np.ldexp(np.round(fraction * 2.0**11), exponent - 11))


@pytest.fixture(scope="module", params=list(INSTANCES))
def built(request, tmp_path_factory, make_instance):
    direction = request.param
    instances = [
        make_instance(**{**SMALL, **changes, "direction": direction}) for changes in INSTANCES[direction]
    ]
    return direction, build_kernels(tmp_path_factory.mktemp(direction), direction, instances)


def test_operands_are_rounded_and_sums_are_not(built):
    name, kernels = built
    direction = DIRECTIONS[name]
    *operands, result = direction.tensors
    draw = np.random.default_rng(5)
    for instance, kernel in kernels:
        layout = instance.layout
        stored = random_tensors(direction, PROBLEM, layout, draw)
        # values that lie between two others: ties go to the even one
        stored[operands[0]].reshape(-1)[:4] = [1 + 2**-11, 1 + 3 * 2**-11, -(1 + 2**-11), 1 + 2**-11 + 2**-23]

        rounded = {one: to_tf32(stored[one]) for one in operands}
        expected, bound = expected_of(direction, PROBLEM, layout, rounded)
        exact, _ = expected_of(direction, PROBLEM, layout, stored)
        for splits in (1,) if name == "fwd" else (1, 3):
            got = run_kernel(kernel, PROBLEM, stored, result, DataType.FP32, splits)
            if got is None:
                assert splits != 1
                continue
            assert (np.abs(got - expected) <= bound).all(), (instance, splits)
            beyond = np.abs(got - exact) > bound
            assert beyond.mean() > 0.5, "what rounding changes cannot be told from rounding errors"


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (1.0, 1.0),
        (1 + 2**-11, 1.0),
        (1 + 3 * 2**-11, 1 + 2**-9),
        (1 + 2**-11 + 2**-23, 1 + 2**-10),
        (-(1 + 2**-11), -1.0),
        (2 - 2**-12, 2.0),
        (0.0, 0.0),
    ],
)
def test_the_reference_rounds_to_nearest(value, rounded):
    assert to_tf32(np.array([value], dtype=np.float32))[0] == rounded
