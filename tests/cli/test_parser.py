"""What people mistype, and what a shell is told when it asks for completions, as argcomplete's scripts do."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys

import pytest

from ckprof.cli.parser import typed_words

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


def test_ranges_of_instances(ckprof):
    called = ckprof("list", "instances", "--conf", LIST, "--instance", "3,7-9", "--instance", "0", "--count")
    assert (called.code, called.out) == (0, "5\n"), called.err


@pytest.fixture
def complete(tmp_path):
    def call(line: str) -> list[str]:
        answer = tmp_path / "answer"
        done = subprocess.run(
            [sys.executable, "-m", "ckprof"],
            env={
                **os.environ,
                "_ARGCOMPLETE": "1",
                "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
                "_ARGCOMPLETE_IFS": "\n",
                "COMP_LINE": line,
                "COMP_POINT": str(len(line)),
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return [word.strip() for word in answer.read_text().split("\n")]

    return call


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ckprof ru", ["run"]),
        ("ckprof run bwd_", ["bwd_data", "bwd_weight"]),
        ("ckprof build fwd --target cp", ["cpu"]),
        ("ckprof -v generate fwd --rule-set ti", ["tiny"]),
    ],
)
def test_words_that_can_follow(complete, line, expected):
    assert complete(line) == expected


def test_options_of_the_command_are_offered(complete):
    assert {"--rounds", "--json", "--verbose"} <= {*complete("ckprof run fwd --")}


def test_without_argcomplete_nothing_is_printed(monkeypatch, capsys):
    usual = builtins.__import__

    def without(name, *arguments):
        if name.startswith("argcomplete"):
            raise ImportError(name)
        return usual(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SystemExit) as ended:
        typed_words()
    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "")
