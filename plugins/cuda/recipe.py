"""How kernels are compiled and linked for NVIDIA GPUs, against the CUDA model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, UsageError
from ckprof.kernels.keys import abi_dir
from ckprof.model.architecture import LATEST_API_LEVEL, find_architecture
from ckprof.model.recipe import BuildRecipe, Product, Purpose
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CanarySource
from ckprof_plugins.cuda.devices import USUAL_CAPABILITY, devices, shared_bytes
from ckprof_plugins.cuda.execution import IN_BOTH_ENGINES
from ckprof_plugins.cuda.toolchain import find_toolchain
from ckprof_plugins.targets.cpu import recipe as host_recipe
from ckprof_plugins.targets.cpu import target as host_model
from ckprof_plugins.targets.cpu.recipe import device_table_source

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture
    from ckprof.model.recipe import BuildRequest

#: oldest device with the instructions of engine M
OLDEST_CAPABILITY: Final = 80

_HERE: Final = Path(__file__).parent
INCLUDE_DIR: Final = _HERE / "include"
SOURCE_DIR: Final = _HERE / "src"
#: sources that kernels of some operations need, and no others
_SOURCES_OF: Final = {
    "fwd": frozenset({"depthwise_image.cu"}),
    "bwd_data": frozenset({"depthwise_image.cu"}),
    "bwd_weight": frozenset({"depthwise_weight.cu", "group_weight.cu"}),
    "gemm": frozenset[str](),
}
_FLAGS: Final = (
    "-std=c++20",
    # of the host's part, which only launches; machine code for the device is always optimized fully
    "-O1",
    # tile arithmetic is shared with the host
    "--expt-relaxed-constexpr",
    "-fPIC",
    "-fvisibility=hidden",
    # statics of one library must not be taken for those of another
    "-fno-gnu-unique",
    # get_instance_string() of generated launchers
    "-DCK_EXPERIMENTAL_BUILDER",
)
_CANARY: Final = _HERE / "canary.cu"
_CANARY_FLAGS: Final = ("-fPIC", "-fvisibility=hidden", "-shared", "-cudart", "static", "-Xlinker", "-s")
#: of the H200; that of other devices is not larger
_LAST_LEVEL_CACHE: Final = 60 * 2**20
#: nvcc adds their flags to its command line
_VARIABLES: Final = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: dense, by the data sheet of the H200 at a clock that it does not exceed
_PEAK_FLOPS: Final = ((DataType.FP16, 1.1e15), (DataType.BF16, 1.1e15), (DataType.FP32, 8e13))
#: most often: only where an instance asks for one block per multiprocessor, its scheduler matters; launchers
#: alone fold a stride
FIELDS_WITHOUT_COST: Final = frozenset({"scheduler", "fold_stride", *IN_BOTH_ENGINES})
#: measured with nvcc 13.0: peak of one kernel, and of each more in the same source
_COMPILE_MEMORY: Final = 500 * 2**20
_FURTHER_MEMORY: Final = 40 * 2**20
_KERNELS_PER_UNIT: Final = 12
#: seconds that nvcc 13.0 takes, 14 to 16 at once: of a source, and of each kernel in it; 0.55 of a kernel of
#: the shipped lists, 2.7 of one of the rule set for Hopper
_UNIT_S: Final = 4.5
_KERNEL_S: Final = 1.5


def recipe(request: BuildRequest) -> BuildRecipe:
    """Return how to compile and link for NVIDIA GPUs.

    :raises ToolchainError: no usable nvcc, or the headers are not installed.
    :raises UsageError: there is no such architecture or API level.
    """
    arch = find_architecture(request.arch)
    if request.api_level not in (None, LATEST_API_LEVEL):
        raise UsageError(f"--api-level {request.api_level}: the CUDA target models {LATEST_API_LEVEL} alone")
    if not (INCLUDE_DIR / "ck_tile" / "cuda_model" / "launch.hpp").is_file():
        raise ToolchainError(f"{INCLUDE_DIR}: the CUDA model's headers are missing; reinstall ckprof")
    if request.purpose is Purpose.SUPPORT_CHECK or request.sources_only:
        return _answers(request)
    return _device_recipe(request, arch)


def _answers(request: BuildRequest) -> BuildRecipe:
    """Support tests and instance strings are the host model's, compiled for the host alone."""
    recipe = host_recipe.recipe(replace(request, compiler=None))
    return replace(recipe, target="cuda", include_dirs=(INCLUDE_DIR, *recipe.include_dirs))


