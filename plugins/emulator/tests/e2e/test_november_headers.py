"""Kernels of November 2025's headers on the emulated device: operations, gradients, types of 8 bits.

Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``.
"""

import json
import os

import pytest

from ckprof_plugins.elementwise.operations import ElementwiseOp
from tests.e2e import test_elementwise as elementwise
from tests.e2e import test_types_of_8_bits as types_of_8_bits

pytestmark = [pytest.mark.compiler, pytest.mark.timeout(1800)]


@pytest.fixture
def root():
    """The tree."""
    found = os.environ.get("CK_BUILDER_ROOT")
    if not found:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    return found


@pytest.mark.amd
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.parametrize(
    "name",
    [
        "AddClamp",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("Clamp", "ScaleAddScaleAddRelu", "DynamicUnaryOp", "ScaleAdd")
        ),
    ],
)
def test_forward_operations(ckprof, root, name):
    device = ("--target", "hip", "--arch", "gfx942", "--device", "emulated", "--ck-root", root)
    elementwise.run(
        ckprof,
        ElementwiseOp.parse(name),
        "--dtype",
        "fp16",
        "--instance-spec",
        "gemm_pipeline=compv3",
        *device,
    )


#: with a tap for every element of the image, with one for each channel, and without one for three of four
GRADIENT_SIZES = ("3 2 6 7 1 1 1 2 1 0 0 1", "1 1 6 7 2 2 1 1 0 0 0 0")


@pytest.mark.amd
@pytest.mark.slow
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.parametrize(
    ("direction", "more"),
    [("bwd_data", ()), ("bwd_weight", ("--instance-spec", "two_stage=true", "--split-k", "1,2"))],
)
def test_gradients(ckprof, root, direction, more):
    texts = ["Bilinear,alpha=0.5,beta=-2", *(["Bilinear,d0=channel"] if direction == "bwd_data" else [])]
    lines = [f"2 3 2 24 8 {sizes} --elementwise-op {text}" for sizes in GRADIENT_SIZES for text in texts]
    called = ckprof(
        *("run", direction, "--instance-spec", "tile=32x32x32,waves=1x1x1,mma=16x16x16"),
        *("--instance-spec", "vectors=8,8,4,gemm_pipeline=compv3,elementwise_op=Bilinear", *more),
        *(word for line in lines for word in ("--problem", line)),
        *("--target", "hip", "--arch", "gfx942", "--device", "emulated", "--ck-root", root),
        *("--max-time", "0", "--format", "json"),
        timeout=800,
    ).ok()
    outcomes = [one for problem in json.loads(called.out)["problems"] for one in problem["outcomes"]]
    assert len(outcomes) == 4 and {one["status"] for one in outcomes} == {"ok"}, outcomes


@pytest.mark.amd
@pytest.mark.slow
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        *((name, "gfx942") for name in ("fp8", "int8", "scaled-add", "bytes-scaled")),
        # which computes them with instructions of fp32
        ("fp8", "gfx90a"),
    ],
)
def test_types_of_8_bits(ckprof, root, name, arch):
    _, operation, settings = types_of_8_bits.KERNELS[name]
    device = ("--target", "hip", "--arch", arch, "--device", "emulated", "--ck-root", root)
    sizes = ("--instance-spec", "vectors=8,8,8,tile=64x64x32,waves=2x2x1,mma=32x32x16")
    types_of_8_bits.run(
        ckprof,
        name,
        [types_of_8_bits.line_of(types_of_8_bits.SIZES, operation, settings[0])],
        *sizes,
        *device,
    )
