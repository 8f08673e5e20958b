"""A tree that is generated with a time model: registry and C interface choose as Python does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.model.kernel_traits import KernelTraits
from ckprof.model.problem import ConvProblem
from ckprof.selection.model_file import model_of, read_document
from ckprof.selection.selector import Candidate, Selector
from ckprof_plugins.directions.gemm_sizes import forward_sizes

TABLE = Path(__file__).parent.parent / "data" / "measured" / "gfx950_fwd_bf16_30kernels_even.csv"

PROGRAM = """
#include <cstdio>

#include "ckprof_conv_api.h"
#include "register_fwd_kernels.hpp"

int main()
{
    ckprof::registry kernels;
    ckprof::register_fwd_kernels(kernels);
    for(int channels = 8; channels <= 2048; channels *= 4)
        for(int image = 1; image <= 256; image *= 4)
        {
            ckprof_problem problem = {};
            problem.ndim           = 2;
            problem.split_k = problem.groups = problem.batch = 1;
            problem.out_channels = problem.in_channels = channels;
            for(int axis = 0; axis < 2; ++axis)
            {
                problem.input[axis] = image;
                problem.filter[axis] = problem.strides[axis] = problem.dilations[axis] = 1;
            }
            const auto* chosen = ckprof::select_fwd_kernel(kernels, problem);
            ConvProblemC same  = {};
            same.N = same.G = same.input_d = same.filter_z = same.filter_y = same.filter_x = 1;
            same.stride_d = same.stride_h = same.stride_w = 1;
            same.dilation_d = same.dilation_h = same.dilation_w = same.split_k = 1;
            same.C = same.K = channels;
            same.input_h = same.input_w = image;
            char name[512] = "none";
            conv_dispatcher_select_kernel(&same, name, sizeof(name));
            std::printf("%d %d %s %s\\n", channels, image, chosen ? chosen->kernel->name : "none", name);
        }
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
add_subdirectory(fwd)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE ckprof_conv_fwd_kernels ckprof_conv_fwd)
"""

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake found"),
]


def _problem(channels: int, image: int) -> ConvProblem:
    return ConvProblem(
        groups=1,
        batch=1,
        out_channels=channels,
        in_channels=channels,
        filter=(1, 1),
        input=(image, image),
        strides=(1, 1),
        dilations=(1, 1),
        left_pads=(0, 0),
        right_pads=(0, 0),
    )


def _traits(name: str) -> KernelTraits:
    """Return the traits of a kernel of the shipped list."""
    query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_bf16")
    for one in ckprof.Profiler().instances(query).candidates:
        if one.name == name:
            return one.pipeline.traits(one.instance.fields())
    raise LookupError(name)


@pytest.mark.slow
def test_registry_and_c_interface_take_the_predicted_best(tmp_path, capsys):
    model_path = tmp_path / "model.json"
    train = ["train", str(TABLE), "--direction", "fwd", "--dtype", "bf16", "--compute-units", "256"]
    assert main([*train, "-o", str(model_path)]) == 0
    tree = tmp_path / "fwd"
    choice = ["generate", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--arch", "gfx950"]
    # tiles 64x64, 128x256 and 16x16
    choice += ["--instance", "2", "--instance", "15", "--instance", "40", "--build-dir", str(tree)]
    assert main([*choice, "--model", str(model_path)]) == 0
    names = [one["name"] for one in json.loads((tree / "manifest.json").read_text())["kernels"]]
    assert len(names) == 3
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "user.cpp").write_text(PROGRAM)
    out = tmp_path / "out"
    subprocess.run(["cmake", "-S", tmp_path, "-B", out], check=True, capture_output=True)
    built = subprocess.run(
        ["cmake", "--build", out, "--parallel", str(os.cpu_count())], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    printed = subprocess.run([out / "user"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    assert len(rows) == 25
    model = model_of(read_document(model_path))
    known = [Candidate(name=name, traits=_traits(name)) for name in names]
    selector = Selector(model, known, forward_sizes)
    for channels, image, registered, answered in rows:
        # all three support such problems
        expected, _ = selector.best(_problem(int(channels), int(image)))
        assert (registered, answered) == (expected, expected)
    assert len({row[2] for row in rows}) >= 2
    # without a model the first one is taken, and the header says so
    assert main(choice) == 0
    header = (tree / "registration" / "register_fwd_kernels.hpp").read_text()
    assert "The first kernel in the order of registration" in header
    assert not (tree / "include" / "ckprof_time_model_fwd.hpp").exists()
    capsys.readouterr()


def test_models_of_others_are_refused(tmp_path, capsys):
    model_path = tmp_path / "model.json"
    train = ["train", str(TABLE), "--direction", "fwd", "--dtype", "bf16", "-o", str(model_path)]
    assert main([*train, "--compute-units", "256"]) == 0
    base = ["--model", str(model_path), "--build-dir", str(tmp_path / "tree")]
    assert main(["generate", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--arch", "gfx942", *base]) == 3
    assert "trained on gfx950" in capsys.readouterr().err
    assert main(["generate", "bwd_data", "--conf", "backward_data/tests/nhwgc_bf16", *base]) == 3
    assert "the model is of fwd, not bwd_data" in capsys.readouterr().err
