"""Matrix products with real CK Tile headers: support answers, and machine code of every GEMM pipeline.

Needs what ``test_amd.py`` needs.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.hip.target import HipTarget
from tests.e2e import catalogs
from tests.e2e.answer_program import answered
from tests.e2e.catalogs import PRODUCT_TILE
from tests.plugins.pipelines.universal_gemm.products import FAMILY, NOVEMBER, OLD, broken, make_product

pytestmark = [pytest.mark.amd, pytest.mark.timeout(2400)]

HERE = Path(__file__).parent
ENTRY = Gemm.interface.entry
SMALL = {"waves": (2, 1, 1), "mma": (16, 16, 32)}
KERNELS = [
    *({"layout": layout, "pads": pads}
      for layout in ("rcr", "rrr", "ccr", "crr") for pads in ((False,) * 3, (True,) * 3)),
    *({"layout": layout, "dtype": dtype, **changes}
      for layout in ("rcr", "rrr") for dtype in ("fp16", "bf16")
      for changes in (
          {"pipeline": "compv1"}, {"pipeline": "mem"}, {"pipeline": "mem", "scheduler": "interwave"},
          {"pipeline": "compv4", "tile": (128, 128, 32)},
      )),
    {"dtype": "fp8"}, {"dtype": "bf8"}, {"dtype": "int8"}, {"persistent": True}, {"epilogue": "default"},
    {"epilogue": "default", "pads": (False, True, True)},
    {"pipeline": "compv4", "tile": (128, 128, 32), "pads": (False, True, True)},
    {"pipeline": "compv1", "vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4},
    {"vector_size_a": 2, "vector_size_b": 2, "vector_size_c": 1},
    *({"pipeline": "compv1", "layout": layout, "pads": pads}
      for layout in ("rcr", "rrr") for pads in ((False, False, True), (True, True, False))),
    {"tile": (256, 16, 64), "waves": (4, 1, 1), "mma": (16, 16, 32)},
    {"tile": (32, 16, 64), "pipeline": "mem", "pads": (True,) * 3, **SMALL},
    *({"layout": layout, "pads": pads, "elementwise_op": "MultiDAdd", "num_d_tensors": count}
      for layout in ("rcr", "crr") for count in (1, 2) for pads in ((False,) * 3, (True,) * 3)),
    {"pipeline": "compv4", "tile": (128, 128, 32), "elementwise_op": "MultiDMultiply", "num_d_tensors": 2},
    {"dtype": "fp8", "persistent": True, "elementwise_op": "MultiDMultiply", "num_d_tensors": 1},
    *({"layout": layout, "pads": (True,) * 3, "pipeline": pipeline, "batched": True}
      for layout in ("rcr", "crr") for pipeline in ("compv1", "mem", "compv3")),
    {"batched": True, "epilogue": "default"}, {"batched": True, "dtype": "int8", "layout": "rrr"},
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def toolchain():
    if not os.environ.get("CK_ROOT"):
        pytest.skip("CK_ROOT names no CK Tile headers")
    try:
        HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT))
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])


def answers(recipe, folder, kernels):
    """Build the program of answers with a target's headers; kernel -> two digits for each problem."""
    folder.mkdir()
    lines = []
    for changes in kernels:
        source = FAMILY.render(make_product(**changes), "gfx942", recipe.api_level)
        (folder / f"{source.name}.hpp").write_text(source.header)
        lines.append(source)
    program = folder / "answers.cpp"
    program.write_text(
        "".join(f'#include "{one.name}.hpp"\n' for one in lines)
        + f'{ENTRY}\n#include "{HERE / "gemm_answers.hpp"}"\nint main()\n{{\n'
        + "".join(f"    ANSWER({one.launcher})\n" for one in lines)
        + "}\n"
    )
    rows = (line.split() for line in answered(recipe, program))
    return {row[0]: row[1:] for row in rows}


#: API level -> variable that names headers of it
HEADERS = {OLD: "CK_ROOT", NOVEMBER: "CK_BUILDER_ROOT"}


@pytest.mark.parametrize("level", [pytest.param(OLD, marks=pytest.mark.slow), NOVEMBER])
def test_model_answers_as_the_headers_do(tmp_path, level):
    """Every kernel and 500 problems: the launchers agree, and where only the real kernel says yes, it is the
    launcher in front of it that says no."""
    if not os.environ.get(HEADERS[level]):
        pytest.skip(f"{HEADERS[level]} names no CK Tile headers")
    kernels = [changes for changes in KERNELS if not broken(make_product(**changes), level)]
    if level == OLD:
        assert len(kernels) == len(KERNELS)
    request = BuildRequest(arch="gfx942", purpose=Purpose.SUPPORT_CHECK, api_level=level)
    hip = HipTarget().recipe(replace(request, ck_root=Path(os.environ[HEADERS[level]])))
    modelled = answers(CpuTarget().recipe(request), tmp_path / "model", kernels)
    real = answers(hip, tmp_path / "real", kernels)
    assert len(real) == len({FAMILY.kernel_name(make_product(**changes)) for changes in kernels})
    assert modelled.keys() == real.keys()
    own = yes = 0
    for name, expected in real.items():
        for number, (model, kernel) in enumerate(zip(modelled[name], expected, strict=True)):
            assert model[1] == kernel[1], f"{name}, problem {number}: {model} {kernel}"
            # the model's kernel tests what the launcher tests for the real one
            assert model[0] == kernel[1], f"{name}, problem {number}: {model} {kernel}"
            assert kernel[0] >= kernel[1]
            own += kernel[0] > kernel[1]
            yes += kernel[1] == "1"
    assert yes > 500
    assert own > 50


