"""Splits of the reduction, from the command line to each outcome, in every direction and family."""

import json

import pytest

from ckprof.errors import ExitCode
from tests.e2e.conftest import LISTS

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: GemmK of backward weight is 2 * 10 * 10 = 200; of backward data 16 * 9 = 144
PROBLEM = "2 1 2 16 16 3 3 10 10 1 1 1 1 1 1 1 1"


def list_of(path, name, *numbers):
    """Write the lines with these numbers of a shipped list."""
    lines = (LISTS / f"{name}.conf").read_text().splitlines()
    path.write_text("".join(f"{lines[number - 1]}\n" for number in numbers))
    return path


def outcomes(ckprof, *arguments):
    called = ckprof("run", *arguments, "--problem", PROBLEM, "--max-time", "0.02", "--format", "json").ok()
    report = json.loads(called.out)
    pipelines = {instance["key"]: instance["pipeline"] for instance in report["instances"]}
    return [
        {**outcome, "pipeline": pipelines[outcome["key"]]} for outcome in report["problems"][0]["outcomes"]
    ]


@pytest.fixture
def weight_list(tmp_path):
    """An implicit-GEMM and a two-stage instance, fp16."""
    return list_of(tmp_path / "nhwgc_fp16.conf", "backward_weight/tests/nhwgc_fp16", 9, 2)


def test_sweep_of_backward_weight(ckprof, weight_list):
    found = outcomes(ckprof, "bwd_weight", "--conf", weight_list, "--split-k", "1,4,auto,100000")
    by_split = {}
    for outcome in found:
        assert outcome["split_k"] != -1 or outcome["status"] == "unsupported"
        key = "auto" if outcome["split_k_deduced"] else str(outcome["split_k"])
        by_split.setdefault(key, set()).add(outcome["status"])
    assert by_split == {"1": {"ok"}, "4": {"ok"}, "auto": {"ok"}, "100000": {"unsupported"}}
    deduced = [outcome["split_k"] for outcome in found if outcome["split_k_deduced"]]
    # at most the 13 MMA steps of GemmK = 200, although the device could take more workgroups
    assert len(deduced) == 2 and all(1 < split <= 13 for split in deduced)
    too_many = next(outcome for outcome in found if outcome["split_k"] == 100000)
    conditions = [rejection["condition"] for rejection in too_many["refusals"]]
    assert "split-k" in conditions
    assert any("is more than the" in rejection["message"] for rejection in too_many["refusals"])


def test_what_cannot_choose_its_splits_says_so(ckprof, tmp_path):
    stream_k = list_of(tmp_path / "nhwgc_fp16_streamk.conf", "backward_weight/tests/nhwgc_fp16_streamk", 3)
    found = outcomes(ckprof, "bwd_weight", "--conf", stream_k, "--split-k", "auto,1,2")
    assert {outcome["pipeline"] for outcome in found} == {"stream_k"}
    assert {(o["split_k"], o["status"]) for o in found} == {
        (-1, "unsupported"),
        (1, "ok"),
        (2, "unsupported"),
    }
    for split in (-1, 2):
        reason = next(o["reason"] for o in found if o["split_k"] == split)
        assert reason.startswith(f"split_k = {split}: stream-K divides the reduction by itself")


def test_backward_data(ckprof, tmp_path):
    data = list_of(tmp_path / "nhwgc_fp32.conf", "backward_data/tests/nhwgc_fp32", 1)
    found = outcomes(ckprof, "bwd_data", "--conf", data, "--split-k", "1,2,500,auto", "--why")
    assert [(o["split_k"], o["status"]) for o in sorted(found, key=lambda o: o["split_k"])] == [
        *((-1, "unsupported"), (1, "ok"), (2, "ok"), (500, "unsupported"))
    ]
    reasons = {o["split_k"]: o["reason"] for o in found}
    assert reasons[-1] == "split_k = -1: a backward-data kernel does not choose it by itself"
    assert reasons[500].startswith("split_k = 500 is more than the ")


def test_why_names_each_condition(ckprof, weight_list):
    odd = PROBLEM.replace("2 1 2 16 16", "2 1 2 15 15")
    called = ckprof(
        "run", "bwd_weight", "--conf", weight_list, "--problem", odd, "--why", "--split-k", "9999"
    )
    assert called.code == ExitCode.FAILED
    assert "[split-k] k_batch = 9999 is more than the" in called.out
    assert "not met" in called.out and "only this" in called.out
