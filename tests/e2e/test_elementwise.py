"""Whole commands: convolutions with every element-wise operation, against the reference in numpy."""

import json
import random
from collections import Counter

import pytest

from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.gemm_instance import usual_d_layouts
from tests.cases import Cases
from tests.plugins.elementwise.settings import with_settings

from . import catalogs
from .elementwise_runs import answered, question

pytestmark = [pytest.mark.compiler, pytest.mark.timeout(900)]

TILE = ("--instance-spec", "tile=16x16x32,waves=1x1x1,mma=16x16x16,vectors=4,4,4")
#: the same as a catalog has it
SMALL_TILE = {
    **catalogs.TILE,
    **{"tile_m": 16, "tile_n": 16, "warp_m": 1, "warp_n": 1},
    **{"vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4},
}
#: several groups, images and tiles; strides, dilations and pads
SIZES = "2 3 2 24 8 3 2 6 7 2 1 1 2 1 0 0 1"

#: of gradients; the weight has no channels of its own
GRADIENTS = ("bwd_data", "bwd_weight")


def lines_of(operation, direction="fwd"):
    """Return problems with D tensors as factories have them, and with elements per channel."""
    settings = with_settings(operation.value)
    texts = [settings]
    channels = [f"{d.role}={DExtent.CHANNEL.value}" for d in operation.properties.d_tensors]
    if channels and direction == "bwd_weight":
        full = [f"{d.role}={DExtent.FULL.value}" for d in operation.properties.d_tensors]
        return [f"{SIZES} --elementwise-op {','.join([settings, *full])}"]
    if channels:
        texts.append(",".join([settings, *channels]))
    return [f"{SIZES} --elementwise-op {text}" for text in (operation.value, *texts)]


def run(ckprof, operation, *more, direction="fwd"):
    lines = lines_of(operation, direction)
    asked = [word for line in lines for word in ("--problem", line)]
    called = ckprof(
        *("run", direction, *TILE, "--instance-spec", f"elementwise_op={operation.value}", *asked),
        *("--max-time", "0", "--format", "json", *more),
        timeout=800,
    ).ok()
    problems = json.loads(called.out)["problems"]
    assert len(problems) == len(lines)
    for problem in problems:
        (outcome,) = problem["outcomes"]
        assert outcome["status"] == "ok", outcome


def run_together(ckprof, folder, operations, dtype, **kernel):
    """Build a kernel of each operation, all in one library; each runs what asks for it, and no other does."""
    changes = [
        {
            **kernel,
            "elementwise_op": one.value,
            "d_layouts": usual_d_layouts(one, find_layout("nhwgc"), "output"),
        }
        for one in operations
    ]
    conf = catalogs.write_catalog(folder / "all.json", "forward", changes, usual=SMALL_TILE, dtype=dtype)
    names = [one.value for one in operations]
    asked = [(one.value, line) for one in operations for line in lines_of(one)]
    words = [word for _, line in asked for word in ("--problem", line)]
    called = ckprof("run", "fwd", "--conf", conf, *words, "--max-time", "0", "--format", "json", timeout=800)
    with Cases() as cases:
        for (name, line), problem in zip(asked, json.loads(called.ok().out)["problems"], strict=True):
            with cases.case(line):
                statuses = {names[one["instance"]]: one["status"] for one in problem["outcomes"]}
                assert statuses == {**dict.fromkeys(names, "unsupported"), name: "ok"}


@pytest.mark.thorough
def test_a_few_operations(ckprof, tmp_path):
    few = [ElementwiseOp.parse(name) for name in ("Clamp", "ScaleAddScaleAddRelu", "AddClamp", "ScaleAdd")]
    run_together(ckprof, tmp_path, few, "fp16", pipeline="compv3")


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "depth"), [("bf16", 16), pytest.param("fp32", 4, marks=pytest.mark.slow)])
def test_all_operations(ckprof, tmp_path, dtype, depth):
    compv4 = {"pipeline": "compv4", "double_smem_buffer": True, "warp_tile_k": depth}
    run_together(ckprof, tmp_path, [*ElementwiseOp], dtype, **compv4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("direction", "more"), [("bwd_data", ()), ("bwd_weight", ("--instance-spec", "two_stage=true"))]
)
def test_bilinear_gradients(ckprof, direction, more):
    few = ("--dtype", "fp16", "--instance-spec", "gemm_pipeline=compv3", *more)
    run(ckprof, ElementwiseOp.parse("Bilinear"), *few, direction=direction)


@pytest.mark.thorough
@pytest.mark.parametrize("more", [(), ("--split-k", "2")], ids=["one part", "two parts"])
@pytest.mark.parametrize("direction", GRADIENTS)
@pytest.mark.parametrize("name", [pytest.param("Scale", marks=pytest.mark.slow), "ScaleAddScaleAddRelu"])
def test_parts_are_added_before_the_operation(ckprof, direction, name, more):
    half = ("--dtype", "bf16", "--instance-spec", "gemm_pipeline=compv4", *more)
    run(ckprof, ElementwiseOp.parse(name), *half, direction=direction)


def test_what_no_kernel_combines_is_named(ckprof):
    called = ckprof(
        *("run", "bwd_weight", *TILE, "--instance-spec", "gemm_pipeline=compv3,stream_k=tree"),
        *("--instance-spec", "elementwise_op=Scale", "--format", "json"),
    )
    assert (
        "elementwise_op Scale: stream_k has none, implicit_gemm and two_stage have" in called.err + called.out
    )
    layouts = ("--instance-spec", "elementwise_op=Bilinear,d_layouts=NHWGK")
    called = ckprof(
        "run", "bwd_data", *TILE, "--instance-spec", "gemm_pipeline=compv3", *layouts, "--format", "json"
    )
    assert "d_layouts has NHWGK, kernels of bwd_data have NHWGC or G_C" in called.err + called.out


def runs(ckprof, seed, questions, problems):
    draw = random.Random(seed)
    counts = Counter()
    for _ in range(questions):
        counts += answered(ckprof, question(draw, problems))
    return counts


@pytest.mark.slow
@pytest.mark.thorough
def test_a_few_random_runs(ckprof):
    assert runs(ckprof, seed=1, questions=4, problems=6)["ok"] >= 12


@pytest.mark.slow
@pytest.mark.timeout(6000)
def test_random_runs_of_all_directions(ckprof):
    """Some 700 runs; none may be wrong, and no kernel may refuse an operation that it has."""
    counts = runs(ckprof, seed=20261126, questions=50, problems=12)
    assert all(counts[f"{direction} ok"] >= 50 for direction in ("fwd", *GRADIENTS)), counts
    assert counts["ok"] >= 500
