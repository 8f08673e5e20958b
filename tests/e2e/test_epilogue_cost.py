"""Whole commands on kernels with operations: what these cost, searches, families that have none."""

import csv
import json

import pytest

from ckprof.store.store import Store

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

FUSED = "forward/bias_clamp/tests/nhwgc_fp16"
PLAIN = "2 1 2 16 16 3 3 8 8 1 1 1 1 1 1 1 1"
ASKED = f"{PLAIN} --elementwise-op bias_clamp,ceiling=0.25"
QUICK = ("--rounds", "3", "--passes", "1", "--max-time", "0.02")


def test_both_sides_are_run_verified_stored_and_shown(ckprof, tmp_path):
    called = ckprof(
        *(
            "run",
            "fwd",
            "--conf",
            FUSED,
            "--instance",
            "8,13",
            "--problem",
            ASKED,
            "--problem",
            PLAIN,
            *QUICK,
        ),
        *("--epilogue-cost", "--store", "r.db", "--json", "r.json", "-o", "csv=r.csv"),
    )
    # on the last problem no kernel runs: what is fused was not asked for
    assert called.code == 1, called.err
    fused, beside, other = json.loads((tmp_path / "r.json").read_text())["problems"]
    assert {cost["key"] for cost in fused["epilogue_costs"]} == {one["key"] for one in fused["outcomes"]}
    assert {cost["unfused_key"] for cost in fused["epilogue_costs"]} == {
        one["key"] for one in beside["outcomes"]
    }
    for problem, count in ((fused, 2), (beside, 2)):
        assert [one["verification"]["passed"] for one in problem["outcomes"]] == [True] * count
        assert [one["standing"]["taken"] for one in problem["outcomes"]] == [3] * count
    for cost in fused["epilogue_costs"]:
        assert 0 < cost["ratio_low"] <= cost["ratio"] <= cost["ratio_high"]
        # input 2*16*64, weight 16*16*9, result and bias 2*16*64 each
        assert cost["bytes_share"] == pytest.approx(2048 / (3 * 2048 + 2304))
    assert {one["status"] for one in other["outcomes"]} == {"unsupported"}
    assert "epilogue_costs" not in beside and "epilogue_costs" not in other
    assert called.out.count("without [ms]") == 1
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert sum(bool(row["epilogue_ratio"]) for row in rows) == 2
    with Store(tmp_path / "r.db") as store:
        keys = {(one.key.kernel.instance, one.key.problem.describe()) for one in store if one.ranked}
    assert len({instance for instance, _ in keys}) == len(keys) == 4
    ckprof("compare", "r.db", "r.db", "--format", "json").ok()


def test_a_cost_is_that_of_two_problems(ckprof):
    fused = ("run", "fwd", "--conf", FUSED, "--epilogue-cost", "--dry-run", "--instance", "8")
    assert "and run them on 2 problems" in ckprof(*fused, "--problem", ASKED).out


def test_kernels_that_convolve_alone_refuse_problems_that_ask_for_more(ckprof):
    sizes = "2 8 8 1 1 3 3 8 8 1 1 1 1 1 1 1 1"
    called = ckprof(
        *("run", "fwd", "--conf", "forward/tests/ngchw_depthwise", "--instance", "0", "--format", "json"),
        *("--problem", sizes, "--problem", f"{sizes} --elementwise-op bias", *QUICK),
    )
    plain, asked = json.loads(called.out)["problems"]
    assert [one["status"] for one in plain["outcomes"]] == ["ok"]
    (refused,) = asked["outcomes"]
    assert refused["status"] == "unsupported"
    assert "convolution alone" in refused["reason"] and "Add" in refused["reason"]
