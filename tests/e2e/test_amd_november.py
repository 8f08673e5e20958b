"""CK Tile's headers of November 2025: three directions, held against the host model of that level.

Needs what ``test_amd.py`` needs, and in ``$CK_BUILDER_ROOT`` the tree that
``python -m ckprof_plugins.targets.hip.fetch 2025-11`` brings.
"""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError
from ckprof.model.architecture import API_LEVEL_2025_11
from ckprof.model.catalog import Catalog
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.hip.target import HipTarget
from tests.e2e.answer_program import answered
from tests.e2e.catalogs import LARGE_TILE, TILE, VARIANTS, write_catalog
from tests.e2e.test_amd import lds_formula

pytestmark = [pytest.mark.amd, pytest.mark.timeout(3000)]

HERE = Path(__file__).parent
ROOT = os.environ.get("CK_BUILDER_ROOT", "")
FAMILY = ImplicitGemmPipeline()
DIRECTIONS = ("fwd", "bwd_data", "bwd_weight")

LARGE = {name: value for name, value in LARGE_TILE.items() if TILE[name] != value}
WIDE = {"tile_m": 256, "tile_n": 64, "warp_m": 4, "warp_n": 1}
NARROW = {"vector_size_a": 4, "vector_size_b": 2, "vector_size_c": 4}
SINGLE = {"vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1}
V4 = {"pipeline": "compv4", "double_smem_buffer": True}
FLOAT = {"dtype": "fp32", "vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4}
POINTWISE = {"specialization": "filter1x1_pad0"}
UNIT = {"specialization": "filter1x1_stride1_pad0"}
#: a few of each direction, for the gate
FEW = [
    {"pipeline": "compv1"},
    {"pipeline": "mem", "vector_size_c": 4},
    {"pipeline": "compv3", **LARGE},
    {"pipeline": "compv3", "layout": "ndhwgc", **POINTWISE},
]
#: further ones of all directions; what a direction does not have is left out, such as narrow loads of
#: operands that are turned
FURTHER = [
    {"pipeline": "compv3", "layout": "nwgc"},
    {"pipeline": "compv3", **NARROW},
    {"pipeline": "compv3", **SINGLE, "dtype": "bf16"},
    {"pipeline": "compv3", **UNIT},
    {"pipeline": "compv3", "specialization": "filter3x3", **SINGLE},
    {"pipeline": "compv3", **WIDE, "dtype": "bf16"},
    {"pipeline": "compv3", **FLOAT},
    {"pipeline": "mem"},
    {"pipeline": "mem", "scheduler": "interwave"},
    {"pipeline": "mem", **LARGE, **NARROW},
    {"pipeline": "mem", "layout": "ndhwgc"},
    {"pipeline": "mem", "dtype": "bf16", **UNIT},
    {"pipeline": "compv1", **NARROW},
    {"pipeline": "compv1", **LARGE},
    {"pipeline": "compv1", "layout": "nwgc", "dtype": "bf16"},
    {"pipeline": "compv1", **FLOAT},
    {"pipeline": "compv1", **UNIT},
    V4,
    {**V4, **LARGE, "tile_k": 32},
    {**V4, **NARROW, "dtype": "bf16"},
    {"pipeline": "compv3", "split_image": True},
    {"pipeline": "compv3", "num_groups_to_merge": 4, "vector_size_c": 1},
    {"pipeline": "compv3", **LARGE, "vector_size_c": 2, "dtype": "bf16"},
    {"pipeline": "compv3", **LARGE, "tile_n": 64, **POINTWISE},
    {"pipeline": "mem", **LARGE, "tile_m": 64, "vector_size_c": 1},
    {"pipeline": "mem", **WIDE, "scheduler": "interwave", "dtype": "bf16"},
    {"pipeline": "mem", "layout": "nwgc", **POINTWISE},
    {"pipeline": "compv1", **LARGE, "layout": "ndhwgc", "dtype": "bf16"},
    {"pipeline": "compv1", **WIDE, **POINTWISE},
]


def make(direction, changes):
    fields = {**TILE, "vector_size_a": 8, "vector_size_b": 8, "vector_size_c": 8, **changes}
    layout = find_layout(str(fields.pop("layout", "nhwgc")))
    dtype = DataType(str(fields.pop("dtype", "fp16")))
    catalog = Catalog(variant=VARIANTS[direction], ndim=layout.ndim, layout=layout, dtype=dtype, records=())
    absent = dict.fromkeys(
        (
            *("compute_type", "elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes"),
            *("fold_stride", "store_immediate", "channel_padding"),
        )
    )
    record = SimpleNamespace(id=1, pad_m=True, pad_n=True, pad_k=True, **absent, **fields)
    return FAMILY.make_instance(catalog, direction, record)


def chosen(direction, changes):
    instances = [make(direction, change) for change in changes]
    return [one for one in instances if not FAMILY.unmet_requirements(one, "gfx942", API_LEVEL_2025_11)]


@pytest.fixture(scope="module", autouse=True)
def toolchain():
    if not ROOT:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    try:
        recipe = HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT, ck_root=Path(ROOT)))
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])
    assert recipe.api_level == API_LEVEL_2025_11


