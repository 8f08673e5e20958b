"""Real code objects from real CK Tile headers: built, attributed and read, without a GPU.

Needs a compiler with the AMDGPU backend, HIP headers, device libraries, and CK Tile headers in ``$CK_ROOT``
(``python -m ckprof_plugins.targets.hip.fetch`` prints such a folder).
"""

import json
import shutil
import subprocess
import sys

import pytest

from ckprof.kernels.plan import include_flags
from ckprof.model.architecture import find_architecture
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.model.types import has_ocp_float8
from ckprof_plugins.targets.hip.devices import devices
from ckprof_plugins.targets.hip.target import HipTarget
from tests.e2e.catalogs import TILE, write_catalog
from tests.e2e.support_cases import FORWARD as FORWARD_CASES
from tests.e2e.support_cases import WEIGHT as WEIGHT_CASES
from tests.e2e.support_cases import answers_of, expected, write_case

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

TWO_WAVES = {"warp_m": 1, "warp_n": 1, "warp_k": 2, "num_wave_groups": 2, "tile_m": 32, "tile_n": 32}
FORWARD = [
    {"pipeline": "compv1"},
    {"pipeline": "mem"},
    {"pipeline": "compv3"},
    {"pipeline": "compv4", "double_smem_buffer": True},
    {"pipeline": "compv5", **TWO_WAVES},
]
WEIGHT = [{"pipeline": "compv1"}]


def inspected(ckprof, *arguments):
    called = ckprof("inspect", *arguments, "--format", "json", timeout=1200).ok()
    return json.loads(called.out)["inspection"]


def lds_formula(instance):
    """Both operands, twice where the pipeline has two buffers; the result is staged in the same memory."""
    buffers = 2 if instance["double_smem_buffer"] else 1
    operands = (instance["tile_m"] + instance["tile_n"]) * instance["tile_k"] * 2
    return buffers * operands


def check(inspection, instances, arch):
    assert inspection["arch"] == arch
    assert inspection["unattributed"] == []
    assert len(inspection["kernels"]) == len(instances)
    for kernel, change in zip(inspection["kernels"], instances, strict=True):
        instance = {**TILE, **change}
        for variant in kernel["variants"]:
            assert any(name.startswith("v_mfma_f32_16x16x16") for name in variant["matrix_instructions"])
            assert variant["vgpr_spills"] == 0
            assert variant["lds_bytes"] == lds_formula(instance)
            assert variant["occupancy"]["waves_per_simd"] >= 1
            waves = instance["warp_m"] * instance["warp_n"] * instance["warp_k"]
            assert variant["workgroup_lanes"] == 64 * waves


@pytest.mark.slow
def test_one_kernel_of_each_gemm_pipeline_for_gfx942(ckprof, tmp_path):
    forward = write_catalog(tmp_path / "fwd.json", "forward", FORWARD)
    inspection = inspected(ckprof, "fwd", "--conf", forward, "--arch", "gfx942")
    check(inspection, FORWARD, "gfx942")
    # as many functions as the main loop has tails
    functions = {kernel["name"].split("_")[6]: len(kernel["variants"]) for kernel in inspection["kernels"]}
    assert functions["compv1"] == functions["compv5"] == 1
    assert functions["compv3"] == 3
    assert functions["compv4"] == 4
    assert functions["mem"] > 3
    assert {v["argument_bytes"] for kernel in inspection["kernels"] for v in kernel["variants"]} == {424}

    # everything is at hand now: reports, folders, comparison
    report = tmp_path / "report.json"
    called = ckprof("inspect", "fwd", "--conf", forward, "--arch", "gfx942", "--format", "json")
    assert "0 compiled, 5 from the cache" in called.err
    report.write_text(called.out)
    built = ckprof(
        "build", "fwd", "--conf", forward, "--target", "hip", "--arch", "gfx942", "--build-dir", "kept"
    )
    assert built.out.strip() == str(tmp_path / "kept")
    same = ckprof("inspect", "--diff", report, "kept")
    assert (same.code, same.out.splitlines()[-1][:16]) == (0, "0 kernels differ")
    shown = ckprof("inspect", "kept", "--sort", "vgprs", "--where", "waves_per_simd>=1").ok()
    assert "5 rows" in shown.out

    problem = "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
    bounded = inspected(ckprof, "fwd", "--conf", forward, "--arch", "gfx942", "--problem", problem)
    for kernel in bounded["kernels"]:
        # 29.6 GFLOP at 1307 TFLOP/s
        assert 22.6 <= kernel["estimate"]["matrix_us"] < 60
        assert 0 < kernel["estimate"]["efficiency_bound"] <= 1


