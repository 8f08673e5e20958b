"""What a conversion is said to have done: as a table, as JSON and as annotations."""

import json
import re
from pathlib import Path

from ckprof.errors import ExitCode
from tests.converters.samples import as_bytes, change, line
from tests.report.services import obeyed

FORWARD = line("forward")


def test_convert_annotates_lists_and_catalogs(ckprof, tmp_path):
    conf = tmp_path / "nhwgc_fp16.conf"
    conf.write_bytes(as_bytes(FORWARD, "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2, 3"))
    done = ckprof("convert", conf, "-o", "c.json", "--format", "github")
    assert done.code == 3 and not Path("c.json").exists()
    assert [(one["level"], one["line"]) for one in obeyed(done.out)] == [("error", "2")]
    lenient = ckprof("convert", conf, "-o", "c.json", "--format", "github", "--lenient").ok()
    assert ("warning", "2") in [(one["level"], one.get("line")) for one in obeyed(lenient.out)]
    catalog = json.loads(Path("c.json").read_text())
    Path("c.json").write_text(json.dumps(catalog).replace("128", "64"))
    conf.write_bytes(as_bytes(FORWARD))
    checked = ckprof("convert", conf, "-o", "c.json", "--check", "--format", "github")
    assert checked.code == 1
    assert {(one["level"], one.get("file")) for one in obeyed(checked.out)} >= {("error", "c.json")}


def test_the_table_says_what_became_of_each_list(ckprof, tree, tmp_path):
    called = ckprof("convert", tree, "-o", tmp_path / "out")
    rows = {
        row.split()[0].removeprefix(f"{tree}/"): row.split(None, 1)[1] for row in called.out.splitlines()[2:5]
    }
    assert re.split(r"\s{2,}", rows["forward/tests/nhwgc_fp16.conf"].strip()) == [
        *("4", "2", "1 comment, 1 duplicate", "0", "written nhwgc_fp16.json")
    ]
    assert "written ngchw_fp32.json, written ngchw_fp16.json" in rows["forward/tests/ngchw_depthwise.conf"]
    assert called.out.splitlines()[-1].endswith("dropped lines: 1 comment, 1 duplicate")


def test_the_report_as_json(ckprof, tree, tmp_path):
    called = ckprof("convert", tree, "-o", tmp_path / "out", "--format", "json")
    report = json.loads(called.out)
    assert (report["schema"], report["version"]) == ("ckprof.convert", 1)
    by_name = {item["list"]: item for item in report["lists"]}
    forward = by_name[str(tree / "forward/tests/nhwgc_fp16.conf")]
    assert (forward["state"], forward["lines"], forward["instances"]) == ("converted", 4, 2)
    assert forward["dropped"] == {"comment": 1, "duplicate": 1}
    assert forward["dropped_lines"][1] == {
        "line": 4,
        "rule": "duplicate",
        "reason": "equal to line 2 in all but the id",
    }
    assert {item["state"] for item in report["catalogs"]} == {"written"}
    assert len(report["catalogs"]) == 5


def test_a_wrong_list_in_a_folder(ckprof, tree, tmp_path):
    (tree / "forward/tests/nhwgc_fp16.conf").write_bytes(as_bytes(change(FORWARD, 19, "x"), "nonsense"))
    called = ckprof("convert", tree, "-o", tmp_path / "out")
    assert called.code == ExitCode.INPUT
    assert "nhwgc_fp16.conf:1:" in called.err and "nhwgc_fp16.conf:2:1: expected Name" in called.err
    assert "failed: expected an integer for tile_m" in called.out
    assert "not reached" in called.out
    assert (tmp_path / "out/forward/tests/ngchw_fp16.json").exists()
    assert not (tmp_path / "out/forward/tests/nhwgc_fp16.json").exists()
    report = json.loads(ckprof("convert", tree, "-o", tmp_path / "out", "--format", "json").out)
    (failed,) = (item for item in report["lists"] if item["state"] == "failed")
    assert [error["line"] for error in failed["errors"]] == [1, 2]
    lenient = ckprof("convert", tree, "-o", tmp_path / "out", "--lenient")
    assert lenient.code == ExitCode.INPUT  # no line at all is left
    (tree / "forward/tests/nhwgc_fp16.conf").write_bytes(as_bytes(FORWARD, "nonsense"))
    lenient = ckprof("convert", tree, "-o", tmp_path / "out", "--lenient")
    assert (lenient.code, "1 error" in lenient.out, "warning: " in lenient.err) == (0, True, True)


def test_a_check_of_a_folder(ckprof, tree, tmp_path):
    out = tmp_path / "out"
    missing = ckprof("convert", tree, "-o", out, "--check")
    assert missing.code == ExitCode.FAILED
    assert f"{out}/forward/tests/nhwgc_fp16.json: is missing, expected 2 instances" in missing.out
    annotated = obeyed(ckprof("convert", tree, "-o", out, "--check", "--format", "github").out)
    assert f"catalog {out}/forward/tests/nhwgc_fp16.json" in {one["title"] for one in annotated}
    assert not out.exists()
    ckprof("convert", tree, "-o", out)
    path = out / "forward/tests/nhwgc_fp16.json"
    path.write_text(path.read_text().replace('"tile_m": 64', '"tile_m": 32'))
    differs = ckprof("convert", tree, "-o", out, "--check")
    assert differs.code == ExitCode.FAILED
    assert f"{path}: instances[id 1].tile_m: is 32, expected 64" in differs.out
    report = json.loads(ckprof("convert", tree, "-o", out, "--check", "--format", "json").out)
    (file,) = (item for item in report["catalogs"] if item["state"] == "differs")
    assert file["differences"] == [
        {"where": "instances[id 1].tile_m", "on_disk": "32", "expected": "64", "message": ""}
    ]
