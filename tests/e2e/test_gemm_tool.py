"""Everything around the kernels of matrix products, as a user calls it."""

import ctypes
import json

import pytest

from ckprof.errors import ExitCode
from ckprof.store.store import Store
from ckprof_plugins.operations.gemm.problem import GemmProblem

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

LINE = (
    "DeviceGemmXdlUniversal<MNKPadding, RCR> BlkSize: 256, BlkTile: 32x32x32, WaveTile: 16x16, WaveMap: 1x1, "
    "VmemReadVec: 4x4, BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4, "
    "BlkGemmPipelinePrefetchStages: 4"
)
NAME = "gemm_fp32_rcr_compv4_cshuffle_intrawave_True_True_True_False_32x32x32_2x2x1_16x16x8"
SIZES = ("16x16x16", "32x32x32", "64x64x64", "96x64x128", "33x64x64", "64x64x256", "128x128x64", "32x96x320")
QUICK = ("--round-time", "0.01", "--min-rounds", "1", "--max-rounds", "1")


@pytest.fixture
def ckprof(ckprof_within):
    """Call ``ckprof`` without a process of its own: many calls, most of them short."""
    return ckprof_within


@pytest.fixture
def listed(tmp_path):
    """A list of the old library with one instance, whose kernel all tests share."""
    path = tmp_path / "rcr_fp32.conf"
    path.write_text(LINE + "\n")
    return path


def fine(called):
    assert called.code == ExitCode.OK, called.out + called.err
    return called


@pytest.mark.slow
def test_times_are_stored_exported_and_compared(ckprof, listed, tmp_path):
    problems = [part for size in SIZES for part in ("--problem", size)]
    line = "gemm 0 1 1 1 0 1 48 40 64 72 -1 -1"
    swept = fine(ckprof("sweep", "gemm", "--conf", listed, *problems, "--problem", line, "--store", "s.db",
                        *QUICK))  # fmt: skip
    assert "done: 9 of 9 rankings are finished" in swept.out
    with Store(tmp_path / "s.db") as store:
        found = {one.key.problem: one.status.value for one in store}
    assert found.keys() >= {GemmProblem(m=33, n=64, k=64), GemmProblem(m=48, n=40, k=64, stride_a=72)}
    assert set(found.values()) == {"ok"}

    assert "M33 N64 K64" in fine(ckprof("results", "show", "s.db")).out
    fine(ckprof("compare", "s.db", "s.db"))
    exported = fine(ckprof("results", "export", "s.db", "-o", "t.csv"))
    assert "t.csv: 9 rows" in exported.err and "excluded" not in exported.err
    fine(ckprof("results", "import", "t.csv", "--store", "again.db", "--target", "cpu"))
    with Store(tmp_path / "again.db") as store:
        assert {one.key.problem for one in store} == found.keys()


def test_the_library(ckprof, listed, tmp_path):
    """It agrees with its list, says what its kernel is, and computes."""
    agreed = fine(ckprof("parity", "gemm", "--conf", listed, "--generated", "both"))
    assert "parity holds: 2 matched, 0 missing, 0 extra" in agreed.out
    fine(ckprof("build", "gemm", "--conf", listed, "--build-dir", "lib"))
    path = tmp_path / "lib" / "libckprof_gemm.so"
    library = ctypes.CDLL(str(path))
    assert library.dispatcher_initialize() == 0
    library.dispatcher_export_registry_json.restype = ctypes.c_char_p
    registry = json.loads(library.dispatcher_export_registry_json())
    (kernel,) = registry["kernels"]
    assert kernel["identifier"] == NAME.removeprefix("gemm_")
    assert kernel["algorithm"] == {
        "tile_shape": {"m": 32, "n": 32, "k": 32},
        "wave_shape": {"m": 2, "n": 2, "k": 1},
        "warp_tile_shape": {"m": 16, "n": 16, "k": 8},
        "block_size": 256,
        "persistent": False,
        # two buffers come with the pipeline
        "double_buffer": True,
        "preshuffle": False,
        "transpose_c": False,
    }
    called = fine(ckprof("call", "gemm", path, "--problem", "48x40x64"))
    answer = json.loads(called.out)
    assert (answer["success"], answer["kernel"]["name"], answer["flop"]) == (True, NAME, 2 * 48 * 40 * 64)
    assert (answer["sizes"]["m"], answer["elements"], answer["wrong_elements"]) == (48, 48 * 40, 0)
    assert answer["time_ms"] > 0 and answer["tflops"] > 0
    # the result is cleared in front of every run: parts of ten runs do not add up
    again = fine(ckprof("call", "gemm", path, "--problem", "48x40x64", "--init", "integer", "--split-k", "4",
                        "--repeat", "10"))  # fmt: skip
    once = fine(ckprof("call", "gemm", path, "--problem", "48x40x64", "--init", "integer"))
    split, whole = json.loads(again.out), json.loads(once.out)
    assert (split["split_k"], split["verified"]) == (4, True)
    assert split["result"] == whole["result"]
    failed = ckprof("call", "gemm", path, "--problem", "48 40 64 32 -1 -1")
    assert failed.code == ExitCode.FAILED and not json.loads(failed.out)["success"]


def test_a_number_of_splits_that_the_line_leaves_open(ckprof, listed):
    line = "gemm_universal {} 1 1 1 0 1 32 32 128 -1 -1 -1 -1"
    done = fine(ckprof("run", "gemm", "--conf", listed, "--problem", line.format(0), "--max-time", "0.01",
                       "--format", "json"))  # fmt: skip
    (problem,) = json.loads(done.out)["problems"]
    outcomes = {one["split_k"]: one["status"] for one in problem["outcomes"]}
    # 128 is 16 steps of the instruction, which has a depth of 8
    assert outcomes == {**dict.fromkeys((1, 2, 4, 8, 16), "ok"), **dict.fromkeys((19, 32, 38), "unsupported")}
    wrong = ckprof(
        "run", "gemm", "--conf", listed, "--problem", "gemm_universal 1 1 1 1 0 1 32 32 128 -1 -1 -1 1"
    )
    wrong.fails_with(ExitCode.INPUT, "the problem line says fp16, the list has fp32 instances")
