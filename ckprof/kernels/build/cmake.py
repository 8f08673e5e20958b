"""Builds a generated tree with CMake, as programs that embed kernels do."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.kernels.build.jobs import job_count
from ckprof.kernels.build.ninja_file import ninja_command, run_steps
from ckprof.kernels.source.embedding import NATIVE_FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ckprof.kernels.source.source_tree import SourceTree
    from ckprof.model.recipe import BuildRecipe

#: folder of the build below the root of the tree
FOLDER: Final = "out"


def build_with_cmake(
    tree: SourceTree,
    recipe: BuildRecipe,
    *,
    jobs: int | None,
    on_progress: Callable[[int, int, str], None],
) -> Path:
    """Configure and build a tree, and return the shared library.

    :param tree: written with what other build systems need.
    :param recipe: whose compiler and headers are used.
    :param jobs: compilers at once, ``None`` for one per usable CPU; in any case bounded by free memory.
    :param on_progress: called with steps done, all steps and what is being done.
    :raises ToolchainError: there is no CMake, or the build fails.
    """
    cmake = shutil.which("cmake")
    if cmake is None:
        raise ToolchainError(
            "cmake is missing; install it with 'pip install cmake' or 'apt-get install cmake'"
        )
    out = tree.root / FOLDER
    headers = next(iter(recipe.include_dirs), tree.root)
    _run(
        (
            cmake,
            *("-S", str(tree.root), "-B", str(out), "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={ninja_command()[0]}",
            f"-DCMAKE_CXX_COMPILER={recipe.compiler.command[0]}",
            # what only says where something lies on this machine is no part of the tree
            f"-DCMAKE_CXX_FLAGS={' '.join(recipe.location_flags)}",
            f"-DCK_TILE_INCLUDE_DIR={headers}",
            # it is to run here
            f"-DCKPROF_NATIVE={'ON' if NATIVE_FLAGS.intersection(recipe.compile_flags) else 'OFF'}",
        ),
        "configuring",
        on_progress,
    )
    count = job_count(jobs, recipe.compile_memory_bytes)
    # not through cmake, which would leave ninja behind when it is ended
    _run((*ninja_command(), "-C", str(out), "-j", str(count)), "building", on_progress)
    library = out / f"lib{tree.library_name}.so"
    if not library.is_file():
        raise ToolchainError(f"{out}: CMake has built no {library.name}")
    return library


def _run(command: Sequence[str], what: str, on_progress: Callable[[int, int, str], None]) -> None:
    try:
        status, tail = run_steps(command, on_progress)
    except OSError as exc:
        raise ToolchainError(f"cmake cannot be started: {exc}") from exc
    if status != 0:
        shown = "\n  ".join(tail)
        raise ToolchainError(f"{what} with CMake failed:\n  {shown}")
