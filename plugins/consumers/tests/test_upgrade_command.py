"""``ckprof upgrade``: exit codes, what wrong calls say, and files of results."""

import json

import pytest

from ckprof.errors import ExitCode
from plugins.extract.tests.tree import MAIN_ALIAS, Tree, alias, element


@pytest.fixture
def sides(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    old, new = Tree(tmp_path / "old"), Tree(tmp_path / "new")
    new.tuples(alias(MAIN_ALIAS, element(256, 128), element(128, 32, vector=4)))
    old.write()
    new.write()
    return tmp_path


def test_lists_that_change_fail_the_gate(ckprof, sides):
    done = ckprof("upgrade", "--old", "old", "--new", "new", "-o", "json=u.json", "-o", "junit=u.xml")
    assert done.code == ExitCode.FAILED, done.err
    assert "forward/profiler/nhwgc_fp16.conf: 4 added, 4 removed" in done.out
    assert json.loads((sides / "u.json").read_text())["counts"]["lists"] > 0
    assert "<failure" in (sides / "u.xml").read_text()
    assert ckprof("upgrade", "--old", "old", "--new", "new", "--fail-on", "rows").code == ExitCode.OK
    assert ckprof("upgrade", "--old", "old", "--new", "old").code == ExitCode.OK


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("--old", "old"), ExitCode.USAGE, "--new"),
        (("--old", "old", "--new", "none"), ExitCode.INPUT, "none: is neither a folder"),
        (("--old", "old", "--new", "sh"), ExitCode.USAGE, "with a compiler only"),
        (("--old", "old", "--new", "new", "--fail-on", "all"), ExitCode.USAGE, "expected lists"),
        (("fwd", "--old", "old", "--new", "new"), ExitCode.USAGE, "name some with --conf"),
        (("--old", "old", "--new", "new", "--problem", "conv"), ExitCode.USAGE, "asked about of kernels"),
        (("--old", "old", "--new", "new", "--database", "no"), ExitCode.INPUT, "no: cannot be read"),
        (("--old", "old", "--new", "new", "--rule-set", "default"), ExitCode.USAGE, "needs a DIRECTION"),
        (
            ("--old", "sh", "--new", "sh", "--conf", "forward/tests/nhwgc_fp16", "--compiler", "g++"),
            ExitCode.USAGE,
            "third compiler",
        ),
        (
            ("--old", "old", "--new", "new", "--conf", "forward/tests/nhwgc_fp16", "--ck-root", "new"),
            ExitCode.USAGE,
            "third headers",
        ),
    ],
)
def test_wrong_calls_say_one_thing(ckprof, sides, arguments, code, part):
    done = ckprof("upgrade", *arguments)
    assert (done.code, part in done.err) == (code, True), done.err
    assert "Traceback" not in done.err and done.out == ""
