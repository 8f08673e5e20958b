"""Instances, and what was left out, as they are printed and exported."""

import csv
import io
import json

FULL = ("list", "instances", "--rule-set", "full", "--arch", "gfx942", "--direction")


def test_names(ckprof):
    code, out, _ = ckprof(*FULL, "bwd_data", "--format", "names", "--ndim", "3", "--dtype", "fp16")
    names = out.splitlines()
    assert code == 0 and len(names) == 86
    assert all(name.startswith("grouped_conv_bwd_data_fp16_ndhwgc_3d_compv1_") for name in names)


def test_json_and_csv_hold_all_fields(ckprof, tmp_path):
    arguments = (*FULL, "bwd_data", "--ndim", "2", "--dtype", "fp16", "--filter", "tile_m == 256")
    exported = tmp_path / "instances.json"
    records = json.loads(ckprof(*arguments, "--format", "json", "--export-json", exported)[1])
    rows = list(csv.DictReader(io.StringIO(ckprof(*arguments, "--format", "csv")[1])))
    assert len(records) == len(rows) > 0
    assert records[0]["fields"]["tile_m"] == 256 and rows[0]["tile_m"] == "256"
    assert rows[0]["name"] == records[0]["name"]
    document = json.loads(exported.read_text())
    assert document["instances"] == records and document["count"] == len(records)
    assert (document["schema"], document["arch"], document["left_out"]) == ("ckprof-instances", "gfx942", [])


def test_why(ckprof):
    code, out, _ = ckprof(*FULL, "fwd", "--why", "--format", "json")
    reasons = json.loads(out)
    assert code == 0 and sum(reason["rule"] != "no-problem" for reason in reasons) == 23
    lds = next(reason for reason in reasons if reason["rule"] == "lds-budget")
    assert lds["found"] > lds["allowed"] == 32768
    assert lds["message"].startswith(f"the tiles of both operands need {lds['found']} bytes of LDS")


def test_why_of_a_list(ckprof):
    arguments = ("list", "instances", "--conf", "forward/tests/nhwgc_fp16", "--arch", "gfx90a")
    code, out, _ = ckprof(*arguments, "--why")
    assert code == 0 and "gfx90a has no wave grid 1x1x1" in out
    left = int(ckprof(*arguments, "--count")[1])
    assert left + int(ckprof(*arguments, "--why", "--count")[1]) == 58
    # without an architecture nobody asks
    assert ckprof(*arguments[:4], "--count")[1] == "58\n"
