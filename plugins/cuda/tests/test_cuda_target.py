"""The CUDA target: devices, recipes, code objects, agreement with the CPU target."""

import json
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.measure.worker.abi import Library
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.device import FindingState
from ckprof.model.recipe import BuildRequest, Product, Purpose
from ckprof_plugins.cuda import devices as cuda_devices
from ckprof_plugins.cuda import machine_code, toolchain
from ckprof_plugins.cuda import recipe as cuda_recipe
from ckprof_plugins.cuda.target import CudaTarget
from tests.called import ckprof_apart
from tests.e2e.catalogs import LARGE_TILE, PRODUCT_TILE, TILE, VARIANTS, write_catalog

CONF = Path(__file__).parents[3] / "conf"


@pytest.fixture
def has_nvcc():
    """Skip a test where there is no nvcc."""
    try:
        toolchain.find_toolchain()
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])


class TestDevices:
    def test_reads_each_device(self):
        """Index, name, capability, memory and driver of every line."""
        text = "0, NVIDIA H200, 9.0, 143771, 580.1, Disabled\n1, NVIDIA A100, 8.0, 81920, 580.1, Enabled\n"
        first, second = cuda_devices.read_devices(text)
        assert (first.index, first.name, first.capability, first.memory_mib) == (0, "NVIDIA H200", 90, 143771)
        assert (second.index, second.capability, second.driver) == (1, 80, "580.1")
        assert (first.partition, second.partition) == ("", "MIG")

    @pytest.mark.parametrize("text", ["", "No devices were found\n", "0, X, [N/A], 1, 2, 3\n", "a,b,c,d,e\n"])
    def test_leaves_other_lines_out(self, text):
        """What is no device is none."""
        assert cuda_devices.read_devices(text) == ()


class TestToolchain:
    def test_rejects_what_is_no_nvcc(self, tmp_path):
        """A program that answers something else."""
        fake = tmp_path / "nvcc"
        fake.write_text("#!/bin/sh\necho something else\n")
        fake.chmod(0o755)
        with pytest.raises(ToolchainError, match="does not print the version"):
            toolchain.probe(fake)

    def test_rejects_old_versions(self, tmp_path):
        """The message says what is needed."""
        fake = tmp_path / "nvcc"
        fake.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n")
        fake.chmod(0o755)
        with pytest.raises(ToolchainError, match=r"11\.8 is too old, 12\.4 is needed"):
            toolchain.probe(fake)

    def test_says_what_to_install(self, monkeypatch):
        """Where there is no nvcc at all."""
        monkeypatch.setattr(toolchain, "candidates", lambda: iter(()))
        with pytest.raises(ToolchainError, match=r"pip install 'ckprof\[cuda\]'"):
            toolchain.find_toolchain()
        missing = [finding for finding in toolchain.findings() if finding.topic == "nvcc"]
        assert [finding.state for finding in missing] == [FindingState.MISSING]

    def test_named_compiler_must_exist(self):
        """``--compiler`` with a name that is none."""
        with pytest.raises(ToolchainError, match="not found"):
            toolchain.find_toolchain("no-such-nvcc")