@pytest.mark.slow
@pytest.mark.parametrize("listed", ["gemm/universal/rcr_fp16", "gemm/universal/rrr_fp16"])
def test_whole_lists_are_answered_as_the_headers_do(ckprof, listed):
    """Every kernel of a list that the level has, 500 random problems: what the real kernel and its launcher
    say is what the model says."""
    called = ckprof(
        *("check-support", "gemm", "--conf", listed, "--target", "hip", "--arch", "gfx942"),
        *("--api-level", OLD, "--random", "500", "--format", "json"),
        timeout=7200,
    ).ok()
    report = json.loads(called.out)
    assert report["disagreements"] == 0
    assert len(report["kernels"]) > 80
    assert all(len(kernel["supported"]) == len(kernel["model"]) == 500 for kernel in report["kernels"])
    assert sum(sum(kernel["supported"]) for kernel in report["kernels"]) > 500


def write_catalog(path, layout, dtype, changes):
    return catalogs.write_catalog(path, "gemm", changes, usual=PRODUCT_TILE, layout=layout, dtype=dtype)


def inspected(ckprof, conf):
    called = ckprof(
        "inspect", "gemm", "--conf", conf, "--arch", "gfx942", "--format", "json", timeout=2000
    ).ok()
    inspection = json.loads(called.out)["inspection"]
    assert inspection["unattributed"] == []
    return inspection


@pytest.mark.parametrize(
    ("dtype", "instruction"), [("fp8", "v_mfma_f32_32x32x16_fp8_fp8"), ("int8", "v_mfma_i32_32x32x16_i8")]
)
def test_matrix_instructions_of_eight_bits(dtype, instruction, ckprof, tmp_path):
    (kernel,) = inspected(ckprof, write_catalog(tmp_path / "one.json", "rcr", dtype, [{}]))["kernels"]
    used = {name for variant in kernel["variants"] for name in variant["matrix_instructions"]}
    assert used == {instruction}


EACH_PIPELINE = [
    {"pipeline": "compv1"},
    {"pipeline": "mem"},
    {"pipeline": "mem", "scheduler": "interwave"},
    {"pipeline": "compv3"},
    {"pipeline": "compv4", "tile_k": 32},
]


@pytest.mark.parametrize("layout", ["rcr", "rrr"])
@pytest.mark.parametrize(
    ("dtype", "instruction"),
    # there is no instruction for a depth of 16: two of 8
    [("fp16", "v_mfma_f32_32x32x8_f16"), ("bf16", "v_mfma_f32_32x32x8_bf16")],
)
def test_one_kernel_of_each_gemm_pipeline(layout, dtype, instruction, ckprof, tmp_path):
    conf = write_catalog(tmp_path / "all.json", layout, dtype, EACH_PIPELINE)
    inspection = inspected(ckprof, conf)
    functions = []
    for kernel in inspection["kernels"]:
        functions.append(len(kernel["variants"]))
        # a function may call another one that does its work
        used = {name for variant in kernel["variants"] for name in variant["matrix_instructions"]}
        assert {name for name in used if name.startswith(instruction)} == used
        assert used
        # one of each pair of functions stores, the other adds
        assert sorted({bool(variant["atomics"]) for variant in kernel["variants"]}) == [False, True]
    assert functions == [2, 8, 8, 6, 8]


def test_kernels_with_d_tensors_and_of_batches(ckprof, tmp_path):
    """They compile for the device: those with D tensors never add to what is there, batched ones can."""
    changes = [
        {"elementwise_op": "MultiDAdd", "num_d_tensors": 1},
        {"elementwise_op": "MultiDMultiply", "num_d_tensors": 2, "pipeline": "compv4", "tile_k": 32},
        {"batched": True},
        {"batched": True, "pipeline": "mem", "epilogue": "default"},
    ]
    kernels = inspected(ckprof, write_catalog(tmp_path / "all.json", "rcr", "fp16", changes))["kernels"]
    atomics = [[bool(variant["atomics"]) for variant in kernel["variants"]] for kernel in kernels]
    assert [(len(flags), any(flags), all(flags)) for flags in atomics] == [
        *[(3, False, False), (4, False, False)],
        # nothing adds single halves
        *[(6, True, False), (4, False, False)],
    ]
    for kernel in kernels:
        used = {name for variant in kernel["variants"] for name in variant["matrix_instructions"]}
        assert used == {"v_mfma_f32_32x32x8_f16"}
