"""The default problems have tails along M, N and K for the tiles of the shipped lists, which support them."""

import math

import pytest

from ckprof.kernels.requests import InstanceQuery
from ckprof.profiler import Profiler
from ckprof_plugins.pipelines.vocabulary import Specialization


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


def fits(instance, problem):
    """Say whether vectors and specialization, which depend on the sizes, allow the problem."""
    a, b, c = instance.vector_sizes
    widths = {
        "fwd": ((problem.in_channels, a), (problem.in_channels, b), (problem.out_channels, c)),
        "bwd_data": ((problem.out_channels, a), (problem.in_channels, b), (problem.in_channels, c)),
        "bwd_weight": ((problem.out_channels, a), (problem.in_channels, b), (problem.in_channels, c)),
    }[instance.direction]
    usual = instance.specialization is Specialization.DEFAULT and instance.num_groups_to_merge == 1
    return usual and not instance.explicit_gemm and all(length % width == 0 for length, width in widths)


def product(direction, problem):
    pixels, taps = problem.batch * math.prod(problem.output), math.prod(problem.filter)
    k, c = problem.out_channels, problem.in_channels
    return {
        "fwd": (pixels, k, c * taps),
        "bwd_data": (pixels, c, k * taps),
        "bwd_weight": (k, c * taps, pixels),
    }[direction]


@pytest.mark.parametrize(
    ("name", "supported", "with_tails"),
    [
        # what supported the problem without tails of before: as many
        ("forward/tests/nhwgc_fp16", 25, 25),
        ("forward/tests/ndhwgc_bf16", 15, 15),
        ("forward/tests/nhwgc_fp32", 21, 21),
        # a vector of 16 along K, with a tile of 16, has no tail
        ("backward_data/tests/nhwgc_fp16", 7, 6),
        ("backward_data/tests/ndhwgc_fp32", 6, 5),
        ("backward_weight/tests/nhwgc_fp16", 6, 6),
        ("backward_weight/tests/ndhwgc_fp32_streamk", 4, 4),
        pytest.param("forward/profiler/nhwgc_bf16", 91, 91, marks=pytest.mark.thorough),
        pytest.param("backward_data/profiler/ndhwgc_bf16", 35, 32, marks=pytest.mark.thorough),
        pytest.param("backward_weight/profiler/nhwgc_bf16_streamk", 21, 21, marks=pytest.mark.thorough),
    ],
)
def test_tiles_have_tails_in_all_three(profiler, name, supported, with_tails):
    selection = profiler.instances(InstanceQuery(conf=name))
    problems = profiler.registry.operation(selection.direction).default_problem
    fitting = [c.instance for c in selection.candidates if fits(c.instance, problems[c.instance.ndim])]
    tailed = [
        instance
        for instance in fitting
        if all(
            size % tile
            for size, tile in zip(
                product(instance.direction, problems[instance.ndim]), instance.tile.sizes, strict=True
            )
        )
    ]
    assert (len(fitting), len(tailed)) == (supported, with_tails)
