"""A library is linked by the compiler, unless the recipe names something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckprof.kernels.keys import FolderDigests, Keys
from ckprof.kernels.plan import link_command
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily

RECIPE = BuildRecipe(
    target="t",
    arch="gfx942",
    api_level="2026-06",
    compiler=Compiler(
        command=("device-compiler", "-x"),
        family=CompilerFamily.GCC,
        version=(1, 0, 0),
        description="",
        identity="1",
    ),
    compile_flags=(),
    link_flags=("-lone",),
    include_dirs=(),
    prefix_header="",
    support_sources=(),
    machine_identity="",
)


def test_the_compiler_links() -> None:
    """With its own flags in front."""
    command = link_command(RECIPE, response_file=Path("objects"), output=Path("out.so"))
    assert command == ("device-compiler", "-x", "-shared", "-o", "out.so", "@objects", "-lone")


def test_another_program_links(tmp_path: Path) -> None:
    """It takes the compiler's place, and its library is another one."""
    recipe = replace(RECIPE, linker=("g++",))
    command = link_command(recipe, response_file=Path("objects"), output=Path("out.so"))
    assert command[:2] == ("g++", "-shared")
    folders = FolderDigests(tmp_path)
    keys = [Keys(one, folders).library("out.so", ("key",)) for one in (RECIPE, recipe)]
    assert keys[0] != keys[1]
