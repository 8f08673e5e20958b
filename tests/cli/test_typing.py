"""What people mistype: the nearest name, the right help, and what to type instead."""

from __future__ import annotations

import pytest

LIST = "forward/tests/nhwgc_fp16"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (("rnu",), ("unknown command 'rnu'; did you mean 'run'?", "'ckprof --help'")),
        (
            ("run", "fwd", "--conf", LIST, "--probelm", "x"),
            ("unknown option '--probelm'; did you mean '--problem'?", "'ckprof run --help'"),
        ),
        (("list", "lists", "--fromat=json"), ("did you mean '--format'?", "'ckprof list lists --help'")),
        (
            ("list", "instnces"),
            ("'instnces'; did you mean 'instances'?", "ckprof list --help"),
        ),
        (
            ("run", "fwd", "--format", "jsn"),
            ("format 'jsn'; did you mean 'json'?",),
        ),
        (("run", "--conf", LIST, "--dtype", "fp61"), ("data type 'fp61'; did you mean 'fp16'?",)),
        (("run", "--conf", LIST, "--layout", "nhwcg"), ("layout 'nhwcg'; did you mean 'nhwgc'?",)),
        (
            ("list", "instances", "--conf", LIST, "--arch", "gfx905"),
            ("architecture", "did you"),
        ),
        (("run", "legacy.conf"), ("type 'ckprof run --conf legacy.conf'",)),
        (("generate", "my/list.json"), ("type 'ckprof generate DIRECTION --conf my/list.json'",)),
        (("run", "fwd", "legacy.conf"), ("unexpected argument 'legacy.conf'", "type --conf legacy.conf")),
        (("run", "--conf", LIST, "--instance", "3,x"), ("non-negative integer", "3,7-9", "'3,x'")),
        (("run", "--conf", LIST, "--instance", "9-3"), ("the range 9-3 is empty",)),
        (("run", "--conf", LIST, "--filter", "tile_m >", "--dry-run"), ("is not finished", "character 9")),
    ],
)
def test_a_mistake_is_answered(ckprof, call, parts):
    called = ckprof(*call)
    assert called.code == 2 and called.out == ""
    *others, message = called.err.splitlines()
    assert message.startswith("ckprof: ") and all(line.startswith("read ") for line in others)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nhwgc_fp16", "did you mean one of "),
        ("forward/tests/nhwgc_fp61", "did you mean 'forward/tests/nhwgc_fp16'?"),
        ("legcay.conf", "did you mean 'legacy.conf'?"),
    ],
)
def test_a_misspelt_list(ckprof, tmp_path, name, part):
    (tmp_path / "legacy.conf").write_text("")
    called = ckprof("run", "--conf", name)
    assert called.code == 3
    assert part in called.err and "'ckprof list lists'" in called.err


def test_the_command_help(ckprof):
    assert ckprof("help") == ckprof("--help")
    assert ckprof("help", "run") == ckprof("run", "--help")
    assert ckprof("help", "list", "instances") == ckprof("list", "instances", "--help")
    assert ckprof("help").code == 0
    assert "did you mean 'run'?" in ckprof("help", "rnu").err


def test_ranges_of_instances(ckprof):
    called = ckprof("list", "instances", "--conf", LIST, "--instance", "3,7-9", "--instance", "0", "--count")
    assert (called.code, called.out) == (0, "5\n"), called.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--best", "--format", "json"), "--best and --top go with --format table, md, csv"),
        (("--top", "0"), "invalid positive integer value: '0'"),
        (("--best", "--top", "3"), "not allowed with"),
        (("--best", "--tree", "conf"), "do not go with --tree"),
    ],
)
def test_wrong_uses_of_top(ckprof, options, part):
    called = ckprof("run", "fwd", "--conf", LIST, *options)
    assert called.code == 2 and part in called.err
