"""How kernels are compiled and linked for the CPU, against the host model and its table of devices."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, UsageError
from ckprof.files import write_if_changed
from ckprof.kernels.keys import abi_dir, digest_parts
from ckprof.kernels.toolchain import find_compiler, is_zig
from ckprof.model.architecture import (
    API_LEVEL_2025_07,
    API_LEVEL_2025_11,
    API_LEVELS,
    LATEST_API_LEVEL,
    architectures,
    find_architecture,
)
from ckprof.model.recipe import BuildRecipe, CompilerFamily, Purpose
from ckprof.model.types import DataType, has_ocp_float8
from ckprof.paths import CACHE_VARIABLE, cache_dir
from ckprof.version import __version__
from ckprof_plugins.targets.cpu.machine import check_bf16_unit, machine_identity
from ckprof_plugins.targets.cpu.target import DEFAULT_ARCH, INCLUDE_DIR, SOURCE_DIR

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.architecture import Architecture
    from ckprof.model.recipe import BuildRequest, Compiler


def device_table_source() -> Path:
    """Return a C++ source with a row for every known architecture, written below the cache folder.

    Its folder is named after the content, so that libraries of other records are not disturbed.

    :raises ToolchainError: the cache folder cannot be written.
    """
    table = architectures()
    rows = [_row(arch) for arch in table.values()]
    initial = list(table).index(DEFAULT_ARCH)
    digest = digest_parts(__version__, repr(rows), str(initial))
    path = cache_dir() / "host-model" / digest / "device_table.cpp"
    if not path.is_file():
        from ckprof.kernels.jinja import render  # late: a warm run needs no template

        text = render(__package__, "device_table.cpp.j2", version=__version__, records=rows, initial=initial)
        try:
            write_if_changed(path, text)
        except OSError as exc:
            raise ToolchainError(
                f"{path}: cannot be written ({exc.strerror}); set {CACHE_VARIABLE} to a folder that can be"
            ) from exc
    return path


def _row(arch: Architecture) -> str:
    """Return the members of ``device_record`` as C++ text."""
    from ckprof.kernels.c_interface import string_literal

    capabilities = "".join(f"{capability} " for capability in sorted(arch.capabilities))
    members = (
        string_literal(arch.name),
        str(arch.compute_units),
        str(arch.lanes_per_wave),
        str(arch.lds_bytes),
        str(arch.simds_per_cu * arch.waves_per_simd),
        string_literal(capabilities),
    )
    return ", ".join(members)


_FLAGS: Final = (
    "-std=c++20",
    "-O3",
    "-march=native",
    # the same in both families, whatever their defaults
    "-ffp-contract=fast",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-Wall",
    "-Wextra",
    # get_instance_string() of generated launchers
    "-DCK_EXPERIMENTAL_BUILDER",
)
_FAMILY_FLAGS: Final = {
    # vectors never cross the border of a library, so their calling convention does not matter
    CompilerFamily.GCC: ("-Wno-psabi",),
    CompilerFamily.CLANG: ("-Wno-psabi", "-Wno-unused-command-line-argument"),
}
#: the loops that take the time are in the support sources; a kernel only chooses among them
_KERNEL_FLAGS: Final = ("-O1",)
_OCP_FLOAT8: Final = "CK_TILE_USE_OCP_FP8"
#: nothing is launched, so launchers need not be compiled
_ANSWER_FLAGS: Final = ("-O0", "-DCKPROF_SUPPORT_ONLY")
_LINK_FLAGS: Final = ("-pthread", "-Wl,-z,defs")


def compile_flags(compiler: Compiler, request: BuildRequest) -> tuple[str, ...]:
    """Return what every source is compiled with, for all architectures; the user's own flags come last."""
    quirks = ("-fno-sanitize=undefined",) if is_zig(compiler.command) else ()
    return (*_FLAGS, *_FAMILY_FLAGS[compiler.family], *quirks, *request.extra_flags)