class TestRecipe:
    def test_support_checks_need_no_nvcc(self, monkeypatch):
        """Conditions and instance strings are compiled by the host's compiler."""
        monkeypatch.setattr(toolchain, "candidates", lambda: iter(()))
        recipe = CudaTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.SUPPORT_CHECK))
        assert recipe.target == "cuda"
        assert recipe.include_dirs[0] == cuda_recipe.INCLUDE_DIR

    def test_unknown_devices_are_usage_errors(self):
        """The modelled device must be one of the host model's."""
        with pytest.raises(UsageError, match="gfx9999"):
            CudaTarget().recipe(BuildRequest(arch="gfx9999"))
        with pytest.raises(UsageError, match="2025-07"):
            CudaTarget().recipe(BuildRequest(arch="gfx942", api_level="2025-07"))

    @pytest.mark.usefixtures("has_nvcc")
    @pytest.mark.parametrize(
        ("capability", "code", "engine_w"), [(90, "sm_90a", 1), (80, "sm_80", 0), (100, "sm_100", 0)]
    )
    def test_compiles_for_the_device(self, capability, code, engine_w, monkeypatch):
        """Engine W is for one capability alone."""
        device = cuda_devices.CudaDevice(index=0, name="X", capability=capability, memory_mib=1, driver="1")
        monkeypatch.setattr(cuda_recipe, "devices", lambda: (device,))
        recipe = CudaTarget().recipe(BuildRequest(arch="gfx942"))
        assert any(flag.endswith(f"code={code}") for flag in recipe.compile_flags)
        assert f"-DCKPROF_CUDA_ENGINE_W={engine_w}" in recipe.compile_flags
        assert recipe.variables == ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
        assert not recipe.cannot_run

    @pytest.mark.usefixtures("has_nvcc")
    def test_without_a_device_nothing_runs(self, monkeypatch):
        """Building and inspecting remain possible."""
        monkeypatch.setattr(cuda_recipe, "devices", lambda: ())
        assert "no NVIDIA GPU" in CudaTarget().recipe(BuildRequest(arch="gfx942")).cannot_run
        inspected = CudaTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT))
        assert inspected.product is Product.CODE_OBJECTS
        assert "-cubin" in inspected.kernel_flags

    @pytest.mark.usefixtures("has_nvcc")
    def test_libraries_have_the_sources_of_their_operation(self):
        """Kernels of groups of few channels take long to compile; without an operation all are there."""

        def sources(operation):
            request = BuildRequest(arch="gfx942", operation=operation)
            return {path.name for path in CudaTarget().recipe(request).support_sources}

        everything = {path.name for path in cuda_recipe.SOURCE_DIR.glob("*.cu")}
        assert sources("") >= everything
        assert sources("fwd") == sources("bwd_data")
        parts = [sources(operation) & everything for operation in ("fwd", "bwd_weight")]
        assert parts[0] & parts[1] == sources("gemm") & everything < everything
        assert parts[0] | parts[1] == everything


class TestMachineCode:
    def test_counts_opcodes(self):
        """Predicates and modifiers do not hide an opcode; widths are bits of a lane."""
        text = (
            "\t\tFunction : first\n"
            "        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;\n"
            "        /*0010*/              @!P0 STG.E desc[UR4][R2.64], R5 ;\n"
            "        /*0020*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24 ;\n"
            "        /*0030*/                   HGMMA.64x64x8.F32.TF32 R24, gdesc[UR8], R24 ;\n"
            "        /*0040*/                   HMMA.1688.F32.TF32 R4, R4, R8, R4 ;\n"
            "                                                          /* 0x0000000000007918 */\n"
            "\t\tFunction : second\n"
            "        /*0000*/                   NOP ;\n"
            "        /*0010*/                   EXIT ;\n"
            "        /*0020*/                   BRA 0x20;\n"
            "        /*0030*/                   NOP;\n"
            "        /*0040*/                   NOP;\n"
        )
        counts = machine_code.read_disassembly(text)
        assert counts["first"]["all"] == 5
        assert counts["first"]["HGMMA.TF32"] == counts["first"]["HMMA.TF32"] == 1
        assert counts["first"]["HMMA"] == 0
        assert counts["first"]["HGMMA"] == counts["first"]["LDG:128"] == counts["first"]["STG:32"] == 1
        # what fills the function up behind its last instruction does not count
        assert (counts["second"]["all"], counts["second"]["NOP"]) == (3, 1)

    @pytest.mark.parametrize(
        ("registers", "lanes", "shared", "capability", "blocks", "limit"),
        [
            # 65536 registers: 168 x 384 take all but 1024 of them
            (168, 384, 1024, 90, 1, "vgpr"),
            (128, 128, 1024, 90, 4, "vgpr"),
            # 228 KiB, with 1 KiB of each block's own
            (32, 128, 77824, 90, 3, "lds"),
            (32, 128, 77824, 80, 2, "lds"),
            # what is not known has no more than the smallest
            (32, 128, 77824, 77, 1, "lds"),
            (16, 1024, 0, 90, 2, "waves"),
        ],
    )
    def test_resident_blocks(self, registers, lanes, shared, capability, blocks, limit):
        """Registers, shared memory and warps bound them; warps are spread over four schedulers."""
        found = machine_code.occupancy(registers, lanes, shared, capability)
        assert (found.workgroups_per_cu, found.limited_by) == (blocks, limit)
        assert found.waves_per_simd == blocks * lanes // 32 // 4

    def test_a_file_names_its_capability(self):
        """As nvcc 13.0 writes it for sm_90a."""
        assert machine_code._capability(0x6005A04) == 90

    def test_tools_of_packages_are_found(self, tmp_path, monkeypatch):
        """Also without an nvcc beside them."""
        tool = tmp_path / "nvidia" / "cu13" / "bin" / "cuobjdump"
        tool.parent.mkdir(parents=True)
        tool.touch()
        monkeypatch.setattr(
            toolchain,
            "find_spec",
            lambda name: SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")]),
        )
        monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
        monkeypatch.setattr(toolchain, "candidates", lambda: iter(()))
        assert toolchain.find_tool("cuobjdump") == tool
        assert toolchain.find_tool("nvdisasm") is None

    def test_reads_attributes(self):
        """Values with a length of their own, and short ones."""
        data = struct.pack("<BBHI", 4, 0x05, 4, 384) + struct.pack("<BBH", 3, 0x19, 320)
        assert dict(machine_code._attributes(data)) == {0x05: struct.pack("<I", 384), 0x19: b"\x40\x01"}