def answers(recipe, folder, instances, problems):
    """Build and run the program of answers with a target's headers; kernel -> its lines."""
    folder.mkdir()
    found = {}
    sources = [FAMILY.render(one, "gfx942", API_LEVEL_2025_11) for one in instances]
    program = folder / "answers.cpp"
    for source in sources:
        (folder / f"{source.name}.hpp").write_text(source.header)
    program.write_text(
        "".join(f'#include "{one.name}.hpp"\n' for one in sources)
        + f'#include "{HERE / "conv_answers.hpp"}"\nint main()\n{{\n'
        + "".join(f'    answers::print<{one.launcher}>("{one.name}", {problems});\n' for one in sources)
        + "}\n"
    )
    lines = []
    for line in answered(recipe, program):
        if " widths " in line:
            name, _, about = line.partition(" ")
            lines = found.setdefault(name, [about])
        else:
            lines.append(line)
    return found


def compare(folder, instances, problems):
    """Ask headers and model; return how many answers were yes."""
    request = BuildRequest(arch="gfx942", purpose=Purpose.SUPPORT_CHECK, api_level=API_LEVEL_2025_11)
    cpu = CpuTarget().recipe(request)
    hip = HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.SUPPORT_CHECK, ck_root=Path(ROOT)))
    real = answers(hip, folder / "real", instances, problems)
    modelled = answers(cpu, folder / "model", instances, problems)
    assert list(real) == list(modelled) == [FAMILY.kernel_name(one) for one in instances]
    yes = 0
    for name, expected in real.items():
        assert len(expected) == problems + 1
        for number, (kernel, model) in enumerate(zip(expected, modelled[name], strict=True)):
            assert kernel == model, f"{name}, problem {number}: headers {kernel}, model {model}"
            yes += kernel[1] == "1"
    return yes


@pytest.mark.parametrize(
    "direction",
    [pytest.param(one, marks=() if one == "bwd_weight" else pytest.mark.slow) for one in DIRECTIONS],
)
def test_model_answers_as_the_headers_do(direction, tmp_path):
    """Support by kernel and launcher, grid, sizes of the product, widths of accesses, threads and names."""
    instances = chosen(direction, FEW)
    assert len(instances) == len(FEW)
    assert compare(tmp_path, instances, 500) > 50


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_model_answers_as_the_headers_do_for_further_kernels(direction, tmp_path):
    instances = chosen(direction, FURTHER)
    assert len(instances) >= {"fwd": 28, "bwd_data": 19, "bwd_weight": 19}[direction]
    assert compare(tmp_path, instances, 500) > 200


@pytest.mark.parametrize(
    ("direction", "arch", "functions"),
    # hot loop and two tails; results stored or added
    [
        # the gate compiles and runs others of forward: test_elementwise.py
        pytest.param("fwd", "gfx942", 3, marks=pytest.mark.slow),
        pytest.param("bwd_data", "gfx942", 3, marks=pytest.mark.slow),
        ("bwd_weight", "gfx90a", 6),
    ],
)
def test_each_direction_compiles(direction, arch, functions, ckprof, tmp_path):
    changes = [{"pipeline": "compv3"}]
    catalog = write_catalog(tmp_path / "one.json", VARIANTS[direction], changes)
    called = ckprof(
        *("inspect", direction, "--conf", catalog, "--arch", arch, "--ck-root", ROOT, "--format", "json"),
        timeout=1500,
    ).ok()
    inspection = json.loads(called.out)["inspection"]
    assert inspection["api_level"] == API_LEVEL_2025_11
    assert inspection["unattributed"] == []
    (kernel,) = inspection["kernels"]
    assert len(kernel["variants"]) == functions
    for variant in kernel["variants"]:
        assert any(name.startswith("v_mfma_f32_16x16x16") for name in variant["matrix_instructions"])
        assert variant["lds_bytes"] == lds_formula({**TILE, **changes[0]})
        assert variant["vgpr_spills"] == 0


def test_what_the_headers_cannot_express_is_unsupported(ckprof, tmp_path):
    catalog = write_catalog(tmp_path / "one.json", "bwd_data", [{**V4}])
    ckprof(
        *("build", "bwd_data", "--conf", catalog, "--target", "hip", "--arch", "gfx942", "--ck-root", ROOT)
    ).fails_with(1, "API level 2025-11 has no compv4 for bwd_data")
