"""Kernels whose launchers pad channels, on the CPU, in all directions, families and numbers of dimensions.

Results are compared with the direction's reference of the problem as it is, on memory between fences; what
calls libraries gets kernels that pad as well.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.measure.worker.abi import AbiStatus, CProblem
from ckprof.model.types import DataType
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.gemm_families import StreamKPipeline, TwoStagePipeline
from tests.e2e.generated_kernels import build_kernels, expected_of, random_tensors, run_kernel

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

SMALL = {
    **{"dtype": "fp32", "tile_m": 16, "tile_n": 32, "tile_k": 16, "warp_m": 1, "warp_n": 1, "warp_tile_k": 8},
    **{"vector_size_a": 2, "vector_size_b": 4, "vector_size_c": 4},
}
TWO_STAGE = {"family": TwoStagePipeline, "two_stage": True}
STREAM_K = {
    **{"family": StreamKPipeline, "streamk_enabled": True, "streamk_reduction_strategy": "TREE"},
    "pipeline": "compv1",
}
#: direction -> what is special about its instances
INSTANCES = {
    "fwd": [{"layout": "nhwgc"}, {"layout": "nwgc"}],
    "bwd_data": [{"layout": "nhwgc"}, {"layout": "ndhwgc"}],
    "bwd_weight": [{"layout": "nhwgc"}, {"layout": "nhwgc", **TWO_STAGE}, {"layout": "nhwgc", **STREAM_K}],
}
#: direction -> what C and K are padded to; by hand: A is 2 wide, B and the result are 4 wide
MULTIPLES = {"fwd": (4, 4), "bwd_data": (4, 2), "bwd_weight": (4, 2)}


def drawn(draw, ndim):
    def lengths(least, most):
        return tuple(int(draw.integers(least, most)) for _ in range(ndim))

    return ConvProblem(
        groups=int(draw.integers(1, 4)),
        batch=int(draw.integers(1, 4)),
        out_channels=int(draw.integers(1, 11)),
        in_channels=int(draw.integers(1, 11)),
        filter=lengths(1, 4),
        input=lengths(4, 9),
        strides=lengths(1, 3),
        dilations=(1,) * ndim,
        left_pads=lengths(0, 2),
        right_pads=lengths(0, 2),
    )


@pytest.mark.parametrize("name", list(INSTANCES))
def test_results_are_those_of_the_problem(name, tmp_path, make_instance):
    direction = next(one for one in shipped_directions() if one.id == name)
    result = direction.tensors[-1]
    ways = (None, "inside", "outside")
    changes = [{**SMALL, **of, "direction": name} for of in INSTANCES[name]]
    instances = [make_instance(**of, channel_padding=way) for of in changes for way in ways]
    built = build_kernels(tmp_path, name, instances)
    draw = np.random.default_rng(5)
    c, k = MULTIPLES[name]
    fits = ran = 0
    for first in range(0, len(built), len(ways)):
        (instance, plain), *padding = built[first : first + len(ways)]
        problems = [drawn(draw, instance.ndim) for _ in range(12)]
        for problem in [*problems, replace(problems[0], in_channels=8, out_channels=4)]:
            stored = random_tensors(direction, problem, instance.layout, draw)
            expected, bound = expected_of(direction, problem, instance.layout, stored)
            wide = replace(
                problem,
                in_channels=-(-problem.in_channels // c) * c,
                out_channels=-(-problem.out_channels // k) * k,
            )
            inner = plain.is_supported(CProblem.of(wide, 1))
            as_is = run_kernel(plain, problem, stored, result, DataType.FP32)
            fits += as_is is not None
            assert (as_is is not None) == (wide == problem and inner.status is AbiStatus.OK)
            for _, kernel in padding:
                support = kernel.is_supported(CProblem.of(problem, 1))
                assert (support.status, support.unmet_requirements) == (
                    inner.status,
                    inner.unmet_requirements,
                )
                got = run_kernel(kernel, problem, stored, result, DataType.FP32)
                if got is None:
                    continue
                ran += 1
                assert (np.abs(got - expected) <= bound).all(), (kernel.name, problem)
                # where everything fits, nothing is padded
                assert as_is is None or np.array_equal(got, as_is)
                assert (support.workspace_bytes > inner.workspace_bytes) == (wide != problem)
    assert fits and ran > 15 * len(changes), (fits, ran)


def test_a_library_pads_for_those_that_call_it(tmp_path, capsys):
    spec = "tile=64x64x64,waves=4x1x1,mma=16x16x16,gemm_pipeline=compv3"
    line = "conv -n 1 -c 6 -H 6 -W 5 -k 10 -y 3 -x 3 -p 1 -q 1 -g 2 -F 1"
    problem = ckprof.Problem.parse(line, direction="fwd")
    draw = np.random.default_rng(3)
    # integers, whose sums are exact
    operands = {
        "input": draw.integers(-3, 4, (1, 6, 5, 2, 3)).astype(np.float16),
        "weight": draw.integers(-3, 4, (2, 5, 3, 3, 3)).astype(np.float16),
    }
    forward = next(one for one in shipped_directions() if one.id == "fwd")
    values = {name: value.astype(np.float64) for name, value in operands.items()}
    expected = forward.reference(problem, find_layout("nhwgc"), values)
    for how in ("inside", "outside"):
        options = ["--instance-spec", spec, "--pad-channels", how, "--build-dir", str(tmp_path / how)]
        assert main(["build", "fwd", *options]) == 0
        library = capsys.readouterr().out.strip()
        # the second one takes longer to pad than to compute
        for called in (line, "conv -n 32 -c 6 -H 40 -W 40 -k 10 -y 1 -x 1 -g 2 -F 1"):
            assert main(["call", "fwd", library, "--problem", called]) == 0
            answer = json.loads(capsys.readouterr().out)
            assert answer["success"]
            assert answer["kernel"].get("prepares_untimed", False) == (how == "outside")
        assert np.array_equal(ckprof.ConvLibrary(library).run(problem, operands).output, expected)
