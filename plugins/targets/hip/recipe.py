"""How kernels are compiled and linked for AMD GPUs, against the user's CK Tile headers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import ToolchainError, UsageError
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.keys import FolderDigests, abi_dir, digest_parts
from ckprof.model.architecture import find_architecture
from ckprof.model.recipe import BuildRecipe, Product, Purpose
from ckprof.model.types import DataType
from ckprof.paths import object_cache_dir
from ckprof.plugin.protocols import CanarySource
from ckprof_plugins.targets.hip.devices import devices
from ckprof_plugins.targets.hip.headers import find_headers
from ckprof_plugins.targets.hip.rocm import (
    find_device_libraries,
    find_hip_root,
    install_advice,
    library_flags,
    runtime_link_flags,
)
from ckprof_plugins.targets.hip.toolchain import find_hip_compiler

if TYPE_CHECKING:
    from ckprof.model.recipe import BuildRequest
    from ckprof_plugins.targets.hip.headers import CkHeaders
    from ckprof_plugins.targets.hip.toolchain import HipCompiler

#: of every source
FLAGS: Final = (
    "-std=c++20",
    # the headers are the user's: their warnings help nobody here
    "-w",
    "-Wno-invalid-constexpr",
    "-Wno-missing-template-arg-list-after-template-kw",
    "-D__HIP_PLATFORM_AMD__",
    # with modules, device and host overloads in a precompiled header count as two definitions of one function
    "-Xclang",
    "-fno-cxx-modules",
)
#: of sources of which the code objects are wanted
DEVICE_FLAGS: Final = ("-O3", "--offload-device-only", "--no-gpu-bundle-output")
#: of sources that only answer whether problems are supported
ANSWER_FLAGS: Final = (
    "-O0",
    "--offload-host-only",
    "-nogpulib",
    "-no-hip-rt",
    "-fPIC",
    "-fvisibility=hidden",
    "-DCKPROF_SUPPORT_ONLY",
)
#: of sources of a library that runs
LIBRARY_FLAGS: Final = ("-O3", "-fPIC", "-fvisibility=hidden")
#: of its kernels: on the host they only prepare arguments; optimising that further takes as long as the rest
KERNEL_FLAGS: Final = ("-O1", "-Xarch_device", "-O3")
#: the driver puts a header of its own in front, which a precompiled header already holds; what that header
#: instantiates is instantiated once, not in each unit
PRECOMPILING: Final = {
    "precompile_flags": (
        *("-fsyntax-only", "-Xclang", "-fpch-instantiate-templates"),
        *("-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", "{output}"),
    ),
    "precompiled_flags": ("-nogpuinc", "-Xclang", "-include-pch", "-Xclang", "{precompiled}"),
}


_HERE: Final = Path(__file__).parent
INCLUDE_DIR: Final = _HERE / "include"
_CANARY: Final = _HERE / "canary.cpp"
_SHIM: Final = INCLUDE_DIR / "ckprof_hip_shim.hpp"
_RUNTIME: Final = tuple(sorted((_HERE / "src").glob("*.cpp")))
_ANSWERS: Final = tuple(sorted((_HERE / "src_answers").glob("*.cpp")))

PREFIX_HEADER: Final = """\
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"
#include "ck_tile/ops/epilogue.hpp"

