"""Compile and run the C++ tests of what the CUDA model computes on the host; no GPU and no nvcc needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FOLDERS = (
    HERE.parent / "include",
    ROOT / "plugins" / "targets" / "cpu" / "include",
    ROOT / "tests" / "plugins" / "targets" / "cpu",
)
FLAGS = ["-std=c++20", "-pthread", "-O1", "-march=native", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiler,
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler found"),
]


def run(*arguments: str | Path) -> str:
    """Run a program and return what it printed; its failure fails the test."""
    done = subprocess.run(
        [str(argument) for argument in arguments], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


def compile_and_run(program: str, folder: Path, *arguments: str | Path) -> str:
    """Compile one test program, with further sources and options, and return what it printed."""
    includes = [f"-I{path}" for path in FOLDERS]
    binary = folder / program
    run(COMPILER or "", *FLAGS, *arguments, *includes, HERE / f"{program}.cpp", "-o", binary)
    return run(binary)


def test_arithmetic(host_model_objects: list[Path], tmp_path: Path) -> None:
    """Divisions, residue classes, windows, descriptors and the walk over tiles against their definitions."""
    assert "arithmetic: ok" in compile_and_run("arithmetic", tmp_path, *host_model_objects)


def test_matrices(tmp_path: Path) -> None:
    """Tiles, tensor maps and types of products of two matrices against their definitions."""
    assert "matrices: ok" in compile_and_run("matrices", tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        "engine_m",
        "depthwise",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("group_weight", "rearranged")),
    ],
)
def test_kernels(program: str, host_model_objects: list[Path], tmp_path: Path) -> None:
    """Kernels of engine M, and those for groups of few channels, thread by thread against definitions."""
    options = ("-O0", f"-I{HERE / 'emulated'}", "-Wno-unknown-pragmas", "-Wno-sign-compare", "-Wno-shadow")
    assert f"{program}: ok" in compile_and_run(program, tmp_path, *options, *host_model_objects)
