"""Compiles the emulated device on first use: a library in place of the HIP runtime."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

from ckprof.errors import ToolchainError
from ckprof.files import write_atomically
from ckprof.kernels.build.digests import digest_parts
from ckprof.kernels.build.ninja_file import ninja_command, run_steps
from ckprof.kernels.build.toolchain import find_compiler
from ckprof.paths import cache_dir
from ckprof.private_folders import lock_file

SOURCE_DIR: Final = Path(__file__).parent / "src"
#: what linkers and loaders know the runtime by
LIBRARY: Final = "libamdhip64.so"
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
    compiler = find_compiler()
    flags = (*_FLAGS, *extra_flags)
    folder = cache_dir() / "emulator" / digest_parts(str(SOURCE_DIR), compiler.identity, *flags)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ToolchainError(f"{folder}: cannot be made: {exc.strerror}") from exc
    with lock_file(folder / "lock"):
        _build(folder, compiler.command, flags)
    return folder / LIBRARY


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
        f"  command = {link_command} -shared -Wl,-soname,{LIBRARY} $in -o $out",
        *(f"build {name}: object {path}" for path, name in objects.items()),
        f"build {LIBRARY}: library {' '.join(objects.values())}",
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