def link_flags(request: BuildRequest) -> tuple[str, ...]:
    """Return what the library is linked with."""
    # flags such as -fsanitize=address must be there when linking, too
    return (*_LINK_FLAGS, *request.extra_flags)


def kernel_flags(arch: Architecture, request: BuildRequest) -> tuple[str, ...]:
    """Return what kernels and their prefix header are compiled with in addition.

    Macros of the architecture are among it: what kernels are linked with is told how they round, and takes
    long to compile. One that the user's flags name is left to them.
    """
    macros = {
        # CK Tile's build system defines them, and rounding to bfloat16 depends on one
        **{macro: f"-D{macro}" for macro in arch.macros},
        # the compiler cannot know the encoding of 8-bit floating point from the CPU
        _OCP_FLOAT8: f"-D{_OCP_FLOAT8}={int(has_ocp_float8(arch))}",
    }
    users = request.extra_flags
    defined = tuple(flag for macro, flag in macros.items() if not any(macro in word for word in users))
    if request.purpose is Purpose.SUPPORT_CHECK:
        return (*defined, *_ANSWER_FLAGS)
    return (*defined, *(() if any(flag.startswith("-O") for flag in users) else _KERNEL_FLAGS))


#: API level -> headers that differ from those of the latest one, searched first
LEVEL_INCLUDE_DIRS: Final = {
    level: INCLUDE_DIR.with_name(f"include_{level.replace('-', '_')}")
    for level in (API_LEVEL_2025_07, API_LEVEL_2025_11)
}

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

#: what kernels compute: the one source that takes long, and that nothing needs which only answers
_BLOCKS: Final = "host_model_blocks.cpp"
_ANSWERS_PER_UNIT: Final = 16
#: measured: 280 MB with g++ 12, less with clang++ 14
_COMPILE_MEMORY: Final = 400 * 2**20
#: two multiply-adds of 16 values per cycle, at a clock that no processor reaches with them
_MOST_FLOPS_PER_CPU: Final = 2 * 2 * 16 * 6e9


def recipe(request: BuildRequest) -> BuildRecipe:
    """Return how to compile and link for the CPU.

    :raises ToolchainError: no usable compiler, or the host model is not installed.
    :raises UsageError: there is no such architecture or API level, or the environment asks for what the model
        does not have.
    """
    check_bf16_unit()
    arch = find_architecture(request.arch)
    if not (INCLUDE_DIR / "ck_tile" / "core.hpp").is_file():
        raise ToolchainError(f"{INCLUDE_DIR}: the host model's headers are missing; reinstall ckprof")
    level = request.api_level or LATEST_API_LEVEL
    if level not in API_LEVELS:
        raise UsageError(f"--api-level {level}: the CPU target models {', '.join(API_LEVELS)}")
    level_dirs = (LEVEL_INCLUDE_DIRS[level],) if level in LEVEL_INCLUDE_DIRS else ()
    compiler = find_compiler(request.compiler)
    return BuildRecipe(
        target="cpu",
        arch=request.arch,
        api_level=level,
        compiler=compiler,
        compile_flags=compile_flags(compiler, request),
        kernel_flags=kernel_flags(arch, request),
        functions_per_unit=_ANSWERS_PER_UNIT if request.purpose is Purpose.SUPPORT_CHECK else 1,
        link_flags=link_flags(request),
        include_dirs=(*level_dirs, INCLUDE_DIR, abi_dir()),
        prefix_header=PREFIX_HEADER,
        support_sources=_support_sources(request),
        machine_identity=machine_identity(compiler),
        compile_memory_bytes=_COMPILE_MEMORY,
        # every type is multiplied as fp32
        peak_flops=tuple((dtype, (os.cpu_count() or 1) * _MOST_FLOPS_PER_CPU) for dtype in DataType),
    )


def _support_sources(request: BuildRequest) -> tuple[Path, ...]:
    answers = request.purpose is Purpose.SUPPORT_CHECK
    sources = (path for path in sorted(SOURCE_DIR.glob("*.cpp")) if not (answers and path.name == _BLOCKS))
    return (*sources, device_table_source())
