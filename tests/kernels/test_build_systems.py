"""The generated CMake project: chunks build in parallel, and two directions live in one program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from ckprof.cli.main import main

HAND = (
    *("--instance-spec", "tile=32x32x16,waves=1x1x1,mma=16x16x16,gemm_pipeline=mem,vectors=1,1,1"),
    *("--arch", "gfx942", "--dtype", "fp32", "--ndim", "1,2", "--chunk-size", "1"),
)

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
add_subdirectory(fwd)
add_subdirectory(bwd_data)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE ckprof_conv_fwd_kernels ckprof_conv_bwd_data_kernels)
target_compile_options(user PRIVATE -Wall -Wextra -Werror)
"""

PROGRAM = """
#include <iostream>
#include <stdexcept>

#include "register_bwd_data_kernels.hpp"
#include "register_fwd_kernels.hpp"

int main()
{
    ckprof::registry kernels;
    ckprof::register_fwd_kernels(kernels);
    ckprof::register_bwd_data_kernels(kernels);
    for(const auto& one : kernels)
        std::cout << one.name() << ' ' << one.arch << ' ' << one.field("tile_m") << '\\n';
    const auto forward_2d = kernels.select({{"direction", "fwd"}, {"ndim", "2"}});
    ckprof_problem problem = {};
    problem.ndim           = 2;
    problem.split_k = problem.groups = problem.batch = problem.out_channels = problem.in_channels = 1;
    for(int axis = 0; axis < 2; ++axis)
        problem.filter[axis] = problem.input[axis] = problem.strides[axis] = problem.dilations[axis] = 1;
    std::cout << forward_2d.size() << ' ' << kernels.supporting(problem).size() << ' '
              << (kernels.find(forward_2d[0]->name()) == forward_2d[0]) << '\\n';
    try
    {
        ckprof::register_fwd_kernels(kernels);
    }
    catch(const std::invalid_argument& error)
    {
        std::cout << error.what() << '\\n';
    }
}
"""


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake found")
def test_two_directions_in_one_program(tmp_path, capsys):
    for direction in ("fwd", "bwd_data"):
        assert main(["generate", direction, *HAND, "--build-dir", str(tmp_path / direction)]) == 0
    assert main(["generate", "fwd", *HAND, "--build-dir", str(tmp_path / "bwd_data")]) == 2
    assert "holds the kernels of bwd_data" in capsys.readouterr().err
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "user.cpp").write_text(PROGRAM)
    out = tmp_path / "out"
    subprocess.run(["cmake", "-S", tmp_path, "-B", out], check=True, capture_output=True)
    built = subprocess.run(
        ["cmake", "--build", out, "--parallel", str(os.cpu_count())], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert set(re.findall(r"register_fwd_chunk_\d", built.stdout)) == {
        "register_fwd_chunk_0",
        "register_fwd_chunk_1",
    }
    done = subprocess.run([out / "user"], capture_output=True, text=True, check=True)
    *kernels, found, rejected = done.stdout.splitlines()
    expected = [
        kernel["name"]
        for direction in ("fwd", "bwd_data")
        for kernel in json.loads((tmp_path / direction / "manifest.json").read_text())["kernels"]
    ]
    assert kernels == [f"{name} gfx942 32" for name in expected]
    assert found == "1 2 1"
    assert rejected == f"two kernels with one key: {expected[0]} and {expected[0]}"
    (library,) = out.rglob("libckprof_conv_bwd_data.so")
    line = "2 1 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1"
    assert main(["call", "bwd_data", str(library), "--problem", line]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]
