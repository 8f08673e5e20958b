"""All lists that ship with ckprof, for a nightly run: what is supported is verified, the rest says why."""

import json

import pytest

pytestmark = [pytest.mark.compiler, pytest.mark.slow, pytest.mark.timeout(4 * 3600)]


@pytest.mark.parametrize("set_name", ["tests", "profiler"])
def test_every_list(ckprof, set_name, tmp_path):
    path = tmp_path / "batch.json"
    ckprof(
        "run", "--tree", "conf", "--set", set_name, "--min-samples", "3", "--max-time", "0.05",
        "--json", path, timeout=4 * 3600,
    ).ok()  # fmt: skip
    report = json.loads(path.read_text())
    assert report["lists_found"] == 25 and report["lists"]["fine"] == 25
    assert set(status for status, count in report["outcomes"].items() if count) == {"ok", "unsupported"}
    for stop in report["stops"]:
        served = set()
        for problem in stop["report"]["problems"]:
            for outcome in problem["outcomes"]:
                if outcome["status"] == "ok":
                    assert outcome["verification"]["passed"]
                    served.add(outcome["instance"])
                else:
                    assert outcome["reason"] and outcome["refusals"]
        assert served, stop["list"]
