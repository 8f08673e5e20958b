"""What a shell is told when it asks for completions, as argcomplete's scripts ask."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys

import pytest

from ckprof.cli.parser import typed_words


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
