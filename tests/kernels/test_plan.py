"""A library is linked by the compiler, unless the recipe names something else."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.kernels import compile_step, plan
from ckprof.kernels.plan import PrefixHeader, compile_command, link_command
from ckprof.kernels.step import StepFiles
from ckprof.kernels.units import Unit
from tests.kernels.toys import RECIPE, compiled


def test_the_compiler_or_another_program_links():
    # With its own flags in front.
    command = link_command(RECIPE, response_file=Path("objects"), output=Path("out.so"))
    assert command == ("device-compiler", "-x", "-shared", "-o", "out.so", "@objects", "-lone")
    # It takes the compiler's place.
    recipe = replace(RECIPE, linker=("g++",))
    command = link_command(recipe, response_file=Path("objects"), output=Path("out.so"))
    assert command[:2] == ("g++", "-shared")


def test_an_uncompilable_prefix_header_is_read_as_text(make_tree, make_recipe, fake_compiler, build, calls):
    recipe = make_recipe(fake_compiler("if 'c++-header' in args: sys.exit(1)"))
    result = build(make_tree(4), recipe)
    assert result.failures == {} and result.summary.compiled == 4
    lines = calls()
    assert sum("c++-header" in line for line in lines) == 1
    assert all("-include" in line for line in lines if "kernels/" in line)


def test_a_compiler_that_cannot_precompile_is_not_asked_to(
    make_tree, make_recipe, fake_compiler, build, calls
):
    recipe = make_recipe(replace(fake_compiler(), precompiles=False))
    assert build(make_tree(4), recipe).summary.compiled == 4
    assert not any("c++-header" in line for line in calls())


def test_a_library_of_unknown_content_is_linked_again(make_tree, make_recipe, fake_compiler, build, calls):
    tree, recipe = make_tree(1), make_recipe(fake_compiler())
    built = build(tree, recipe).library
    assert plan.LibraryFile(build.work_dir, "tiny").path == built
    (build.work_dir / "libtiny.key.json").unlink()
    calls()
    assert build(tree, recipe).summary.from_cache == 1
    assert compiled(calls) == []


@pytest.mark.compiler
def test_a_kernel_reads_the_precompiled_header_instead_of_the_text(
    make_tree, make_recipe, compiler, cache, tmp_path
):
    tree, recipe = make_tree(1), make_recipe(compiler)
    if not compiler.precompiles:
        pytest.skip("the compiler cannot precompile")
    prefix = PrefixHeader(recipe, cache, "key")
    prefix.write()
    assert not prefix.is_ready()
    step = prefix.step(tmp_path)
    files = StepFiles(tmp_path)
    files.write([step], 60)
    subprocess.run([sys.executable, compile_step.__file__, str(files.spec(step.id))], check=True)
    assert prefix.is_ready()
    # of the same size, which is all that clang looks at
    text = "#error read as text"
    prefix.header.write_text(text.ljust(prefix.header.stat().st_size - 1) + "\n")
    unit = Unit(key="k", name="", source=tree.kernels[0].entry, root=tree.root)
    command = compile_command(recipe, unit, tmp_path / "a.o", prefix)
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    prefix.precompiled.unlink()
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    assert "read as text" in done.stderr
