"""The table of winners in C++: compiled, and asked for measured problems and others."""

import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from ckprof.model.types import DataType
from ckprof_plugins.consumers.generated_library import FILE, GeneratedLibrary
from ckprof_plugins.consumers.records import ExportRequest, TunedKernel
from ckprof_plugins.operations.gemm.problem import GemmProblem
from tests.convolutions import convolution

PROBLEM = convolution("2 2 3 64 32 3 1 14 15 2 1 1 1 1 0 0 1")
PROGRAM = """
#include <cstdio>
#include "ckprof_winners.hpp"
int main()
{
    ckprof_kernel known{};
    known.key = "@KEY@";
    known.name = "embedded";
    ckprof::registry kernels;
    kernels.add({&known, "gfx942", nullptr, 0});
    const auto say = [&](const char* operation, const char* dtype, const ckprof_problem& problem) {
        const auto* row = ckprof::find_winner(operation, dtype, "nhwgc", problem);
        if(row == nullptr) { std::puts("none"); return; }
        const auto* kernel = ckprof::kernel_of(kernels, *row);
        std::printf("%d %s\\n", row->split_k, kernel ? kernel->kernel->name : "not embedded");
    };
@CALLS@
}
"""


def winner(problem, key, *, direction="bwd_weight", dtype=DataType.FP16, splits=1, time_ms=0.5):
    return TunedKernel(
        direction=direction,
        problem=problem,
        dtype=dtype,
        layout="nhwgc",
        line="",
        source="",
        splits=splits,
        time_ms=time_ms,
        key=key,
    )


def exported(*winners):
    return GeneratedLibrary().export(ExportRequest(winners=winners, arch="gfx942", compute_units=304))


def asked(problem, direction="bwd_weight", dtype="fp16"):
    values = ", ".join(map(str, problem.values()))
    return f"    {{ ckprof_problem p{{}}; const std::int64_t v[] = {{{values}}}; " + (
        "std::copy(std::begin(v), std::end(v), p.values); "
        f'p.split_k = 9; say("{direction}", "{dtype}", p); }}'
    )


@pytest.mark.thorough
@pytest.mark.compiler
def test_a_program_finds_the_fastest_kernel_that_it_embeds(tmp_path):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    other = replace(PROBLEM, batch=4)
    table = exported(
        winner(PROBLEM, "a" * 32, splits=8, time_ms=0.25),
        winner(PROBLEM, "b" * 32, time_ms=0.5),
        winner(other, "c" * 32, splits=2),
        winner(PROBLEM, "d" * 32, direction="fwd", dtype=DataType.BF16),
        winner(GemmProblem(m=8, n=16, k=32), "a" * 32, direction="gemm"),
    )
    assert table.entries == 4
    assert table.left_out == {"a faster winner of the same problem is written": 1}
    (tmp_path / FILE).write_bytes(table.files[FILE])
    calls = [
        asked(PROBLEM),
        asked(other),
        asked(replace(PROBLEM, batch=5)),
        asked(PROBLEM, direction="fwd", dtype="bf16"),
        asked(PROBLEM, dtype="bf16"),
        asked(GemmProblem(m=8, n=16, k=32), direction="gemm"),
    ]
    program = PROGRAM.replace("@KEY@", "a" * 32).replace("@CALLS@", "\n".join(calls))
    (tmp_path / "main.cpp").write_text(program)
    source = Path(str(files("ckprof.kernels")))
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", tmp_path, "-I", source / "embed"]
    built = subprocess.run(
        [
            *map(str, command),
            "-I",
            str(source / "abi"),
            str(tmp_path / "main.cpp"),
            "-o",
            str(tmp_path / "a"),
        ],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    said = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "8 embedded",
        "2 not embedded",
        "none",
        "1 not embedded",
        "none",
        "1 embedded",
    ]


def test_without_winners_there_is_no_table():
    assert exported().files == {}
