"""A tree that is generated with a time model: registry and C interface choose as Python does."""

import ctypes
import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.kernels.c_interface import kernel_symbol
from ckprof.testing import registry_with
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.tuning.model_use import gemm_sizes_of
from ckprof_plugins.tuning.time_model.model_file import read_model
from ckprof_plugins.tuning.time_model.selector import Selector
from plugins.tuning.tests.sizes import forward_sizes
from tests import cmake_project
from tests.convolutions import convolution
from tests.places import TESTS

HERE = Path(__file__).parent
TABLE = TESTS / "data" / "measured" / "gfx950_fwd_bf16_30kernels_even.csv"


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


def _problem(channels, image):
    return convolution(f"2 1 1 {channels} {channels} 1 1 {image} {image} 1 1 1 1 0 0 0 0")


def _traits(name):
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
    cmake_project.build(tmp_path, PROJECT, HERE / "registered_and_answered.cpp")
    out = tmp_path / "out"
    printed = subprocess.run([out / "user"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    assert len(rows) == 25
    model = read_model(model_path)
    known = {name: _traits(name) for name in names}
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


def _product(number, tile):
    return {
        **{"id": number, "tile_m": tile, "tile_n": tile, "tile_k": 16, "warp_m": 2, "warp_n": 2, "warp_k": 1},
        **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "compv3"},
        **{"scheduler": "intrawave", "epilogue": "default", "pad_m": True, "pad_n": True, "pad_k": True},
    }


@pytest.mark.thorough
def test_a_library_of_products_takes_the_predicted_best(tmp_path, monkeypatch, capsys):
    """Large tiles are better for large products alone: the C functions know that from the model."""
    monkeypatch.chdir(tmp_path)
    catalog = {"variant": "gemm", "ndim_spatial": 0, "layout": "rcr", "datatype": "fp32"}
    Path("two.json").write_text(json.dumps({**catalog, "instances": [_product(0, 32), _product(1, 64)]}))
    chosen = ckprof.Profiler().instances(ckprof.InstanceQuery(conf="two.json"))
    traits = {one.name: one.pipeline.traits(one.instance.fields()) for one in chosen.candidates}
    small, large = names = list(traits)
    draw = random.Random(3)
    rows = [f"m,n,k,{small},{large}"]
    for _ in range(40):
        m, n, k = (64 * draw.randint(1, 64) for _ in range(3))
        times = [2 + -(-m * n // (100 * tile * tile)) * k / 64 * (tile / 32) ** 1.5 for tile in (32, 64)]
        rows.append(f"{m},{n},{k},{times[0]:.3f},{times[1]:.3f}")
    Path("times.csv").write_text("\n".join(rows) + "\n")
    options = ["--direction", "gemm", "--dtype", "fp32", "--compute-units", "100", "-o", "model.json"]
    assert main(["train", "times.csv", *options]) == 0
    choice = ["generate", "gemm", "--conf", "two.json", "--build-dir", "tree"]
    assert main([*choice, "--model", "model.json", "--force"]) == 0, capsys.readouterr().err
    rows = json.loads(Path("tree/manifest.json").read_text())["kernels"]
    fakes = [f'FAKE({kernel_symbol(one["key"])}, "{one["name"]}")' for one in rows]
    Path("fakes.cpp").write_text("\n".join(('#include "fake_kernels.hpp"', *fakes)))
    folders = ("-Itree/include", f"-I{HERE}")
    command = ["g++", "-std=c++17", "-shared", "-fPIC", *folders, "-Wall", "-Wextra", "-Werror"]
    command += ["tree/support/ckprof_gemm.cpp", "fakes.cpp", "-o", "libckprof_gemm.so"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(Path("libckprof_gemm.so").resolve()))
    assert library.dispatcher_initialize() == 0
    selector = Selector(
        read_model(Path("model.json")),
        {name: traits[name] for name in names},
        gemm_sizes_of(registry_with(), "gemm", "fp32"),
    )
    taken = set()
    for _ in range(200):
        problem = GemmProblem(**{axis: int(2 ** draw.uniform(2, 12)) for axis in "mnk"})
        expected, _ = selector.best(problem)
        name = ctypes.create_string_buffer(512)
        sizes = [ctypes.c_int64(size) for size in (problem.m, problem.n, problem.k)]
        assert library.dispatcher_select_kernel(*sizes, name, len(name)) == 0
        given = (ctypes.c_int64 * 7)(problem.m, problem.n, problem.k, 0, 0, 0, 1)
        assert library.ckprof_gemm_select_kernel(given, None) == names.index(expected)
        assert name.value.decode() == expected
        taken.add(expected)
    assert taken == set(names)
    # kernels may reject what is predicted
    batch = (ctypes.c_int64 * 7)(3)
    assert (
        library.ckprof_gemm_select_kernel(given, batch) == library.ckprof_gemm_select_kernel(None, None) == -1
    )


def test_models_of_others_are_refused(tmp_path, capsys):
    model_path = tmp_path / "model.json"
    train = ["train", str(TABLE), "--direction", "fwd", "--dtype", "bf16", "-o", str(model_path)]
    assert main([*train, "--compute-units", "256"]) == 0
    base = ["--model", str(model_path), "--build-dir", str(tmp_path / "tree")]
    assert main(["generate", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--arch", "gfx942", *base]) == 3
    assert "trained on gfx950" in capsys.readouterr().err
    assert main(["generate", "bwd_data", "--conf", "backward_data/tests/nhwgc_bf16", *base]) == 3
    assert "the model is of fwd, not bwd_data" in capsys.readouterr().err


def test_libraries_that_know_no_predicted_times_say_so(tmp_path, monkeypatch, capsys):
    """The C functions of an operation need not choose by times: then a model is no use to them."""
    monkeypatch.setattr(Gemm, "interface", replace(Gemm.interface, ranks=False))
    base = ["--model", "m.json", "--build-dir", str(tmp_path / "tree")]
    assert main(["generate", "gemm", "--conf", "gemm/universal/rcr_fp16", *base]) == 2
    said = capsys.readouterr().err
    assert "the C functions of gemm take kernels in the order of the list" in said
    assert "generate without --model" in said and "'ckprof select'" in said