#: every shipped list (a direction's folder is one of its names), without those that spell another's instances
SHIPPED = sorted(
    str(path.relative_to(CONF)) for path in CONF.rglob("*.conf") if "typestring" not in path.parts
)


@pytest.mark.parametrize("listed", SHIPPED)
@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_answers_are_those_of_the_cpu_target(listed, tmp_path):
    """The same list, random problems and device give the same report and the same instance strings."""
    reports = []
    for target_id in ("cpu", "cuda"):
        done = ckprof_apart(
            *("check-support", listed.split("/")[0], "--conf", listed, "--random", "20", "--seed", "5"),
            *("--arch", "gfx942", "--target", target_id, "--no-model", "--format", "json"),
            *("--build-dir", tmp_path / target_id),
            timeout=1800,
        ).ok()
        reports.append(done.out.replace(f'"{target_id}"', '"target"').replace(target_id, "target"))
    assert reports[0] == reports[1]
    strings = [read_instance_strings(tmp_path / target_id) for target_id in ("cpu", "cuda")]
    assert strings[0] == strings[1]


def read_instance_strings(build_dir):
    """Ask every kernel of a library for CK Builder's text."""
    library = Library.load(next(build_dir.rglob("*.so")))
    answers = {key: kernel.instance_string() for key, kernel in library.kernels.items()}
    assert answers
    assert {status for status, _ in answers.values()} == {AbiStatus.OK}
    return {key: text for key, (_, text) in answers.items()}


#: compiling takes long: the gate does it for some of each kind
SLOW = pytest.mark.slow

#: list, its direction, kernel -> names of the device functions and what one of them must have
COMPILED = [
    ("fwd", "forward/tests/nhwgc_bf16.conf", "compv4.*128x128x32_2x2x1.*dsb$", "hopper_gemm", "HGMMA"),
    pytest.param(
        "bwd_data", "backward_data/tests/nhwgc_fp16.conf", "64x16x32", "implicit_gemm", "HMMA", marks=SLOW
    ),
    ("bwd_weight", "backward_weight/tests/nhwgc_fp32_streamk.conf", "64x64x64", "stream_k_gemm", ""),
    ("fwd", "forward/tests/ngchw_depthwise.conf", "bf16.*32x32_f5", "depthwise", ""),
    (
        "gemm",
        "gemm/universal/rrr_fp16.conf",
        "compv1_cshuffle_intrawave_True.*16x16x64_1x1x1",
        "matrix_gemm",
        "HMMA",
    ),
]


def need_disassembler():
    """Skip what follows where instructions cannot be counted."""
    if toolchain.find_tool("cuobjdump") is None:
        pytest.skip("no cuobjdump: instructions cannot be counted")


def inspected(*arguments, folder, function):
    """Return what is found out about the device functions whose name has a part."""
    done = ckprof_apart(
        *("inspect", *arguments, "--target", "cuda", "--format", "json", "--build-dir", folder), timeout=280
    ).ok()
    variants = [
        variant
        for kernel in json.loads(done.out)["inspection"]["kernels"]
        for variant in kernel["variants"]
        if function in variant["symbol"]
    ]
    assert variants
    for variant in variants:
        assert variant["vgprs"] > 16 and variant["vgpr_spills"] == 0
        assert variant["occupancy"]["workgroups_per_cu"] >= 1
        # tiles lie in memory that is asked for at the launch
        assert variant["lds_bytes"] > 1024
    return variants


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize("direction,listed,pattern,function,product", COMPILED)
def test_kernels_compile(direction, listed, pattern, function, product, tmp_path):
    """A handful of kernels of each engine becomes machine code that can be read."""
    variants = inspected(direction, "--conf", listed, "--filter", pattern, folder=tmp_path, function=function)
    need_disassembler()
    assert all(variant["instructions"] > 100 for variant in variants)
    if product:
        assert all(variant["matrix_instructions"][product] > 0 for variant in variants)
    if product.startswith("HGMMA"):
        assert all(variant["tensor_copies"] > 0 and variant["loads"] == {} for variant in variants)


