"""Kernels of a library that share a translation unit: each of them brings the C++ that makes a row."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

import ckprof
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
    unit = tree.root / "unit.cpp"
    unit.write_text(recipe.prefix_header + entries)
    command = (*recipe.compiler.command, *recipe.compile_flags, *recipe.kernel_flags, "-fsyntax-only")
    folders = (f"-I{folder}" for folder in (tree.root, *recipe.include_dirs))
    done = subprocess.run([*command, *folders, str(unit)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