def _device_recipe(request: BuildRequest, arch: Architecture) -> BuildRecipe:
    compiler, host, library_dir = find_toolchain(request.compiler)
    capability, cannot_run = _capability()
    inspected = request.purpose is Purpose.INSPECT
    hopper = capability == USUAL_CAPABILITY
    name = f"{capability}a" if hopper else str(capability)
    return BuildRecipe(
        target="cuda",
        arch=request.arch,
        api_level=LATEST_API_LEVEL,
        compiler=compiler,
        compile_flags=(
            *_FLAGS,
            f"-gencode=arch=compute_{name},code=sm_{name}",
            f"-DCKPROF_CUDA_CAPABILITY={capability}",
            f"-DCKPROF_CUDA_ENGINE_W={int(hopper)}",
            f"-DCKPROF_CUDA_SHARED_BYTES={shared_bytes(capability)}",
            # CK Tile's build system defines them, and rounding to bfloat16 depends on one
            *(f"-D{macro}" for macro in arch.macros),
            *request.extra_flags,
        ),
        variables=_VARIABLES,
        kernel_flags=("-x", "cu", *(("-cubin", "-DCKPROF_CUDA_OWN_CODE") if inspected else ())),
        functions_per_unit=1 if inspected else _KERNELS_PER_UNIT,
        further_memory_bytes=_FURTHER_MEMORY,
        fields_without_cost=FIELDS_WITHOUT_COST,
        unit_s=_UNIT_S,
        function_s=_KERNEL_S,
        compile_memory_bytes=_COMPILE_MEMORY,
        # nvcc reads no response files
        linker=host.command,
        link_flags=(
            f"-L{library_dir}",
            "-lcudart_static",
            "-ldl",
            "-lrt",
            "-pthread",
            "-Wl,-z,defs",
        ),
        include_dirs=(INCLUDE_DIR, host_model.INCLUDE_DIR, abi_dir()),
        prefix_header="",
        support_sources=() if inspected else _support_sources(request.operation),
        product=Product.CODE_OBJECTS if inspected else Product.LIBRARY,
        machine_identity=f"sm_{name}",
        cannot_run=cannot_run,
        last_level_cache_bytes=_LAST_LEVEL_CACHE,
        peak_flops=_PEAK_FLOPS if hopper else (),
    )


def canary() -> CanarySource | None:
    """Return how the canaries are compiled; ``None`` without a GPU that kernels can run on.

    :raises ToolchainError: no usable nvcc.
    """
    capability, cannot_run = _capability()
    return canary_source(capability) if not cannot_run else None


def canary_source(capability: int) -> CanarySource:
    """Return how the canaries are compiled for a compute capability.

    :raises ToolchainError: no usable nvcc.
    """
    compiler, _, _ = find_toolchain()
    headers = ("ckprof_device_canary.hpp", "ckprof_device_peaks.hpp", "ckprof_device_api.hpp")
    code = f"-gencode=arch=compute_{capability},code=sm_{capability}"
    return CanarySource(
        files=(_CANARY, *(abi_dir() / name for name in headers)),
        compiler=(*compiler.command, f"-I{abi_dir()}"),
        flags=("-std=c++20", "-O3", code, *_CANARY_FLAGS),
        machine="",
    )


def _support_sources(operation: str) -> tuple[Path, ...]:
    """Return the sources of the target for a library; all of them if its operation is not known here."""
    special = frozenset[str]().union(*_SOURCES_OF.values())
    unneeded = special - _SOURCES_OF.get(operation, special)
    return (
        host_model.SOURCE_DIR / "host_model_support.cpp",
        *(path for path in sorted(SOURCE_DIR.glob("*.cu")) if path.name not in unneeded),
        device_table_source(),
    )


def _capability() -> tuple[int, str]:
    """Return what to compile for, and why that cannot be run here."""
    present = devices()
    if not present:
        return USUAL_CAPABILITY, (
            "no NVIDIA GPU was found, so kernels can be compiled but not run, verified or timed here"
        )
    first = present[0]
    if first.capability < OLDEST_CAPABILITY:
        return USUAL_CAPABILITY, (
            f"{first.name} has compute capability {first.capability // 10}.{first.capability % 10}, "
            f"the kernels need {OLDEST_CAPABILITY // 10}.{OLDEST_CAPABILITY % 10} or newer"
        )
    return first.capability, ""
