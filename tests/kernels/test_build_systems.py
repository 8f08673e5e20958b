"""Ninja and CMake are told what to do; what they do, and how they fail, is told on."""

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from ckprof.cli.main import main
from ckprof.errors import ToolchainError
from ckprof.kernels import build_systems, compile_step
from ckprof.kernels.step import Step, StepFiles
from tests import cmake_project
from tests.kernels.toys import RECIPE

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


def step(name, command, root, **changes):
    values = {"output": root / f"{name}.o", "final": root / name, "stamp": str(root / f"{name}.stamp")}
    return Step(id=name, name=f"{name} $x", command=("sh", "-c", command), cwd=root, **{**values, **changes})


def test_every_step_is_an_edge_that_waits_for_others(tmp_path):
    files = StepFiles(tmp_path)
    steps = [step("a", "true", tmp_path), step("b", "true", tmp_path, after=("a", "c"))]
    lines = build_systems.render(steps, files).splitlines()
    command = f"{sys.executable} -I -S {compile_step.__file__} $in"
    assert lines[2:5] == ["rule step", f"  command = {command}", "  description = $name"]
    assert lines[6:] == [
        "build steps/a.json: step steps/a.spec",
        "  name = a $$x",
        "build steps/b.json: step steps/b.spec || steps/a.json steps/c.json",
        "  name = b $$x",
    ]


def test_ninja_does_what_can_be_done(tmp_path):
    """A step that fails ends no other; those that wait for it have nothing to wait for any more."""
    files, told = StepFiles(tmp_path), []
    steps = [
        step("a", "echo a > a.o", tmp_path),
        step("bad", "exit 3", tmp_path),
        step("b", "cat a > b.o", tmp_path, after=("a",)),
        step("c", "echo c > c.o", tmp_path, after=("bad",)),
    ]
    files.write(steps, 60)
    (tmp_path / "build.ninja").write_text(build_systems.render(steps, files))
    build_systems.run(tmp_path, 2, lambda *progress: told.append(progress))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "a\n"
    assert (files.result("bad").code, files.result("c")) == (3, None)
    assert {(total, name) for _, total, name in told} == {(4, "a $x"), (4, "bad $x"), (4, "b $x")}
    assert [done for done, _, _ in told] == [1, 2, 3]


def test_ninja_that_cannot_work_is_named_with_its_last_lines(tmp_path):
    rule = "rule kill\n  command = echo last words; kill -9 $$PPID\n  description = killing\nbuild x: kill\n"
    (tmp_path / "build.ninja").write_text(rule)
    with pytest.raises(ToolchainError, match="ninja failed with exit status -9:\n"):
        build_systems.run(tmp_path, 1, None)
    # what ninja cannot read or write ends with the status of a failed step
    (tmp_path / "build.ninja").write_text("build x: absent\n")
    with pytest.raises(ToolchainError, match=r"ninja failed with exit status 1:\n(.*\n)*.*unknown"):
        build_systems.run(tmp_path, 1, None)
    with pytest.raises(ToolchainError, match=r"ninja cannot be started: .*absent"):
        build_systems.run(tmp_path / "absent", 1, None)


def test_steps_end_with_who_waits_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(build_systems, "_STOP_S", 0.2)
    started = tmp_path / "started"
    command = ("sh", "-c", f"echo $$ > {started}; echo '[1/2] one'; sleep 60")

    def interrupt(*_):
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        build_systems.run_steps(command, interrupt)
    assert time.monotonic() - begun < 30
    assert not psutil.pid_exists(int(started.read_text()))


def test_the_last_lines_are_kept_and_all_are_told():
    lines = []
    status, tail = build_systems.run_steps(("sh", "-c", "seq 30; exit 5"), None, keep=lines.append)
    assert (status, tail) == (5, [str(number) for number in range(11, 31)])
    assert lines == [str(number) for number in range(1, 31)]


@pytest.fixture
def tree(tmp_path):
    return SimpleNamespace(root=tmp_path / "tree", library_name="tiny")


def test_cmake_is_told_of_the_recipe_and_its_library_is_found(tree, fake_cmake, tmp_path):
    asked, told = fake_cmake("libtiny.so"), []
    recipe = replace(RECIPE, include_dirs=(tmp_path / "ck",), location_flags=("-Lone", "-Ltwo"))
    progress = {"jobs": 1, "on_progress": lambda *args: told.append(args)}
    assert build_systems.build_with_cmake(tree, recipe, **progress) == tree.root / "out" / "libtiny.so"
    assert asked() == [
        *("-S", str(tree.root), "-B", str(tree.root / "out"), "-G", "Ninja"),
        f"-DCMAKE_MAKE_PROGRAM={build_systems.ninja_command()[0]}",
        "-DCMAKE_CXX_COMPILER=device-compiler",
        "-DCMAKE_CXX_FLAGS=-Lone -Ltwo",
        f"-DCK_TILE_INCLUDE_DIR={tmp_path / 'ck'}",
        "-DCKPROF_NATIVE=OFF",
    ]
    assert told == [(1, 1, "making libtiny.so")]
    build_systems.build_with_cmake(tree, replace(RECIPE, compile_flags=("-march=native",)), **progress)
    assert "-DCKPROF_NATIVE=ON" in asked() and f"-DCK_TILE_INCLUDE_DIR={tree.root}" in asked()


@pytest.mark.parametrize(
    ("made", "behaviour", "message"),
    [
        ("touch $out", "print('no C++'); sys.exit(1)", "configuring with CMake failed:\n  no C\\+\\+"),
        ("echo wrong; exit 2", "pass", "building with CMake failed:\n(?s:.*)  wrong"),
    ],
)
def test_what_fails_with_cmake_is_told(tree, fake_cmake, made, behaviour, message):
    fake_cmake("libtiny.so", made, behaviour)
    with pytest.raises(ToolchainError, match=message):
        build_systems.build_with_cmake(tree, RECIPE, jobs=1, on_progress=lambda *_: None)


def test_without_cmake_or_without_a_library(tree, fake_cmake, monkeypatch):
    fake_cmake("other.so")
    with pytest.raises(ToolchainError, match=r"out: CMake has built no libtiny\.so"):
        build_systems.build_with_cmake(tree, RECIPE, jobs=1, on_progress=lambda *_: None)
    monkeypatch.setenv("PATH", str(tree.root))
    with pytest.raises(ToolchainError, match="cmake is missing; install it with 'pip install cmake'"):
        build_systems.build_with_cmake(tree, RECIPE, jobs=1, on_progress=lambda *_: None)


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake found")
def test_two_directions_in_one_program(tmp_path, capsys):
    for direction in ("fwd", "bwd_data"):
        assert main(["generate", direction, *HAND, "--build-dir", str(tmp_path / direction)]) == 0
    assert main(["generate", "fwd", *HAND, "--build-dir", str(tmp_path / "bwd_data")]) == 2
    assert "holds the kernels of bwd_data" in capsys.readouterr().err
    printed_by_cmake = cmake_project.build(tmp_path, PROJECT, Path(__file__).with_name("two_directions.cpp"))
    out = tmp_path / "out"
    assert set(re.findall(r"register_fwd_chunk_\d", printed_by_cmake)) == {
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
