"""Compiles the emulated device on first use: a library in place of the HIP runtime."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from ckprof.errors import ToolchainError
from ckprof.files import scratch_folder, write_atomically, write_if_changed
from ckprof.kernels.build_systems import ninja_command, run_steps
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.architecture import find_architecture
from ckprof.paths import CACHE_VARIABLE, cache_dir
from ckprof.private_folders import lock_file
from ckprof_plugins.targets.cpu.machine import machine_identity
from ckprof_plugins.targets.hip.rocm import RUNTIME_LIBRARY, find_hip_root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.model.recipe import Compiler

SOURCE_DIR: Final = Path(__file__).parent / "src"
#: what can be emulated; the first is what the device is before it knows its kernels
ARCHITECTURES: Final = ("gfx942", "gfx90a", "gfx950")
#: seconds of CPU time that compiling takes, roughly
COMPILE_S: Final = 130.0
#: bytes of the device unless set otherwise: more than the host has helps nobody
_MEMORY_BYTES: Final = 16 * 2**30
_FLAGS: Final = (
    *("-std=c++20", "-O3", "-march=native", "-fPIC", "-pthread", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wno-psabi"),
    # each operation rounds by itself, as the instructions of the device do
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)
_PARTIAL: Final = f"{RUNTIME_LIBRARY}.partial"
#: read once for all sources: what many of them include of the standard library
_PREFIX: Final = "standard_library.hpp"
#: what compilers read in its place; both families look for that name
_PRECOMPILED: Final = f"{_PREFIX}.gch"
_PREFIX_TEXT: Final = """\
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
"""
#: what the sources use of the language that older compilers lack
_NEEDED: Final = """\
#include <atomic>
#include <bit>
#include <span>
#include <version>
enum class E { a };
template <E e> auto of() { using enum E; return e == a; }
using V = int __attribute__((vector_size(16)));
V f(V v, int& i)
{
    std::atomic_ref<int>(i).load();
    of<E::a>();
    return __builtin_shufflevector(v, v, 0, 4, 1, 5);
}
"""
_COMPILERS: Final = "g++ 12, clang++ 16 or newer"


def emulator_library(
    extra_flags: tuple[str, ...] = (),
    *,
    jobs: int | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """Return the library, compiled if it is not yet.

    :param extra_flags: for the compiler and the linker, e.g. those of a sanitizer.
    :param jobs: compilers at once, by default one per CPU.
    :param on_progress: called with steps done, all steps and the name of the step that has just ended.
    :raises ToolchainError: no compiler, it fails, or there is no space.
    """
    compiler, flags, folder = _plan(extra_flags)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / "lock"):
            write_if_changed(folder / "emulated_devices.inc", _devices())
            write_if_changed(folder / _PREFIX, _PREFIX_TEXT)
            _write_ninja_file(shlex.join((*compiler.command, *flags, f"-I{folder}")), folder)
            status, output = _build(folder, jobs, on_progress)
    except OSError as exc:
        raise _no_room(folder, exc.strerror) from exc
    if status:
        _explain(compiler, folder, output)
    return folder / RUNTIME_LIBRARY


def library_path() -> Path:
    """Return where the library is, or will be.

    :raises ToolchainError: no compiler or no HIP headers.
    """
    return _plan(())[2] / RUNTIME_LIBRARY


def _plan(extra_flags: tuple[str, ...]) -> tuple[Compiler, tuple[str, ...], Path]:
    """Return how the library is compiled, and the folder of what becomes of it."""
    compiler = find_compiler()
    # structures of the runtime's functions are those that kernels are compiled with
    flags = (*_FLAGS, "-idirafter", str(find_hip_root() / "include"), *extra_flags)
    identity = digest_parts(str(SOURCE_DIR), compiler.identity, machine_identity(compiler), *flags)
    return compiler, flags, cache_dir() / "emulator" / identity


def _devices() -> str:
    """Return what devices are said to be, as initialisers of C++."""
    rows = []
    for arch in ARCHITECTURES:
        known = find_architecture(arch)
        clock = known.machine.clock_mhz if known.machine else 0
        rows.append(
            f'{{"{arch}", {known.compute_units}, {clock}, {known.lds_bytes}, {known.lanes_per_wave}, '
            f"{_MEMORY_BYTES}}},\n"
        )
    return "".join(rows)


def _build(
    folder: Path, jobs: int | None, on_progress: Callable[[int, int, str], None] | None
) -> tuple[int, list[str]]:
    """Return how the compilers ended, and what they have printed."""
    command = (*ninja_command(), *(("-j", str(jobs)) if jobs else ()))
    output: list[str] = []
    try:
        # compilers leave what they have not finished there
        with scratch_folder() as temporary:
            environment = {**os.environ, "NINJA_STATUS": "[%f/%t] ", "TMPDIR": str(temporary)}
            status, _ = run_steps(command, on_progress, cwd=folder, env=environment, keep=output.append)
    finally:
        (folder / _PARTIAL).unlink(missing_ok=True)
    return status, output


def _write_ninja_file(command: str, folder: Path) -> None:
    sources = sorted(SOURCE_DIR.rglob("*.cpp"))
    objects = {path: "_".join(path.relative_to(SOURCE_DIR).with_suffix(".o").parts) for path in sources}
    compile_command = f"{command} {shlex.join(('-I', str(SOURCE_DIR)))}".replace("$", "$$")
    link_command = command.replace("$", "$$")
    lines = [
        "rule prefix",
        f"  command = {compile_command} -x c++-header $in -o $out",
        "  description = the standard library",
        "rule object",
        f"  command = {compile_command} -include {_PREFIX} -MD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "  description = $name",
        "rule library",
        f"  command = {link_command} -shared -Wl,-soname,{RUNTIME_LIBRARY} $in "
        # processes that have loaded the one of before keep it
        f"-o {_PARTIAL} && mv {_PARTIAL} $out",
        "  description = linking",
        f"build {_PRECOMPILED}: prefix {_PREFIX}",
    ]
    for path, name in objects.items():
        lines += [f"build {name}: object {path} | {_PRECOMPILED}", f"  name = {path.relative_to(SOURCE_DIR)}"]
    lines.append(f"build {RUNTIME_LIBRARY}: library {' '.join(objects.values())}")
    write_atomically(folder / "build.ninja", "\n".join(lines) + "\n")


def _no_room(folder: Path, why: str | None) -> ToolchainError:
    return ToolchainError(
        f"{folder}: the emulated device cannot be kept there: {why}; make room, or name another folder with "
        f"{CACHE_VARIABLE}"
    )


def _explain(compiler: Compiler, folder: Path, output: Sequence[str]) -> NoReturn:
    """Say why it does not compile.

    :raises ToolchainError: always.
    """
    text = "\n".join(output)
    if os.strerror(errno.ENOSPC) in text:
        raise _no_room(folder, os.strerror(errno.ENOSPC))
    probe = subprocess.run(
        [*compiler.command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"],
        input=_NEEDED,
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode:
        raise ToolchainError(
            f"{' '.join(compiler.command)} ({compiler.description}) does not know the C++20 that the "
            f"emulated device is written in; install {_COMPILERS} and name it with CXX"
        )
    errors = [line for line in output if "error" in line] or list(output)
    raise ToolchainError(
        f"the emulated device does not compile (folder: {folder}):\n  " + "\n  ".join(errors[:5])
    )
