"""Kernels that see the stride along the last axis as channels, on the CPU, in all directions.

A kernel that folds computes bit by bit what the same kernel without folding makes of the narrower problem,
which is written down here once more, and both are compared with the direction's reference.
"""

from dataclasses import replace

import numpy as np
import pytest

from ckprof.measure.worker.abi import AbiStatus, CProblem, Kernel
from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.layout import tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.gemm_families import TwoStagePipeline
from tests.convolutions import convolution
from tests.e2e.generated_kernels import build_kernels, expected_of, random_tensors, run_kernel

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

SMALL = {
    **{"dtype": "fp32", "tile_m": 16, "tile_n": 32, "tile_k": 16, "warp_m": 1, "warp_n": 1, "warp_tile_k": 8},
    **{"vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1},
}
#: direction -> what is special about its instances
INSTANCES = {
    "fwd": [{"layout": "nhwgc"}, {"layout": "nwgc"}],
    "bwd_data": [{"layout": "nhwgc"}, {"layout": "ndhwgc"}],
    "bwd_weight": [{"layout": "nhwgc"}, {"layout": "nhwgc", "family": TwoStagePipeline, "two_stage": True}],
}
DIRECTIONS = {one.id: one for one in shipped_directions()}
#: of patches that meet nowhere; the image of a transformer at a quarter of its size
PATCH = convolution("2 1 1 24 3 16 16 48 64 16 16 1 1 0 0 0 0")


def narrower(problem):
    """Return the problem of which as many pixels as the last stride has are one."""
    stride = problem.strides[-1]

    def shorter(lengths):
        return (*lengths[:-1], lengths[-1] // stride)

    return replace(
        problem,
        in_channels=problem.in_channels * stride,
        filter=shorter(problem.filter),
        input=shorter(problem.input),
        left_pads=shorter(problem.left_pads),
        right_pads=shorter(problem.right_pads),
        strides=(*problem.strides[:-1], 1),
    )


def drawn(draw, ndim):
    """Draw a problem whose last stride can be folded, with anything along the other axes."""
    stride = int(draw.integers(2, 5))

    def lengths(least, most, last):
        return (*(int(draw.integers(least, most)) for _ in range(ndim - 1)), last)

    taps = int(draw.integers(1, 4))
    return ConvProblem(
        groups=1,
        batch=int(draw.integers(1, 4)),
        out_channels=int(draw.integers(1, 20)),
        in_channels=int(draw.integers(1, 8)),
        filter=lengths(1, 4, taps * stride),
        input=lengths(7, 12, (taps + int(draw.integers(0, 6))) * stride),
        strides=lengths(1, 4, stride),
        dilations=lengths(1, 3, 1),
        left_pads=lengths(0, 3, int(draw.integers(0, 3)) * stride),
        right_pads=lengths(0, 3, int(draw.integers(0, 3)) * stride),
    )


Pairs = list[tuple[Instance, Kernel, Kernel]]


@pytest.fixture(scope="module", params=list(INSTANCES))
def built(request, tmp_path_factory, make_instance):
    """Return the direction, and each instance with its kernel, with folding and without."""
    direction = request.param
    changes = [{**SMALL, **of, "direction": direction} for of in INSTANCES[direction]]
    instances = [make_instance(**of, fold_stride=folds) for of in changes for folds in (False, True)]
    kernels = build_kernels(tmp_path_factory.mktemp(direction), direction, instances)
    plain, folding = kernels[::2], kernels[1::2]
    return direction, [(one, as_is, folded) for (one, as_is), (_, folded) in zip(plain, folding, strict=True)]


def test_results_are_those_of_the_narrower_problem(built):
    name, kernels = built
    direction = DIRECTIONS[name]
    result = direction.tensors[-1]
    draw = np.random.default_rng(11)
    for instance, plain, folding in kernels:
        problems = [drawn(draw, instance.ndim) for _ in range(12)]
        for problem in [*problems, *([PATCH] if instance.ndim == 2 else [])]:
            stored = random_tensors(direction, problem, instance.layout, draw)
            expected, bound = expected_of(direction, problem, instance.layout, stored)
            less = narrower(problem)
            shapes = {one: tensor_shape(less, instance.layout, one) for one in direction.tensors}
            reshaped = {one: array.reshape(shapes[one]) for one, array in stored.items()}
            for splits in (1,) if name == "fwd" else (1, 2):
                got = run_kernel(folding, problem, stored, result, DataType.FP32, splits)
                same = run_kernel(plain, less, reshaped, result, DataType.FP32, splits)
                if got is None or same is None:
                    # of so short a reduction there are no two parts
                    assert splits == 2 and got is None and same is None
                    continue
                assert np.array_equal(got.reshape(-1), same.reshape(-1)), (problem, splits)
                assert (np.abs(got - expected) <= bound).all(), (problem, splits)


def test_a_large_patch_has_a_kernel_in_every_direction(built):
    """Its 256 sub-GEMMs in backward data are more than a kernel takes; folded, there are 16."""
    name, kernels = built
    _, plain, folding = kernels[0]
    assert folding.is_supported(CProblem.of(PATCH, 1)).status is AbiStatus.OK
    answer = plain.is_supported(CProblem.of(PATCH, 1))
    if name == "bwd_data":
        assert [unmet.rule for unmet in answer.unmet_requirements] == ["gemm-count"]
    else:
        assert answer.status is AbiStatus.OK


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"groups": 2}, "G = 2, expected 1"),
        ({"strides": (16, 1)}, "the stride = 1, expected more than 1"),
        ({"dilations": (1, 2), "input": (48, 128)}, "the dilation = 2, expected 1"),
        ({"filter": (16, 17)}, "the width of the filter = 17, expected a multiple of the stride 16"),
        ({"input": (48, 70)}, "the width of the input = 70, expected a multiple of the stride 16"),
        ({"left_pads": (0, 8)}, "the left pad = 8, expected a multiple of the stride 16"),
        ({"right_pads": (0, 3)}, "the right pad = 3, expected a multiple of the stride 16"),
    ],
)
def test_what_cannot_be_folded_is_refused_with_the_reason(built, changes, said):
    _, kernels = built
    answer = kernels[0][2].is_supported(CProblem.of(replace(PATCH, **changes), 1))
    assert answer.status is AbiStatus.REJECTED
    messages = [unmet.message for unmet in answer.unmet_requirements if unmet.rule == "fold-stride"]
    assert messages == [f"{said} to see the stride along the last axis as channels"]