@pytest.mark.slow  # of November, both are in the gate
def test_backward_weight_and_gfx90a(ckprof, tmp_path):
    weight = write_catalog(tmp_path / "weight.json", "bwd_weight", WEIGHT)
    inspection = inspected(ckprof, "bwd_weight", "--conf", weight, "--arch", "gfx90a")
    check(inspection, WEIGHT, "gfx90a")
    # one function stores, the other adds
    (kernel,) = inspection["kernels"]
    assert sorted(bool(variant["atomics"]) for variant in kernel["variants"]) == [False, True]
    assert {variant["argument_bytes"] for variant in kernel["variants"]} == {408}


def test_the_compiler_s_own_figures(tmp_path):
    """Registers and occupancy as the compiler tells them when asked."""
    from ckprof_plugins.targets.hip.code_object import read_kernels

    recipe = HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT))
    source = tmp_path / "k.cpp"
    source.write_text(
        "using f4 = float __attribute__((ext_vector_type(4)));\n"
        "using h4 = _Float16 __attribute__((ext_vector_type(4)));\n"
        'extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256))) '
        "void k(f4* out, const h4* in) {\n"
        "  __attribute__((shared)) static h4 tile[2560];\n"
        "  const int i = __builtin_amdgcn_workitem_id_x();\n"
        "  for(int n = 0; n < 10; ++n) tile[i + 256 * n] = in[i + 256 * n];\n"
        "  __builtin_amdgcn_s_barrier();\n"
        "  f4 sum = {0, 0, 0, 0};\n"
        "  for(int n = 0; n < 10; ++n) sum = __builtin_amdgcn_mfma_f32_16x16x16f16("
        "tile[(i * 7 + n) % 2560], tile[(i * 5 + n) % 2560], sum, 0, 0, 0);\n"
        "  out[i] = sum;\n}\n"
    )
    output = tmp_path / "k.co"
    command = [
        *recipe.compiler.command,
        *recipe.compile_flags,
        *(flag for flag in recipe.location_flags if "shim" not in flag and flag != "-include"),
        "-nogpuinc",
        "-Rpass-analysis=kernel-resource-usage",
        "-c",
        str(source),
        "-o",
        str(output),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = {}
    for line in done.stderr.splitlines():
        name, colon, value = line.partition("remark: ")[2].partition(" [-Rpass")[0].strip().rpartition(":")
        if colon:
            told[name.split(":")[-1].strip()] = value.strip()
    (kernel,) = read_kernels(output, "gfx942")
    # accumulation registers start at a multiple of four behind the others
    own, accumulators = int(told["VGPRs"]), int(told["AGPRs"])
    assert kernel.vgprs == ((own + 3) // 4 * 4 + accumulators if accumulators else own)
    assert kernel.agprs == accumulators
    assert kernel.lds_bytes == int(told["LDS Size [bytes/block]"]) == 20480
    assert kernel.occupancy.waves_per_simd == int(told["Occupancy [waves/SIMD]"]) == 3
    assert kernel.occupancy.limited_by == "lds"
    assert kernel.matrix_instructions == {"v_mfma_f32_16x16x16_f16": 10}
    assert kernel.lds_writes == {64: 10} or sum(kernel.lds_writes.values()) <= 10
    assert kernel.matrix_cycles == 160


def test_what_does_not_fit_is_rejected(ckprof, tmp_path):
    """The operands do not fit into LDS twice: a rule says so before anything is compiled."""
    large = {"tile_m": 256, "tile_n": 256, "tile_k": 64, "pipeline": "compv4", "double_smem_buffer": True}
    catalog = write_catalog(tmp_path / "fwd.json", "forward", [large])
    called = ckprof("build", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx942", timeout=1200)
    assert called.code == 1
    assert "LDS" in called.err
    called = ckprof("run", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx942")
    called.fails_with(5, "no AMD GPU was found", "ckprof build")


def test_what_the_headers_cannot_express_is_unsupported(ckprof, tmp_path):
    catalog = write_catalog(tmp_path / "fwd.json", "forward", [{"pipeline": "wavelet", "num_wave_groups": 2}])
    called = ckprof("build", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx942")
    assert "API level 2025-07 has no wavelet for fwd" in called.err
    assert called.code == 1


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--arch", "gfx1234"), ("gfx1234",)),
        (("--arch", "gfx942", "--ck-root", "/nowhere"), ("--ck-root /nowhere", "no ck_tile/core.hpp")),
        (("--arch", "gfx942", "--compiler", "g++"), ("--compiler",)),
        (("--arch", "gfx1250"), ("gfx1250",)),
    ],
)
def test_bad_input_is_one_message(ckprof, tmp_path, arguments, parts):
    catalog = write_catalog(tmp_path / "fwd.json", "forward", FORWARD[:1])
    called = ckprof("build", "fwd", "--conf", catalog, "--target", "hip", *arguments)
    called.fails_with(2 if "gfx1234" in arguments else 5, *parts)


def test_the_runtime_compiles_against_hip(tmp_path):
    """The code that meets the device: compiled with HIP's own headers, never run here."""
    from ckprof_plugins.targets.hip.recipe import _RUNTIME

    recipe = HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.RUN))
    for source in _RUNTIME:
        command = [
            *recipe.compiler.command,
            *(flag for flag in recipe.compile_flags if flag != "-w"),
            *("-Wall", "-Wextra", "-Werror", "-Wno-unused-command-line-argument"),
            *recipe.location_flags,
            *(f"-I{folder}" for folder in recipe.include_dirs[1:]),
            "--offload-host-only",
            "-c",
            str(source),
            "-o",
            str(tmp_path / "target.o"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        own = [line for line in done.stderr.splitlines() if str(source) in line]
        assert own == [], done.stderr
        assert done.returncode == 0, done.stderr


@pytest.mark.slow  # that of November is in the gate
@pytest.mark.parametrize(
    ("direction", "variant", "kernels"),
    [("fwd", "forward", FORWARD_CASES), ("bwd_weight", "bwd_weight", WEIGHT_CASES)],
    ids=["fwd", "bwd_weight"],
)
def test_real_headers_and_their_model_agree(ckprof, tmp_path, direction, variant, kernels):
    case = write_case(tmp_path, variant, kernels)
    called = ckprof(
        *("check-support", direction, *case, "--random", "300", "--target", "hip", "--arch", "gfx942"),
        *("--format", "json"),
        timeout=1200,
    )
    assert called.out, called.err
    found = json.loads(called.out)
    assert [answers_of(kernel["supported"]) for kernel in found["kernels"]] == expected(kernels)
    assert found["disagreements"] == 0
    # the random problems are neither all rejected nor all accepted
    random_answers = [flag for kernel in found["kernels"] for flag in kernel["supported"][16:]]
    assert len(random_answers) == 300 * len(kernels)
    assert 0.02 < sum(random_answers) / len(random_answers) < 0.9


@pytest.mark.slow
def test_a_library_for_programs_is_linked_with_cmake(ckprof, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake found")
    catalog = write_catalog(tmp_path / "fwd.json", "forward", FORWARD[:1])
    build = ("build", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx942", "--build-dir", "tree")
    called = ckprof(*build, "--link", timeout=1200).ok()
    library = tmp_path / "tree" / "out" / "libckprof_conv_fwd.so"
    assert called.out.strip() == str(library)
    # it loads, knows its kernel, and says that there is no device
    script = (
        "import sys; from pathlib import Path; from ckprof.measure.worker.abi import Library, LibraryError\n"
        "library = Library.load(Path(sys.argv[1])); print(len(library.kernels))\n"
        "try: library.target.select_device('gfx942', 0)\n"
        "except LibraryError as exc: print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, library], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "1"
    if not devices():
        assert "no AMD GPU was found" in done.stdout


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_8_bit_types_are_those_of_the_headers(arch, tmp_path):
    """Which encoding the device's code uses: operands and references need to have the same."""
    wanted = int(has_ocp_float8(find_architecture(arch)))
    recipe = HipTarget().recipe(BuildRequest(arch=arch, purpose=Purpose.INSPECT))
    source = tmp_path / "encoding.cpp"
    source.write_text(
        '#include "ck_tile/core/config.hpp"\n'
        "#ifdef __HIP_DEVICE_COMPILE__\n"
        f"static_assert(CK_TILE_USE_OCP_FP8 == {wanted});\n"
        "#endif\n"
    )
    done = subprocess.run(
        [
            *(*recipe.compiler.command, *recipe.compile_flags, *recipe.location_flags),
            *(*recipe.kernel_flags, *include_flags(recipe), "-fsyntax-only", source),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
