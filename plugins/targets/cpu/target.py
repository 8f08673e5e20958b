"""The CPU target: CK Tile kernels against the host model that ships with ckprof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.arch.architectures import find_architecture
from ckprof.build.keys import abi_dir
from ckprof.build.toolchain import find_compiler
from ckprof.errors import ToolchainError, UsageError
from ckprof.model.api_level import API_LEVEL_2025_07, API_LEVELS, LATEST_API_LEVEL
from ckprof.model.recipe import BuildRecipe, CompilerFamily, Purpose
from ckprof_plugins.targets.cpu import doctor
from ckprof_plugins.targets.cpu.machine import machine_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.finding import Finding
    from ckprof.model.recipe import BuildRequest, Compiler

#: devices that the host model answers for
ARCHS: Final = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1201")
DEFAULT_ARCH: Final = "gfx950"

_HERE: Final = Path(__file__).parent
INCLUDE_DIR: Final = _HERE / "include"
#: API level -> headers that differ from those of the latest one, searched first
LEVEL_INCLUDE_DIRS: Final = {API_LEVEL_2025_07: _HERE / "include_2025_07"}
SOURCE_DIR: Final = _HERE / "src"

PREFIX_HEADER: Final = """\
#include <cstdint>
#include <functional>
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
#: nothing is launched, so launchers need not be compiled
_ANSWER_FLAGS: Final = ("-O0", "-DCKPROF_SUPPORT_ONLY")
_ANSWERS_PER_UNIT: Final = 16
#: measured: 280 MB with g++ 12, less with clang++ 14
_COMPILE_MEMORY: Final = 400 * 2**20
_LINK_FLAGS: Final = ("-pthread", "-Wl,-z,defs")
#: CK Tile's build system sets this for the device, and rounding to bfloat16 depends on it
ARCH_FLAGS: Final = {"gfx950": ("-DCK_GFX950_SUPPORT",)}


class CpuTarget:
    """Builds generated kernels against the host model and runs them on this machine's CPU."""

    @property
    def id(self) -> str:
        """What users type with ``--target``."""
        return "cpu"

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""
        return "CPU of this machine, modelling an AMD GPU"

    @property
    def embedded(self) -> bool:
        """Kernels run without any device."""
        return True

    @property
    def default_arch(self) -> str:
        """The device that is modelled without ``--arch``."""
        return DEFAULT_ARCH

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``."""
        return doctor.findings(INCLUDE_DIR)

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for the CPU.

        :raises ToolchainError: no usable compiler, or the host model is not installed.
        :raises UsageError: the host model does not know the device.
        """
        base = request.arch.partition(":")[0]
        if request.sources_only:
            find_architecture(base)
        elif base not in ARCHS:
            raise UsageError(f"--arch {request.arch}: the CPU target models {', '.join(ARCHS)}")
        if not (INCLUDE_DIR / "ck_tile" / "core.hpp").is_file():
            raise ToolchainError(f"{INCLUDE_DIR}: the host model's headers are missing; reinstall ckprof")
        level = request.api_level or LATEST_API_LEVEL
        if level not in API_LEVELS:
            raise UsageError(f"--api-level {level}: the CPU target models {', '.join(API_LEVELS)}")
        own = (LEVEL_INCLUDE_DIRS[level],) if level in LEVEL_INCLUDE_DIRS else ()
        compiler = find_compiler(request.compiler)
        return BuildRecipe(
            target=self.id,
            arch=request.arch,
            api_level=level,
            compiler=compiler,
            compile_flags=(
                *_FLAGS,
                *_FAMILY_FLAGS[compiler.family],
                *_quirks(compiler),
                *ARCH_FLAGS.get(base, ()),
                *request.extra_flags,
            ),
            kernel_flags=_kernel_flags(request),
            functions_per_unit=_ANSWERS_PER_UNIT if request.purpose is Purpose.SUPPORT_CHECK else 1,
            # flags such as -fsanitize=address must be there when linking, too
            link_flags=(*_LINK_FLAGS, *request.extra_flags),
            include_dirs=(*own, INCLUDE_DIR, abi_dir()),
            prefix_header=PREFIX_HEADER,
            support_sources=tuple(sorted(SOURCE_DIR.glob("*.cpp"))),
            machine_identity=machine_identity(compiler),
            compile_memory_bytes=_COMPILE_MEMORY,
        )


def _kernel_flags(request: BuildRequest) -> tuple[str, ...]:
    if request.purpose is Purpose.SUPPORT_CHECK:
        return _ANSWER_FLAGS
    return () if any(flag.startswith("-O") for flag in request.extra_flags) else _KERNEL_FLAGS


def _quirks(compiler: Compiler) -> tuple[str, ...]:
    # zig adds run-time checks unless told otherwise
    return ("-fno-sanitize=undefined",) if "ziglang" in compiler.command else ()
