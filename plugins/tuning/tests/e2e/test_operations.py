"""Searches among kernels with element-wise operations, and among kernels of matrix products."""

import json

import pytest

from tests.e2e.test_baseline import ASKED, FUSED
from tests.e2e.test_gemm_tool import LINE, NAME, QUICK, SIZES, fine

pytestmark = [pytest.mark.compiler, pytest.mark.slow]


def test_a_search_finds_kernels_with_operations_and_emits_them(ckprof, tmp_path):
    search = (
        *("tune", "fwd", "--conf", FUSED, "--instance", "0,8,13", "--problem", ASKED, "--format", "json"),
        *("--store", "r.db", "--round-time", "0.02", "--min-rounds", "1", "--max-rounds", "2"),
    )
    found = ckprof(*search, "--emit", "library.conf").ok()
    result = json.loads(found.out)
    assert result["stop"] == "settled"
    # of which the first one is for filters of one element
    assert [one["reason"] for one in result["never_built"]] == ["it supports none of the problems"]
    again = ckprof(*search, "--emit", "library.json")
    assert json.loads(again.out)["progress"] == [], "everything is known"
    for name in ("library.conf", "library.json"):
        listed = ckprof("list", "instances", "--conf", name, "--format", "names")
        assert listed.out.split() == result["chosen"]
        assert all("AddClamp" in kernel for kernel in listed.out.split())


def test_measured_times_of_products_lead_to_a_choice(ckprof, tmp_path):
    """After a sweep a model is trained, kernels are selected and tuned."""
    listed = tmp_path / "rcr_fp32.conf"
    listed.write_text(LINE + "\n")
    problems = [part for size in SIZES for part in ("--problem", size)]
    line = "gemm 0 1 1 1 0 1 48 40 64 72 -1 -1"
    fine(ckprof("sweep", "gemm", "--conf", listed, *problems, "--problem", line, "--store", "s.db", *QUICK))
    fine(ckprof("train", "s.db", "--direction", "gemm", "--dtype", "fp32", "-o", "m.json"))
    model = json.loads((tmp_path / "m.json").read_text())
    assert model["direction"] == "gemm"
    chosen = fine(ckprof("select", "gemm", "--model", "m.json", "--conf", listed, "--problem", "100x64x32",
                         "--measure", "1", "--format", "json"))  # fmt: skip
    (kernel,) = json.loads(chosen.out)["kernels"]
    assert (kernel["name"], kernel["status"]) == (NAME, "ok")
    assert kernel["predicted_us"] > 0
    judged = fine(ckprof("validate", "m.json", "s.db"))
    assert "9 problems, 1 kernel" in judged.out

    tuned = fine(ckprof("tune", "gemm", "--conf", listed, "--problem", "64x64x96", "--store", "t.db",
                        "--budget", "60", "--model", "m.json", *QUICK))  # fmt: skip
    assert NAME in tuned.out
    replay = ("tune", "gemm", "--replay", "s.db", "--dtype", "fp32", "--problem", "64x64x64")
    assert NAME in fine(ckprof(*replay)).out
    fine(ckprof(*replay, "--conf", listed, "--emit", "best.json"))
    assert NAME in fine(ckprof("run", "gemm", "--list-instances", "--conf", "best.json")).out

    fine(ckprof("results", "export", "s.db", "-o", "t.csv"))
    fine(ckprof("train", "t.csv", "--direction", "gemm", "--dtype", "fp32", "--compute-units", "2",
                "-o", "again.json"))  # fmt: skip
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["kernels"][0]["rows"] == model["kernels"][0]["rows"] == 9

    fine(ckprof("generate", "gemm", "--conf", listed, "--model", "m.json", "--build-dir", "gen"))
    assert "problem.values[6]" in (tmp_path / "gen" / "include" / "ckprof_time_model_gemm.hpp").read_text()
