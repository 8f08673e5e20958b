"""Compiles the emulated device on first use: a library in place of the HIP runtime."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

from ckprof.errors import ToolchainError
from ckprof.files import write_atomically, write_if_changed
from ckprof.kernels.build.digests import digest_parts
from ckprof.kernels.build.ninja_file import ninja_command, run_steps
from ckprof.kernels.build.toolchain import find_compiler
from ckprof.model.architecture import find_architecture
from ckprof.paths import cache_dir
from ckprof.private_folders import lock_file
from ckprof_plugins.targets.cpu.machine import machine_identity
from ckprof_plugins.targets.hip.rocm import RUNTIME_LIBRARY, find_hip_root

SOURCE_DIR: Final = Path(__file__).parent / "src"
#: what can be emulated; the first is what the device is before it knows its kernels
ARCHITECTURES: Final = ("gfx942", "gfx90a", "gfx950")
#: bytes of the device unless set otherwise: more than the host has helps nobody
_MEMORY_BYTES: Final = 16 * 2**30
_FLAGS: Final = (
    *("-std=c++20", "-O3", "-march=native", "-fPIC", "-pthread", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wno-psabi"),
    # each operation rounds by itself, as the instructions of the device do
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)


def emulator_library(extra_flags: tuple[str, ...] = ()) -> Path:
    """Return the library, compiled if it is not yet.

    :param extra_flags: for the compiler and the linker, e.g. those of a sanitizer.
    :raises ToolchainError: no compiler, or it fails.
    """
    command, flags, folder = _plan(extra_flags)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ToolchainError(f"{folder}: cannot be made: {exc.strerror}") from exc
    with lock_file(folder / "lock"):
        write_if_changed(folder / "emulated_devices.inc", _devices())
        _build(folder, command, (*flags, f"-I{folder}"))
    return folder / RUNTIME_LIBRARY


def built_library() -> Path | None:
    """Return the library if it has been compiled here; it may be out of date.

    :raises ToolchainError: no compiler or no HIP headers.
    """
    library = _plan(())[2] / RUNTIME_LIBRARY
    return library if library.is_file() else None


def _plan(extra_flags: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], Path]:
    """Return the compiler, its flags, and the folder of what it makes with them."""
    compiler = find_compiler()
    # structures of the runtime's functions are those that kernels are compiled with
    flags = (*_FLAGS, "-idirafter", str(find_hip_root() / "include"), *extra_flags)
    identity = digest_parts(str(SOURCE_DIR), compiler.identity, machine_identity(compiler), *flags)
    return compiler.command, flags, cache_dir() / "emulator" / identity


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


def _build(folder: Path, command: tuple[str, ...], flags: tuple[str, ...]) -> None:
    sources = sorted(SOURCE_DIR.rglob("*.cpp"))
    objects = {path: "_".join(path.relative_to(SOURCE_DIR).with_suffix(".o").parts) for path in sources}
    compile_command = shlex.join((*command, *flags, "-I", str(SOURCE_DIR))).replace("$", "$$")
    link_command = shlex.join((*command, *flags)).replace("$", "$$")
    lines = [
        "rule object",
        f"  command = {compile_command} -MD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule library",
        f"  command = {link_command} -shared -Wl,-soname,{RUNTIME_LIBRARY} $in "
        # processes that have loaded the one of before keep it
        "-o $out.partial && mv $out.partial $out",
        *(f"build {name}: object {path}" for path, name in objects.items()),
        f"build {RUNTIME_LIBRARY}: library {' '.join(objects.values())}",
    ]
    write_atomically(folder / "build.ninja", "\n".join(lines) + "\n")
    status, tail = run_steps(
        ninja_command(), None, cwd=folder, env={**os.environ, "NINJA_STATUS": "[%f/%t] "}
    )
    if status:
        errors = [line for line in tail if "error" in line] or tail
        raise ToolchainError(
            f"the emulated device does not compile (log: {folder}):\n  " + "\n  ".join(errors[:5])
        )
