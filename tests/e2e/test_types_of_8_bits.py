"""Whole commands: forward convolutions with tensors of 8 bits, against the reference in numpy."""

import json
import random

import pytest

from ckprof.errors import InputError
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.positional import to_positional
from ckprof_plugins.directions.fwd import Forward

pytestmark = [pytest.mark.compiler, pytest.mark.timeout(1800)]

TILE = ("--instance-spec", "tile=16x32x32,waves=1x1x1,mma=16x16x32,vectors=1,1,1")
#: several groups, images and tiles; strides, dilations and pads
SIZES = "2 3 2 24 8 3 2 6 7 2 1 1 2 1 0 0 1"

#: types, operation of the kernel, values of its parameters; as factories have them, and the other types
KERNELS = {
    "fp8": (("--dtype", "fp8"), "", ("",)),
    "int8": (("--dtype", "int8"), "", ("",)),
    "bf8-fp8": (("--dtype", "bf8", "--instance-spec", "dtype_b=fp8"), "", ("",)),
    "scaled": (
        ("--dtype", "fp8", "--instance-spec", "dtype_b=bf8"),
        "ConvScale",
        ("", "scale_in=0.5,scale_wei=-2,scale_out=3"),
    ),
    "scaled-relu": (
        ("--dtype", "fp8", "--instance-spec", "dtype_result=fp32"),
        "ConvScaleRelu",
        ("", "scale_out=-0.3"),
    ),
    "scaled-add": (
        ("--dtype", "fp8", "--instance-spec", "d_dtypes=fp32"),
        "ConvScaleAdd",
        ("scale_in=7,d0=channel", "scale_out=0.1"),
    ),
    "inverse": (("--dtype", "bf8"), "ConvInvscale", ("scale_in=0.5,scale_wei=-2,scale_out=3",)),
    "bytes-scaled": (("--dtype", "int8"), "Scale", ("", "scale=0.37", "scale=-2.5", "scale=100")),
    "bytes-bilinear": (("--dtype", "int8"), "Bilinear", ("", "alpha=0.7,beta=-1.5", "d0=channel")),
    "bytes-relu": (
        ("--dtype", "int8", "--instance-spec", "d_dtypes=fp32,fp32"),
        "ScaleAddScaleAddRelu",
        ("", "alpha1=0.7,alpha2=1.5", "alpha1=-0.01,alpha2=-3"),
    ),
    "bytes-unary": (
        ("--dtype", "int8"),
        "DynamicUnaryOp",
        ("function=TanH", "function=LeakyRelu,alpha=-0.3", "function=Elu,alpha=40"),
    ),
    "bytes-operands": (("--dtype", "int8"), "ScaleAdd", ("", "scale_in=0.37,scale_wei=-2.6")),
    "bytes-clamp": (("--dtype", "int8"), "AddClamp", ("", "floor=-100,ceiling=99,bias=channel")),
}


#: one of each type, with one type and two, with fp32 results and D tensors, with an operation on operands
SOME = ("fp8", "scaled", "scaled-relu", "bytes-relu", "bytes-operands")


def line_of(sizes, operation, settings):
    return f"{sizes} --elementwise-op {','.join(filter(None, (operation, settings)))}" if operation else sizes


def random_sizes(seed, count, ndim):
    dice, forward, lines = random.Random(seed), Forward(), []
    while len(lines) < count:
        try:
            problem = forward.random_problem(dice, ndim)
        except InputError:
            continue  # sizes without an output
        lines.append(to_positional(ProblemCase(problem=problem), problem, None))
    return lines


def run(ckprof, name, lines, *more):
    types, operation, _ = KERNELS[name]
    op = ("--instance-spec", f"elementwise_op={operation}") if operation else ()
    asked = [word for line in lines for word in ("--problem", line)]
    called = ckprof(
        *("run", "fwd", *TILE, "--instance-spec", "gemm_pipeline=compv3", *types, *op, *more, *asked),
        *("--max-time", "0", "--format", "json"),
        timeout=1700,
    ).ok()
    problems = json.loads(called.out)["problems"]
    assert len(problems) == len(lines)
    wrong = [one for problem in problems for one in problem["outcomes"] if one["status"] != "ok"]
    assert not wrong, wrong[0]
    return len(problems)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SOME else pytest.mark.slow) for name in KERNELS]
)
def test_every_kind_of_kernel(ckprof, name):
    _, operation, settings = KERNELS[name]
    run(ckprof, name, [line_of(SIZES, operation, one) for one in settings])


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_random_problems(ckprof, name):
    """Forty of each kind, in two dimensions."""
    _, operation, settings = KERNELS[name]
    sizes = random_sizes(20261126, 40, 2)
    run(ckprof, name, [line_of(one, operation, settings[i % len(settings)]) for i, one in enumerate(sizes)])