#: list of an operation and kernel -> the engine that it is fused into
OPERATIONS = [
    pytest.param("bias_clamp/tests/nhwgc_bf16", "128x128x64.*dsb_AddClamp", "hopper_gemm", marks=SLOW),
    pytest.param(
        "bias_bnorm_clamp/tests/nhwgc_fp16",
        "compv1.*_128x64x32_2x2x1.*8_Bias",
        "hopper_patch_gemm",
        marks=SLOW,
    ),
    ("bilinear/tests/ndhwgc_fp16", "128x64x32", "implicit_gemm"),
]


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize("listed,pattern,function", OPERATIONS)
def test_operations_are_fused(listed, pattern, function, tmp_path):
    """The device function that multiplies has the operation and its D tensors in its type."""
    variants = inspected(
        *("fwd", "--conf", f"forward/{listed}", "--filter", pattern), folder=tmp_path, function=function
    )
    assert all("fused_operation" in variant["symbol"] for variant in variants)
    need_disassembler()
    # D tensors are read in the widest vectors that the result is stored in
    assert all(variant["loads"].get("128", 0) > 0 for variant in variants)


#: list of operands of 8 bits, kernel, modelled device
BYTES = [
    ("tests/nhwgc_int8", "compv1.*64x64x32", "gfx942"),
    pytest.param("scaleadd_scaleadd_relu/tests/ndhwgc_int8", "64x64x32", "gfx942", marks=SLOW),
    pytest.param("convscale/tests/ndhwgc_bf8_fp8", "64x64x32", "gfx942", marks=SLOW),
    pytest.param("convscale_add/tests/ndhwgc_fp8", "64x64x32", "gfx950", marks=SLOW),
    pytest.param("convscale_relu/tests/ndhwgc_fp8_fp32", "64x64x32", "gfx942", marks=SLOW),
]


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize("listed,pattern,arch", BYTES)
def test_convolutions_of_bytes_compile(listed, pattern, arch, tmp_path):
    """Operands of 8 bits are multiplied as those of 16 that they become."""
    variants = inspected(
        *("fwd", "--conf", f"forward/{listed}", "--filter", pattern, "--arch", arch),
        folder=tmp_path,
        function="implicit_gemm",
    )
    need_disassembler()
    assert all(set(variant["matrix_instructions"]) == {"HMMA"} for variant in variants)


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
def test_the_folder_of_a_library_is_inspected(tmp_path):
    """What a build leaves has kernels that share device code; its sources give each its own."""
    build = ("build", "gemm", "--conf", "gemm/universal/rcr_fp16", "--instance", "0", "--target", "cuda")
    out = tmp_path / "out"
    library = Path(ckprof_apart(*build, "--build-dir", out, timeout=280).ok().out.strip())
    assert library.is_file()
    shown = ckprof_apart("inspect", out, "--format", "json", timeout=280).ok()
    (kernel,) = json.loads(shown.out)["inspection"]["kernels"]
    assert kernel["variants"][0]["vgprs"] > 16
    assert not (out / "code_objects.json").exists()