#include "ckprof_entry.hpp"
"""

#: measured with clang 19 and 22: peak of one kernel, and of each more device function in the same source if
#: its tile is another one (headers of July 2025); one of the same tile adds a third of that (November's)
_COMPILE_MEMORY: Final = 700 * 2**20
_FURTHER_MEMORY: Final = 16 * 2**20
#: so many that all kernels of a tile stay together: three of one took 40 s, those and three more of it 47
_FUNCTIONS_PER_UNIT: Final = 128
#: of templates, next to all depend on tiles, waves and types: beside a kernel that has these, one with
#: another pipeline costs a tenth of what it costs by itself, one with other vectors a fifth
FIELDS_WITHOUT_COST: Final = frozenset(
    {
        *("gemm_pipeline", "scheduler", "epilogue", "double_smem_buffer", "specialization"),
        *("vector_size_a", "vector_size_b", "vector_size_c", "pad_m", "pad_n", "pad_k"),
    }
)
#: without code generation a kernel costs next to nothing
_ANSWERS_PER_UNIT: Final = 160


def recipe(request: BuildRequest) -> BuildRecipe:
    """Return how to compile and link for AMD GPUs.

    :raises ToolchainError: no usable compiler, headers or device libraries.
    :raises UsageError: there is no such architecture.
    """
    base = find_architecture(request.arch).name
    there = bool(request.device) or any(device.arch == base for device in devices())
    headers = find_headers(request.ck_root)
    if request.api_level not in (None, headers.api_level):
        raise UsageError(
            f"--api-level {request.api_level}: the headers in {headers.root} are of {headers.api_level}"
        )
    hip = find_hip_compiler(base, request.compiler)
    if request.purpose is Purpose.SUPPORT_CHECK:
        return _recipe(request, hip, headers, None, ANSWER_FLAGS, _answers())
    if request.sources_only:
        return _recipe(request, hip, headers, None, LIBRARY_FLAGS, _library(request, hip, runnable=False))
    libraries = find_device_libraries()
    if not hip.linker:
        raise ToolchainError(
            f"{' '.join(hip.compiler.command)} finds no lld for device code; {install_advice(base)}"
        )
    if request.purpose is Purpose.RUN or (request.purpose is Purpose.BUILD and there):
        parts = _library(request, hip, runnable=there)
        return _recipe(request, hip, headers, libraries, LIBRARY_FLAGS, parts)
    return _recipe(request, hip, headers, libraries, DEVICE_FLAGS, _code_objects())


#: type of the tensors -> name of its rate, and how many times that a kernel may reach: fp32 can be multiplied
#: as xf32, at most four times as fast
_RATES: Final = {DataType.FP32: ("f32", 4.0), DataType.FP16: ("f16", 1.0), DataType.BF16: ("bf16", 1.0)}


def _code_objects() -> dict[str, Any]:
    """Return what recipes of code objects have besides."""
    return {
        "product": Product.CODE_OBJECTS,
        "prefix_header": PREFIX_HEADER,
        **PRECOMPILING,
        "support_sources": (),
        "link_flags": (),
        "functions_per_unit": _FUNCTIONS_PER_UNIT,
        "further_memory_bytes": _FURTHER_MEMORY,
    }


def _answers() -> dict[str, Any]:
    """Return what recipes of libraries that answer about support have besides."""
    return {
        "prefix_header": "",
        # without it, objects of host code alone all define the same symbol
        "unit_flags": ("-Xclang", "-cuid={key}"),
        "support_sources": _ANSWERS,
        "link_flags": ("-no-hip-rt", "-Wl,-z,defs"),
        "functions_per_unit": _ANSWERS_PER_UNIT,
        "further_memory_bytes": 4 * 2**20,
    }


def _library(request: BuildRequest, hip: HipCompiler, *, runnable: bool) -> dict[str, Any]:
    """Return what recipes of libraries that run have besides.

    :raises ToolchainError: host and device code cannot be joined.
    """
    arch = request.arch.partition(":")[0]
    if runnable and not hip.bundler:
        raise ToolchainError(
            f"{' '.join(hip.compiler.command)} finds no clang-offload-bundler to join host and device code; "
            f"{install_advice(arch)}"
        )
    # a device that brings its own runtime adds the flags of that
    runtime = () if request.device else runtime_link_flags()
    return {
        "prefix_header": "",
        # a level that the user names is meant for both
        "kernel_flags": () if any(flag.startswith("-O") for flag in request.extra_flags) else KERNEL_FLAGS,
        "support_sources": _RUNTIME,
        "link_flags": ("-pthread", "-Wl,-z,defs", *runtime),
        "functions_per_unit": _FUNCTIONS_PER_UNIT,
        "further_memory_bytes": _FURTHER_MEMORY,
        "cannot_run": "" if runnable else _why_not(arch),
    }


def _peak_flops(arch: str) -> tuple[tuple[DataType, float], ...]:
    """Return operations per second that no kernel can exceed, by type of its tensors."""
    architecture = find_architecture(arch)
    machine = architecture.machine
    if machine is None:
        return ()
    per_rate = architecture.compute_units * architecture.simds_per_cu * machine.clock_mhz * 1e6
    return tuple(
        (dtype, factor * per_rate * machine.flops_per_cycle[name])
        for dtype, (name, factor) in _RATES.items()
        if name in machine.flops_per_cycle
    )


def _why_not(arch: str) -> str:
    present = devices()
    if not present:
        return (
            f"no AMD GPU was found, so kernels for {arch} can be compiled but not run, verified or timed here"
        )
    there = ", ".join(f"{device.index}: {device.arch}" for device in present)
    return f"no {arch} was found (devices here: {there}), so its kernels can be compiled but not run here"


def _recipe(
    request: BuildRequest,
    hip: HipCompiler,
    headers: CkHeaders,
    libraries: Path | None,
    flags: tuple[str, ...],
    parts: dict[str, Any],
) -> BuildRecipe:
    """Return the recipe of a product.

    :param libraries: device libraries, if device code is compiled.
    :param flags: of every source of the product.
    :param parts: fields of the recipe that are the product's.
    """
    base = request.arch.partition(":")[0]
    machine = find_architecture(base).machine
    hip_root = find_hip_root()
    shim = _shim_flags(hip, hip_root, base)
    device_flags = library_flags(libraries, hip, base) if libraries else ()
    # headers of HIP and device libraries lie outside the folders that are searched for headers
    outside = (hip_root / "include" / "hip", *((libraries,) if libraries else ()))
    digests = FolderDigests(ObjectCache(object_cache_dir()).folder_digests)
    return BuildRecipe(
        target="hip",
        arch=request.arch,
        api_level=headers.api_level,
        compiler=hip.compiler,
        compile_flags=(
            "-x",
            "hip",
            f"--offload-arch={request.arch}",
            *FLAGS,
            *flags,
            *shim,
            *request.extra_flags,
        ),
        variables=compiler_variables(hip.compiler.command),
        location_flags=(
            f"--rocm-path={hip_root}",
            *device_flags,
            *(("-include", str(_SHIM)) if shim else ()),
        ),
        include_dirs=(headers.root, INCLUDE_DIR, abi_dir()),
        digested_dirs=(headers.root / "ck_tile", abi_dir(), INCLUDE_DIR),
        machine_identity=digest_parts(
            *(digests.of(folder) for folder in outside), *(Path(flag).name for flag in device_flags)
        ),
        compile_memory_bytes=_COMPILE_MEMORY,
        fields_without_cost=FIELDS_WITHOUT_COST,
        last_level_cache_bytes=machine.last_level_cache_bytes if machine else 0,
        peak_flops=_peak_flops(base),
        **parts,
    )


def canary_source(arch: str) -> CanarySource:
    """Return how the canaries are compiled.

    :raises ToolchainError: no usable compiler, headers or device libraries.
    """
    base = arch.partition(":")[0]
    hip, hip_root = find_hip_compiler(base), find_hip_root()
    shim = _shim_flags(hip, hip_root, base)
    headers = ("ckprof_device_canary.hpp", "ckprof_device_peaks.hpp", "ckprof_device_api.hpp")
    return CanarySource(
        files=(_CANARY, *(abi_dir() / name for name in headers)),
        compiler=(
            *(*hip.compiler.command, "-x", "hip", f"--rocm-path={hip_root}"),
            *library_flags(find_device_libraries(), hip, base),
            *(("-include", str(_SHIM)) if shim else ()),
            f"-I{abi_dir()}",
        ),
        flags=(
            *(f"--offload-arch={arch}", *FLAGS, *LIBRARY_FLAGS, *shim),
            *("-shared", "-pthread", "-s", *runtime_link_flags()),
        ),
        machine="",
    )


#: what hipcc, a script, reads besides its command line
_HIPCC_VARIABLES: Final = ("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH")


def compiler_variables(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables that change what the compiler makes."""
    wraps = any(Path(word).name.startswith("hipcc") for word in command)
    return ("HIP_DEVICE_LIB_PATH", *(_HIPCC_VARIABLES if wraps else ()))


