"""The example of a program that embeds kernels: generated, installed, found by CMake, built and run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ckprof.cli.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "embed"
#: one small kernel that supports the example's problem
KERNEL = (
    *("--instance-spec", "tile=32x32x16,waves=1x1x1,mma=16x16x16,gemm_pipeline=mem,vectors=1,1,1"),
    *("--arch", "gfx942", "--dtype", "fp32", "--ndim", "2"),
)

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake found")


def call(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree") / "kernels"
    assert main(["generate", "fwd", *KERNEL, "--build-dir", str(folder), "-q"]) == 0
    return folder


def test_nothing_is_compiled_for_this_machine_alone_unless_asked(tree):
    text = (tree / "CMakeLists.txt").read_text()
    assert text.count("-march=native") == 1
    before, _, _ = text.partition("-march=native")
    assert before.rstrip().splitlines()[-2:][0] == "if(CKPROF_NATIVE)"
    assert "option(CKPROF_NATIVE" in text and " OFF)" in text


def test_flags_that_the_user_names_stay(tmp_path):
    folder = tmp_path / "kernels"
    chosen = ["--compiler", "g++", "--build-dir", str(folder), "-q"]
    assert main(["generate", "fwd", *KERNEL, *chosen]) == 0
    assert (folder / "CMakeLists.txt").read_text().count("-ffp-contract=fast") == 3


@needs_cmake
@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("native", ["OFF", "ON"])
def test_the_example_finds_the_installed_library_and_runs(tree, tmp_path, native):
    out, prefix = tmp_path / "out", tmp_path / "prefix"
    call("cmake", "-S", tree, "-B", out, f"-DCKPROF_NATIVE={native}")
    call("cmake", "--build", out, "--parallel", os.cpu_count())
    call("cmake", "--install", out, "--prefix", prefix)
    # what is installed does not need what it was built from
    shutil.rmtree(out)
    moved = tmp_path / "elsewhere"
    prefix.rename(moved)
    call("cmake", "-S", EXAMPLE, "-B", tmp_path / "user", f"-DCMAKE_PREFIX_PATH={moved}")
    call("cmake", "--build", tmp_path / "user")
    said = call(tmp_path / "user" / "embed").splitlines()
    assert said[0] == "1 kernels, 1 support the problem"
    assert said[1].startswith("chosen: grouped_conv_fwd_fp32_nhwgc_2d_mem")
    assert said[2:] == ["output in the middle: 36, expected 36", "timed: yes"]


@needs_cmake
@pytest.mark.slow
@pytest.mark.compiler
def test_the_shared_library_is_found_as_well(tree, tmp_path):
    call("cmake", "-S", tree, "-B", tmp_path / "out")
    call("cmake", "--build", tmp_path / "out", "--parallel", os.cpu_count())
    call("cmake", "--install", tmp_path / "out", "--prefix", tmp_path / "prefix")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(user LANGUAGES C CXX)\n"
        "find_package(ckprof_conv_fwd 0.1.0 REQUIRED)\n"
        "add_executable(user user.c)\n"
        "target_link_libraries(user PRIVATE ckprof::ckprof_conv_fwd)\n"
    )
    (tmp_path / "user.c").write_text(
        '#include <stdio.h>\n#include "ckprof_conv_api.h"\n'
        'int main(void) { printf("%d\\n", conv_dispatcher_get_kernel_count()); return 0; }\n'
    )
    call("cmake", "-S", tmp_path, "-B", tmp_path / "user", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    call("cmake", "--build", tmp_path / "user")
    assert call(tmp_path / "user" / "user") == "1\n"
