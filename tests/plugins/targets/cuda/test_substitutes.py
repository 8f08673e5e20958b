"""Problems that have kernels of their own on NVIDIA GPUs: what is said of them is what their headers say."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.api.instances import choose_instances
from ckprof.api.requests import InstanceQuery
from ckprof.api.session import Session
from ckprof.config.settings import Settings
from ckprof.errors import InputError
from ckprof.flow.same_kernels import substitutions
from ckprof.model.kernel_traits import KernelTraits, Reduction, Schedule
from ckprof.model.problem import ConvProblem
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.timing import TimedKernel
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.cuda.substitutes import FEW_CHANNELS, SINGLE_CHANNELS, substitute
from ckprof_plugins.targets.cuda.target import CudaTarget
from tests.plugins.targets.cuda.test_cuda_model import COMPILER, FLAGS, FOLDERS

PROBLEM = ConvProblem(
    **{"groups": 32, "batch": 4, "out_channels": 8, "in_channels": 8, "filter": (3, 3), "input": (56, 56)},
    **{"strides": (1, 1), "dilations": (1, 1), "left_pads": (1, 1), "right_pads": (1, 1)},
)
SINGLE = replace(PROBLEM, groups=384, out_channels=1, in_channels=1)
DEEP = ConvProblem(
    **{"groups": 8, "batch": 1, "out_channels": 1, "in_channels": 1, "filter": (2, 3, 3), "input": (5, 9, 9)},
    **{"strides": (1,) * 3, "dilations": (1,) * 3, "left_pads": (0,) * 3, "right_pads": (0,) * 3},
)

PROGRAM = """\
#include <cstdio>
#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/group_weight_plan.hpp"
using namespace ck_tile;
int main()
{
    host_model::conv_shape s;
    long long v[22];
    while(true)
    {
        for(long long& one : v) { if(std::scanf("%lld", &one) != 1) { return 0; } }
        s.G = v[0], s.N = v[1], s.K = v[2], s.C = v[3];
        for(int axis = 0; axis < 3; ++axis)
        {
            s.filter[axis] = v[4 + axis], s.input[axis] = v[7 + axis], s.output[axis] = v[10 + axis];
            s.stride[axis] = v[13 + axis], s.dilation[axis] = v[16 + axis], s.left_pad[axis] = v[19 + axis];
        }
        const bool few = cuda_model::is_group_weight(s) &&
                         cuda_model::make_group_weight_params(s, 1, 232448).rows > 0;
        std::printf("%d %d\\n", int{cuda_model::is_depthwise(s)}, int{few});
    }
}
"""


def kernel(direction: str, dtype: str = "bf16", tile: int = 64, **fields: object) -> TimedKernel:
    traits = KernelTraits(tile=(tile, tile, 64), schedule=Schedule.TILES, reduction=Reduction.ATOMIC)
    return TimedKernel(
        direction=direction, dtype=dtype, fields={"gemm_pipeline": "mem", **fields}, traits=traits
    )


def drawn(rng: random.Random) -> ConvProblem | None:
    """Return a problem that is near the limits of what the kernels take."""
    ndim = rng.choice((1, 2, 2, 2, 3))

    def lengths(*values: int) -> tuple[int, ...]:
        one = rng.choice(values)
        return tuple(rng.choice((one, one, one, rng.choice(values))) for _ in range(ndim))

    channels = rng.choice((1, 1, 2, 3, 4, 8, 16, 32))
    taps = lengths(3, 3, 3, 3, 3, 1, 5, 7, 8)
    size = lengths(9, 14, 28, 56, 112, 230)
    if ndim == 3 and rng.random() < 0.7:
        taps, size = (1, *taps[1:]), (1, *size[1:])
    try:
        return ConvProblem(
            groups=rng.choice((1, 3, 4, 6, 8, 32)),
            batch=rng.choice((1, 2, 1 << 24)),
            out_channels=rng.choice((channels, channels, channels, 2 * channels)),
            in_channels=channels,
            filter=taps,
            input=size,
            strides=lengths(1, 1, 1, 1, 2, 3),
            dilations=lengths(1, 1, 2),
            left_pads=lengths(0, 1, 3),
            right_pads=lengths(0, 1, 3),
        )
    except InputError:
        return None


def numbers(problem: ConvProblem) -> list[int]:
    """Return a shape of three dimensions as the program reads it."""
    missing = 3 - problem.ndim
    ones, zeros = (1,) * missing, (0,) * missing
    tuples = (problem.filter, problem.input, problem.output, problem.strides, problem.dilations)
    return [
        *(problem.groups, problem.batch, problem.out_channels, problem.in_channels),
        *(value for values in tuples for value in (*ones, *values)),
        *(*zeros, *problem.left_pads),
    ]


@pytest.mark.compiler
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler found")
def test_the_problems_are_those_of_the_headers(tmp_path: Path) -> None:
    rng = random.Random(11)
    problems = [one for one in (drawn(rng) for _ in range(3000)) if one is not None]
    source, binary = tmp_path / "answers.cpp", tmp_path / "answers"
    source.write_text(PROGRAM)
    includes = [f"-I{path}" for path in FOLDERS]
    subprocess.run([COMPILER or "", *FLAGS, *includes, source, "-o", binary], check=True)
    text = "\n".join(" ".join(map(str, numbers(problem))) for problem in problems)
    printed = subprocess.run(
        [binary], input=text, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = {"1 0": 0, "0 1": 0, "1 1": 0, "0 0": 0}
    for problem, line in zip(problems, printed, strict=True):
        single, few = (answer == "1" for answer in line.split())
        found[line] += 1
        expected = SINGLE_CHANNELS if single else FEW_CHANNELS if few else ""
        assert substitute(kernel("bwd_weight"), problem) == expected, problem
        assert substitute(kernel("bwd_data"), problem) == (SINGLE_CHANNELS if single else ""), problem
        forward = single and problem.strides[-1] == 1
        assert substitute(kernel("fwd"), problem) == (SINGLE_CHANNELS if forward else ""), problem
    assert all(count >= 10 for count in found.values()), found


def test_instances_decide_as_well() -> None:
    assert substitute(kernel("bwd_weight"), PROBLEM) == FEW_CHANNELS
    assert substitute(kernel("bwd_weight", tile=128), PROBLEM) == ""
    assert substitute(kernel("bwd_weight", "fp32"), PROBLEM) == ""
    assert substitute(kernel("bwd_data"), PROBLEM) == ""
    assert substitute(kernel("bwd_data", "fp32", 256), SINGLE) == SINGLE_CHANNELS
    assert substitute(kernel("bwd_data", "fp32", compute_type="tf32"), SINGLE) == ""
    assert substitute(replace(kernel("fwd"), fields={}), SINGLE) == ""
    streamed = KernelTraits(tile=(64, 64, 64), schedule=Schedule.STREAM, reduction=Reduction.ATOMIC)
    assert substitute(replace(kernel("bwd_weight"), traits=streamed), PROBLEM) == ""
    assert substitute(kernel("gemm"), GemmProblem(m=8, n=8, k=8)) == ""
    assert substitute(kernel("fwd"), DEEP) == ""


def test_each_problem_is_said_to_be_computed_by_what_computes_it() -> None:
    manager = PluginManager()
    manager.load_all()
    session = Session(settings=Settings(), manager=manager, tell=lambda event: None)
    query = InstanceQuery(conf="backward_weight/tests/nhwgc_bf16.conf", directions="bwd_weight")
    chosen = choose_instances(session, query).candidates
    small = tuple(one.index for one in chosen if max(one.instance.tile.m, one.instance.tile.n) <= 64)
    dense = replace(PROBLEM, groups=1, in_channels=64)
    few, single = substitutions(CudaTarget(), chosen, [dense, PROBLEM, SINGLE])
    assert (few.problem_index, few.kernel, few.instances) == (1, FEW_CHANNELS, small)
    assert 0 < len(small) < len(chosen)
    assert (single.problem_index, single.kernel) == (2, SINGLE_CHANNELS)
    assert single.instances == tuple(one.index for one in chosen)
    assert substitutions(CpuTarget(), chosen, [PROBLEM, SINGLE]) == ()
