"""Whole commands: forward convolutions with every element-wise operation, against the reference in numpy."""

from __future__ import annotations

import json
import os

import pytest

from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

pytestmark = [pytest.mark.compiler, pytest.mark.timeout(900)]

TILE = ("--tile", "16x16x32", "--waves", "1x1x1", "--mma", "16x16x16", "--vectors", "4,4,4")
#: several groups, images and tiles; strides, dilations and pads
SIZES = "2 3 2 24 8 3 2 6 7 2 1 1 2 1 0 0 1"
#: operation -> values of parameters that are not the defaults
SETTINGS = {
    "Clamp": "floor=-0.5,ceiling=1.25",
    "AddClamp": "floor=-0.5,ceiling=1.25",
    "BiasNormalizeInInferClamp": "floor=-0.5,ceiling=1.25,epsilon=0.01",
    "Scale": "scale=-0.75",
    "Bilinear": "alpha=0.5,beta=-2",
    "ScaleAddScaleAddRelu": "alpha1=0.5,alpha2=-2",
    "ConvScale": "scale_in=0.5,scale_wei=2,scale_out=3",
    "DynamicUnaryOp": "function=Logistic,alpha=0.5",
}
#: those of the fast suite
FEW = ("Clamp", "AddClamp", "ScaleAddScaleAddRelu")


def lines_of(operation: ElementwiseOp) -> list[str]:
    """Return problems with D tensors as factories have them, and with elements per channel."""
    settings = [operation.value, *filter(None, [SETTINGS.get(operation.value)])]
    texts = [",".join(settings)]
    channels = [f"{d.role}={DExtent.CHANNEL.value}" for d in operation.properties.d_tensors]
    if channels:
        texts.append(",".join([*settings, *channels]))
    return [f"{SIZES} --elementwise-op {text}" for text in (operation.value, *texts)]


def run(ckprof, operation, *more):
    lines = lines_of(operation)
    asked = [word for line in lines for word in ("--problem", line)]
    called = ckprof(
        *("run", "fwd", *TILE, "--elementwise-op", operation.value, *asked),
        *("--max-time", "0", "--format", "json", *more),
        timeout=800,
    )
    assert called.code == 0, called.err
    problems = json.loads(called.out)["problems"]
    assert len(problems) == len(lines)
    for problem in problems:
        (outcome,) = problem["outcomes"]
        assert outcome["status"] == "ok", outcome


@pytest.mark.parametrize("name", FEW)
def test_a_few_operations(ckprof, name):
    run(ckprof, ElementwiseOp.parse(name), "--dtype", "fp16", "--gemm-pipeline", "compv3")


@pytest.mark.thorough
@pytest.mark.parametrize("operation", ElementwiseOp, ids=lambda operation: operation.value)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_all_operations(ckprof, operation, dtype):
    mma = ("--mma", "16x16x4") if dtype == "fp32" else ()
    run(ckprof, operation, "--dtype", dtype, "--gemm-pipeline", "compv4", *mma)


@pytest.mark.amd
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.parametrize(
    "name",
    [
        "AddClamp",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("Clamp", "ScaleAddScaleAddRelu", "DynamicUnaryOp")
        ),
    ],
)
def test_headers_of_november_on_the_emulated_device(ckprof, name):
    """Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``."""
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    device = ("--target", "hip", "--arch", "gfx942", "--device", "emulated", "--ck-root", root)
    run(ckprof, ElementwiseOp.parse(name), "--dtype", "fp16", "--gemm-pipeline", "compv3", *device)
