"""What compilers and linker are called with for the CPU target, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.arch.number_formats import has_ocp_float8
from ckprof.model.recipe import CompilerFamily, Purpose

if TYPE_CHECKING:
    from ckprof.arch.architecture import Architecture
    from ckprof.model.recipe import BuildRequest, Compiler

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
_LINK_FLAGS: Final = ("-pthread", "-Wl,-z,defs")


def compile_flags(compiler: Compiler, arch: Architecture, request: BuildRequest) -> tuple[str, ...]:
    """Return what every source is compiled with; the user's own flags come last."""
    return (
        *_FLAGS,
        *_FAMILY_FLAGS[compiler.family],
        *_quirks(compiler),
        # CK Tile's build system defines them, and rounding to bfloat16 depends on one
        *(f"-D{macro}" for macro in arch.macros),
        # the compiler cannot know the encoding of 8-bit floating point from the CPU
        f"-DCK_TILE_USE_OCP_FP8={int(has_ocp_float8(arch))}",
        *request.extra_flags,
    )


def link_flags(request: BuildRequest) -> tuple[str, ...]:
    """Return what the library is linked with."""
    # flags such as -fsanitize=address must be there when linking, too
    return (*_LINK_FLAGS, *request.extra_flags)


def kernel_flags(request: BuildRequest) -> tuple[str, ...]:
    """Return what kernels and their prefix header are compiled with in addition."""
    if request.purpose is Purpose.SUPPORT_CHECK:
        return _ANSWER_FLAGS
    return () if any(flag.startswith("-O") for flag in request.extra_flags) else _KERNEL_FLAGS


def _quirks(compiler: Compiler) -> tuple[str, ...]:
    # zig adds run-time checks unless requested otherwise
    return ("-fno-sanitize=undefined",) if "ziglang" in compiler.command else ()
