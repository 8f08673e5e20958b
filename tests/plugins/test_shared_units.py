"""Kernels of a library that share a translation unit: each of them brings the C++ that makes a row."""

import subprocess
from dataclasses import replace

import pytest

import ckprof
from ckprof.kernels.plan import compile_command
from ckprof.kernels.units import Unit
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.targets.cpu.target import CpuTarget


@pytest.mark.compiler
@pytest.mark.parametrize("conf", ["forward/tests/nhwgc_fp16", "gemm/universal/rcr_fp16"])
def test_kernels_compile_together(conf, tmp_path):
    """One that does not compile is divided and compiled again, which nobody would notice."""
    profiler = ckprof.Profiler()
    selection = profiler.instances(ckprof.InstanceQuery(conf=conf))
    two = replace(selection, candidates=selection.candidates[:2])
    tree, _ = profiler.generate(two, ckprof.BuildOptions(build_dir=tmp_path))
    recipe = CpuTarget().recipe(BuildRequest(arch="gfx950", purpose=Purpose.SUPPORT_CHECK))
    entries = "".join(f'#include "{kernel.entry.relative_to(tree.root)}"\n' for kernel in tree.kernels)
    source = tree.root / "unit.cpp"
    source.write_text(recipe.prefix_header + entries)
    unit = Unit(key="k", name="", source=source, root=tree.root)
    command = compile_command(recipe, unit, tmp_path / "unit.o", None)
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