#: direction of an instance that multiplies in TF32, the device function, and what it must have
TF32_COMPILED = [
    ("fwd", "hopper_gemm", "HGMMA.TF32"),
    pytest.param("fwd", "implicit_gemm", "HMMA.TF32", marks=SLOW),
    pytest.param("bwd_data", "implicit_gemm", "HMMA.TF32", marks=SLOW),
    pytest.param("bwd_weight", "implicit_gemm", "HMMA.TF32", marks=SLOW),
]
TF32_RECORD = {
    **{**TILE, "tile_m": 128, "pipeline": "compv3", "compute_type": "tf32"},
    **{"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8},
    **{"vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4},
}


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize("direction,function,product", TF32_COMPILED)
def test_kernels_of_tf32_compile(direction, function, product, tmp_path):
    """Both engines multiply TF32; that of warpgroups forward only."""
    catalog = write_catalog(tmp_path / "tf32.json", VARIANTS[direction], [TF32_RECORD], dtype="fp32")
    variants = inspected(direction, "--conf", str(catalog), folder=tmp_path / "build", function=function)
    need_disassembler()
    for variant in variants:
        assert set(variant["matrix_instructions"]) == {product}
        assert (variant["tensor_copies"] > 0) == (function == "hopper_gemm")


#: type and layout of products, modelled device, function and its matrix instruction
PRODUCTS = [
    pytest.param("bf16", "rcr", "gfx942", "hopper_gemm", "HGMMA", marks=SLOW),
    pytest.param("fp16", "crr", "gfx942", "hopper_gemm", "HGMMA", marks=SLOW),
    ("fp8", "rcr", "gfx950", "hopper_gemm", "QGMMA"),
    pytest.param("int8", "rcr", "gfx942", "hopper_gemm", "IGMMA", marks=SLOW),
    pytest.param("fp8", "rcr", "gfx942", "matrix_gemm", "HMMA", marks=SLOW),
    pytest.param("bf8", "rrr", "gfx950", "matrix_gemm", "HMMA", marks=SLOW),
    pytest.param("int8", "ccr", "gfx942", "matrix_gemm", "HMMA", marks=SLOW),
    ("fp32", "rcr", "gfx942", "matrix_gemm", ""),
]


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize("dtype,layout,arch,function,product", PRODUCTS)
def test_products_compile(dtype, layout, arch, function, product, tmp_path):
    """Products of matrices become machine code of the engine that their types and layouts allow."""
    depth = 16 if dtype == "fp32" else 32
    changes = {
        **{"tile_m": 64, "tile_k": depth, "pad_m": True, "pad_n": True, "pad_k": True},
        **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": depth},
    }
    catalog = write_catalog(
        tmp_path / "gemm.json", "gemm", [changes], usual=PRODUCT_TILE, layout=layout, dtype=dtype
    )
    variants = inspected(
        "gemm", "--conf", str(catalog), "--arch", arch, folder=tmp_path / "build", function=function
    )
    need_disassembler()
    for variant in variants:
        assert set(variant["matrix_instructions"]) == ({product} if product else set())
        assert (variant["tensor_copies"] > 0) == (function == "hopper_gemm")


@pytest.mark.cuda
@pytest.mark.usefixtures("has_nvcc")
@pytest.mark.parametrize(
    "source,kernels_of,blocks",
    [
        # three types, sizes, two strides; two types with boxes
        pytest.param(
            "depthwise_weight",
            {"depthwise_weightI": 18, "depthwise_weight_boxesI": 6, "add_partsI": 3},
            4,
            marks=SLOW,
        ),
        pytest.param("depthwise_image", {"depthwise_imageI": 27}, 4, marks=SLOW),
        # two types, with and without boxes
        ("group_weight", {"group_weight": 4, "add_partsI": 3}, 1),
    ],
)
def test_few_channels_compile(source, kernels_of, blocks, tmp_path):
    """Kernels for groups of few channels keep their tiles in registers."""
    recipe = cuda_recipe.recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT))
    code = tmp_path / f"{source}.cubin"
    done = subprocess.run(
        [
            *(*recipe.compiler.command, *recipe.compile_flags),
            *(f"-I{folder}" for folder in recipe.include_dirs),
            *("-cubin", str(cuda_recipe.SOURCE_DIR / f"{source}.cu"), "-o", str(code)),
        ],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kernels = machine_code.read_kernels(code, "gfx942")
    found = {name: [kernel for kernel in kernels if name in kernel.symbol] for name in kernels_of}
    assert {name: len(some) for name, some in found.items()} == kernels_of
    assert sum(kernels_of.values()) == len(kernels)
    assert all(kernel.scratch_bytes == 0 for kernel in kernels)
    assert all(kernel.occupancy.workgroups_per_cu >= blocks for kernel in kernels)
    need_disassembler()
    assert all(kernel.vgpr_spills == 0 for kernel in kernels)
    for kernel in kernels:
        if "add_parts" not in kernel.symbol:
            # rows are copied to shared memory without registers, and read from there
            assert kernel.direct_loads or kernel.tensor_copies
            assert kernel.lds_reads


@pytest.mark.cuda
@SLOW
@pytest.mark.usefixtures("has_nvcc")
def test_patches_compile(tmp_path):
    """Tiles of 64 columns have two more kernels of engine W, whose pipeline is no part of their code."""
    record = {**LARGE_TILE, "tile_n": 64, "pipeline": "mem"}
    path = write_catalog(tmp_path / "patches.json", "bwd_data", [record], dtype="bf16")
    variants = inspected("bwd_data", "--conf", str(path), folder=tmp_path, function="hopper_patch_gemm")
    need_disassembler()
    # four steps of 16 of K, for groups with few channels twice 64 rows; two copies: of a patch and of weights
    assert sorted(variant["matrix_instructions"]["HGMMA"] for variant in variants) == [4, 2 * 4]
    assert all(variant["tensor_copies"] == 2 and variant["loads"] == {} for variant in variants)
