"""``ckprof predict --diff`` on two files, in all formats."""

import json
import re
from xml.etree import ElementTree

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from plugins.tuning.tests.gate.sides import LOOP, figures, file

SLOWER = LOOP.replace("ds_read_b128", "s_barrier\nds_read_b128")


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Two files; after, a kernel is 10 % slower, because of a barrier, and another one is as before."""
    monkeypatch.chdir(tmp_path)
    other = figures(key="cd" * 16, name="kernel_128x128", line="legacy.conf:8")
    (tmp_path / "legacy.conf").write_text("a list\n" * 8)
    file(tmp_path / "before.json", figures(), other)
    file(tmp_path / "after.json", figures(SLOWER, time_us=11.0, cycles=22000.0), other, text=SLOWER)
    return ["predict", "--diff", "before.json", "after.json"]


def test_every_format_says_what_the_exit_code_says(sides, capsys, tmp_path):
    for fail_on, code, failures in (("slower=3%", ExitCode.FAILED, 1), ("slower=20%,spills", ExitCode.OK, 0)):
        assert main([*sides, "--fail-on", fail_on, "--format", "json", "-o", "junit=gate.xml"]) == code
        found = json.loads(capsys.readouterr().out)
        assert (found["schema"], found["predicted"], found["passed"]) == (
            "ckprof.predict-diff",
            True,
            code == 0,
        )
        assert sum(bool(row["fails"]) for row in found["rows"]) == failures
        suites = ElementTree.parse(tmp_path / "gate.xml").getroot()  # noqa: S314 - its own
        assert (suites.get("tests"), suites.get("failures")) == ("2", str(failures))
        assert main([*sides, "--fail-on", fail_on, "--format", "github"]) == code
        remarks = capsys.readouterr().out
        level = "error" if failures else "notice"
        assert f"::{level} file=legacy.conf,line=7,title=slower%3A kernel_64x64::" in remarks
        assert "predicted, not measured: " + ("failed: 1 slower" if failures else "passed") in remarks
        for form in ("table", "md"):
            assert main([*sides, "--fail-on", fail_on, "--format", form]) == code
            shown = capsys.readouterr().out
            assert "+10.0 %" in shown
            assert "barriers in the loop: 2 -" in shown
            assert "times are predicted from machine code, not measured" in shown
            assert ("failed: 1 slower" if failures else "passed") in shown
    row, same = found["rows"]
    assert (row["ratio"], row["line"]) == (pytest.approx(1.1), "legacy.conf:7")
    assert row["reasons"][0]["cause"] == "barrier"
    assert (same["ratio"], same["reasons"]) == (1.0, [])


def test_the_page_has_the_same(sides, capsys):
    pytest.importorskip("ckprof_plugins.pages")
    assert main([*sides, "--format", "html"]) == ExitCode.FAILED
    shown = capsys.readouterr().out
    assert shown.startswith("<!DOCTYPE html>")
    assert all(
        text in shown for text in ("kernel_64x64", "+10.0", "s_barrier", "not measured", "failed: 1 slower")
    )


def test_inspect_shows_both_loops_on_a_page(sides, capsys, tmp_path):
    pytest.importorskip("ckprof_plugins.pages")
    page = ["inspect", *sides[1:], "--page", "loops.html"]
    # slower, but neither more spills nor less occupancy
    assert main(page) == ExitCode.OK
    assert "+10.0 %" in capsys.readouterr().out
    shown = (tmp_path / "loops.html").read_text()
    (first,) = re.findall(r'<tr class="first-difference">.*?</tr>', shown, re.DOTALL)
    assert "s_barrier" in first and "first difference" in first
    assert shown.count("v_mfma_f32_32x32x8_f16") == 2 * LOOP.count("v_mfma_f32_32x32x8_f16")
    file(tmp_path / "after.json", figures(SLOWER, resident=1), text=SLOWER)
    assert main(page) == ExitCode.FAILED
    assert main([*page[:-1], "loops.md"]) == ExitCode.USAGE
    assert "a file whose name ends in .html" in capsys.readouterr().err


def test_a_side_with_itself_has_no_difference(sides, capsys):
    assert main(["predict", "--diff", "after.json", "after.json"]) == ExitCode.OK
    assert "2 predictions, 0 of them differ" in capsys.readouterr().out


def test_the_side_after_becomes_the_baseline(sides, capsys, tmp_path):
    assert main([*sides, "--write", "new.json"]) == ExitCode.FAILED
    assert (tmp_path / "new.json").read_bytes() == (tmp_path / "after.json").read_bytes()


CONF = "forward/tests/nhwgc_fp16"
#: what is typed -> exit code, part of the message
WRONG = {
    ("predict", "--diff", "before.json", "missing.json"): (3, "missing.json: is neither a baseline"),
    ("predict", "--diff", "before.json", "legacy.conf"): (3, "legacy.conf:1:1: expected Name<argument"),
    ("predict", "fwd", "--conf", "a.conf", "--diff", "before.json", "legacy.conf"): (
        2,
        "other instances than",
    ),
    ("predict", "--diff", "before.json", "other.json"): (3, "by another time model (0123456789abcdef)"),
    ("predict", "fwd", "--diff", "before.json", "after.json"): (2, "both sides are files"),
    ("predict", "--diff", "before.json", "after.json", "--fail-on", "slow"): (2, "slower[=N%]"),
    ("predict", "--diff", "before.json", "after.json", "--hot", "3"): (2, "--hot"),
    ("predict", "--diff", "before.json", "sh"): (2, "no instances"),
    # before anything is built
    ("predict", "fwd", "--conf", CONF, "--target", "hip", "--diff", "before.json", "sh"): (
        3,
        "before.json: it was predicted by another time model (0123456789abcdef) than sh",
    ),
    ("predict", "fwd", "--conf", CONF, "--target", "hip", "--diff", "before.json", "sh", "--gpu", "MI308X"): (
        3,
        "for another product (MI300X) than sh (MI308X)",
    ),
    (
        "predict",
        "fwd",
        "--conf",
        CONF,
        "--target",
        "hip",
        "--diff",
        "before.json",
        "sh",
        "--arch",
        "gfx90a",
    ): (
        3,
        "for another product (MI300X) than sh (MI250X)",
    ),
    ("predict", "fwd", "--conf", CONF, "--diff", "before.json", "sh", "--kernel", "9999"): (
        2,
        "no kernel is of that line; some that there are: ",
    ),
    ("predict", "fwd", "--conf", "legacy.conf", "--fail-on", "slower"): (2, "give --diff"),
    ("predict", "fwd", "--conf", "legacy.conf", "--format", "junit"): (2, "give --diff"),
    ("predict", "fwd", "--conf", "legacy.conf", "-o", "junit=a.xml"): (2, "give --diff"),
    ("predict", "--conf", "legacy.conf"): (2, "no DIRECTION given"),
    ("predict", "--diff", "before.json", "after.json", "--write", "no/such/b.json"): (3, "no folder"),
}


@pytest.mark.parametrize("typed", WRONG, ids=" ".join)
def test_what_is_wrong_is_said_and_nothing_written(sides, typed, capsys, tmp_path):
    file(tmp_path / "other.json", model="other")
    before = sorted(path.name for path in tmp_path.iterdir())
    code, said = WRONG[typed]
    assert main([*typed]) == code
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_junit_says_why_there_is_no_result(sides, capsys, tmp_path):
    file(tmp_path / "other.json", model="other")
    assert main(["predict", "--diff", "before.json", "other.json", "--format", "junit"]) == ExitCode.INPUT
    shown = ElementTree.fromstring(capsys.readouterr().out)  # noqa: S314 - its own
    assert "another time model" in shown.find(".//error").get("message")
