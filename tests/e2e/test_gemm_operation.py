"""An operation that is no convolution, end to end, with a kernel family from a file outside ckprof."""

import json
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ckprof
from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.problem import LAYOUTS, GemmProblem
from tests.called import ckprof_apart
from tests.measure.fakes import ABI_FOLDER

pytestmark = pytest.mark.compiler

PLUGIN = Path(__file__).parent / "naive_product.py"
HEADERS = Path(__file__).parents[2] / "plugins" / "operations" / "gemm" / "embed"
LAYOUT_NUMBERS = {"rrr": 0, "rcr": 1, "crr": 2, "ccr": 3}


def catalog(folder, layout, dtype="fp16", faults=("",)):
    """Write a catalog of kernels with these faults."""
    instances = [{"id": number, "step": 4, "fault": fault} for number, fault in enumerate(faults)]
    header = {"variant": "naive_product", "ndim_spatial": 0, "layout": layout, "datatype": dtype}
    path = folder / f"{layout}_{dtype}.json"
    path.write_text(json.dumps({**header, "instances": instances}))
    return path


@pytest.fixture
def call(ckprof):
    """Run ckprof with the family."""
    return partial(ckprof, "--plugin", PLUGIN)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A library with one kernel of layout rcr in fp32."""
    folder = tmp_path_factory.mktemp("library")
    build = ("--plugin", PLUGIN, "build", "gemm", "--conf", catalog(folder, "rcr", "fp32"))
    ckprof_apart(*build, "--build-dir", "lib", cwd=folder).ok()
    return folder / "lib" / "libckprof_gemm.so"


def run_json(call, *arguments):
    done = call("run", "gemm", *arguments, "--max-time", "0.02", "--format", "json")
    assert done.out, done.err
    report = json.loads(done.out)
    assert isinstance(report, dict)
    return report


@pytest.mark.thorough
@pytest.mark.parametrize(
    "layout",
    [
        layout.name if layout.name == "crr" else pytest.param(layout.name, marks=pytest.mark.slow)
        for layout in LAYOUTS
    ],
)
def test_runs_in_every_layout_with_and_without_gaps(call, tmp_path, layout):
    number = LAYOUT_NUMBERS[layout]
    report = run_json(
        call, "--conf", catalog(tmp_path, layout),
        "--problem", f"gemm 1 {number} 1 1 0 1 33 47 100 104 112 56", "--problem", "17x5x12",
        "--problem", f"gemm 1 {number} 1 1 0 1 33 47 100 32 -1 -1", "--problem", "1 2 3",
    )  # fmt: skip
    strided, packed, overlapping, odd = report["problems"]
    assert (strided["m"], strided["stride_a"], strided["flop"]) == (33, 104, 2 * 33 * 47 * 100)
    for problem in (strided, packed):
        (outcome,) = problem["outcomes"]
        assert outcome["status"] == "ok", outcome
        assert outcome["verification"]["elements"] == problem["m"] * problem["n"]
    (short,) = overlapping["outcomes"]
    assert short["status"] == "unsupported" and short["refusals"][0]["condition"] == "stride-a"
    (rejected,) = odd["outcomes"]
    assert rejected["reason"] == "K = 3 is not a multiple of 4"


@pytest.mark.thorough
def test_writes_into_gaps_and_wrong_values_are_found(call, tmp_path):
    conf = catalog(tmp_path, "rcr", faults=("", "wrong", "gap"))
    report = run_json(call, "--conf", conf, "--problem", "gemm 1 1 1 1 0 1 16 8 8 -1 -1 12")
    outcomes = {one["instance"]: one for one in report["problems"][0]["outcomes"]}
    assert [outcomes[number]["status"] for number in range(3)] == ["ok", "wrong_result", "wrong_result"]
    assert " of 128 elements differ" in outcomes[1]["reason"]
    assert "16 written between the lines of the result" in outcomes[2]["reason"]
    assert "first at [m=0,n=8]: got 0, expected no write" in outcomes[2]["reason"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "dtype",
    ["fp8", *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("fp32", "bf16", "bf8", "int8"))],
)
def test_every_type(call, tmp_path, dtype):
    conf = catalog(tmp_path, "rcr", dtype)
    report = run_json(call, "--conf", conf, "--problem", "9x10x64")
    (outcome,) = report["problems"][0]["outcomes"]
    assert outcome["status"] == "ok", outcome
    if dtype == "int8":
        assert outcome["verification"]["rtol"] == outcome["verification"]["atol"] == 0


def test_a_type_that_no_kernel_has_is_an_input_error(call, tmp_path):
    done = call("run", "gemm", "--conf", catalog(tmp_path, "rcr", "int32"))
    assert done.code == 3
    assert "datatype: expected one of fp32, fp16, bf16, fp8, bf8, int8, got 'int32'" in done.err


def run_c_program(name, library, folder):
    """Compile a program of this folder that uses the C interface of a library, and return what it prints."""
    source = Path(__file__).with_name(name)
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", f"-I{ABI_FOLDER}", source,
         library, f"-Wl,-rpath,{library.parent}", "-o", "user"], cwd=folder, check=True,
    )  # fmt: skip
    done = subprocess.run(["./user"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_c_interface(built, tmp_path):
    registry = json.loads(run_c_program("gemm_user.c", built, tmp_path))
    assert registry["metadata"] | {"timestamp": ""} == {
        "timestamp": "",
        "total_kernels": 1,
        "export_version": "1.0",
        "dispatcher_version": "1.0.0",
    }
    assert registry["statistics"] == {"by_datatype": {}, "by_pipeline": {}, "by_scheduler": {}}
    (kernel,) = registry["kernels"]
    assert kernel["name"] == "gemm_fp32_rcr_naive_4" and kernel["identifier"] == "fp32_rcr_naive_4"
    assert set(kernel["algorithm"]) == {
        *("tile_shape", "wave_shape", "warp_tile_shape", "block_size"),
        *("persistent", "double_buffer", "preshuffle", "transpose_c"),
    }
    assert kernel["algorithm"]["tile_shape"] == {"m": 1, "n": 2, "k": 3}


def test_one_call_as_json(call, built):
    answer = json.loads(call("call", "gemm", built, "--problem", "9 10 16 -1 -1 24").out)
    assert answer["success"] and answer["verified"], answer
    assert (answer["direction"], answer["kernel"]["layout"]) == ("gemm", "rcr")
    assert answer["result"]["tensor"] == "e" and answer["result"]["shape"] == [9, 10]
    assert answer["result"]["finite"] and answer["result"]["non_zero"] <= 90
    wrong = call("call", "gemm", built, "--problem", "9 10 3")
    assert wrong.code != 0 and "no kernel supports M9 N10 K3" in wrong.out + wrong.err
    other = call("call", "fwd", built, "--problem", "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1")
    assert other.code == 3 and "the library computes gemm, expected fwd" in other.err


def test_a_library_as_a_python_object(built):
    library = ckprof.KernelLibrary(built)
    assert (library.direction, library.tensors) == ("gemm", ("a", "b", "e"))
    random = np.random.default_rng(3)
    a, b = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((5, 8), (6, 8)))
    for problem in (
        GemmProblem(m=5, n=6, k=8),
        GemmProblem(m=5, n=6, k=8, stride_a=10, stride_b=9, stride_e=11),
    ):
        result = library.run(problem, {"a": a, "b": b})
        assert np.array_equal(result.output, a @ b.T) and result.time_ms > 0
    assert library.rejection(0, GemmProblem(m=5, n=6, k=7)).startswith("K = 7 is not a multiple of 4")
    overlapping = GemmProblem(m=5, n=6, k=8, stride_b=7)
    assert "the stride of B is 7, its lines have 8 elements" in library.rejection(0, overlapping)
    with pytest.raises(InputError, match="the stride of B is 7"):
        library.run(overlapping, {"a": a, "b": b}, 0)
    with pytest.raises(InputError, match=r"a has shape \(8, 5\), expected \(5, 8\) \(MK\)"):
        library.run(GemmProblem(m=5, n=6, k=8), {"a": a.T, "b": b})