#: host code is the same for all; every compiler that is used knows it
HOST_CODE_FOR: Final = "gfx942"


def host_flags(hip: HipCompiler, hip_root: Path, arch: str) -> tuple[str, ...]:
    """Return the flags by which HIP's headers are compiled for the host alone."""
    shim = _shim_flags(hip, hip_root, arch)
    return (
        *("-x", "hip", "--offload-host-only", "-nogpulib", "-w"),
        *(f"--offload-arch={arch}", f"--rocm-path={hip_root}", "-D__HIP_PLATFORM_AMD__"),
        *((*shim, "-include", str(_SHIM)) if shim else ()),
    )


def _shim_flags(hip: HipCompiler, hip_root: Path, arch: str) -> tuple[str, ...]:
    """Return the flags that switch the shim on, if headers of HIP use names that the compiler has dropped."""
    used = _mentions(hip_root / "include" / "hip" / "amd_detail" / "amd_hip_fp16.h", "__llvm_amdgcn_rcp_f16")
    declared = any(
        _mentions(path, "__llvm_amdgcn_rcp_f16")
        for path in (hip.resource_dir / "include").glob("__clang_hip_*.h")
    )
    return (f"-DCKPROF_WAVE_LANES={find_architecture(arch).lanes_per_wave}",) if used and not declared else ()


def _mentions(path: Path, name: str) -> bool:
    try:
        return name in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
