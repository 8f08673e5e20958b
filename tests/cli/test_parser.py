"""What people mistype, and what a shell is told when it asks for completions, as argcomplete's scripts do."""

import builtins
import os
import subprocess
import sys

import pytest

from ckprof.cli.main import main
from ckprof.cli.parser import typed_words

LIST = "forward/tests/nhwgc_fp16"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (("run", "fwd", "--conf", LIST, "--prob", "x"), ("unknown option '--prob'",)),
        (("rnu",), ("unknown command 'rnu'; did you mean 'run'?", "'ckprof --help'")),
        (
            ("run", "fwd", "--conf", LIST, "--probelm", "x"),
            ("unknown option '--probelm'; did you mean '--problem'?", "'ckprof run --help'"),
        ),
        (("results", "show", "x.db", "--best"), ("unknown option '--best' (see",)),
        (("run", "--list"), ("unknown option '--list'; did you mean '--list-instances'?",)),
        (
            ("sweep", "fwd", "--store", "a.db", "--resume"),
            ("unknown option '--resume'; rerun the same command to resume",),
        ),
        (("sweep", "fwd", "--resume"), ("unknown option '--resume'; rerun the same command to resume",)),
        (("sweep", "fwd", "--store", "a.db", "-o", "x"), ("'-o'; outcomes go to --store",)),
        *(
            ((command, "fwd", option, "x"), (f"'{option}'; name the folder with --build-dir",))
            for command in ("build", "generate")
            for option in ("-o", "--output")
        ),
        (("convert", "a.conf", "b.conf"), ("argument 'b.conf'; one list at a time, or a folder of lists",)),
        (("list", "lists", "--fromat=json"), ("did you mean '--format'?", "'ckprof list lists --help'")),
        (("list", "instnces"), ("'instnces'; did you mean 'instances'?", "ckprof list --help")),
        (("run", "fwd", "--format", "jsn"), ("format 'jsn'; did you mean 'json'?",)),
        (("run", "--conf", LIST, "--dtype", "fp61"), ("data type 'fp61'; did you mean 'fp16'?",)),
        (("run", "--conf", LIST, "--layout", "nhwcg"), ("layout 'nhwcg'; did you mean 'nhwgc'?",)),
        (("list", "instances", "--conf", LIST, "--arch", "gfx905"), ("architecture", "did you")),
        (("run", "legacy.conf"), ("type 'ckprof run --conf legacy.conf'",)),
        (("generate", "my/list.json"), ("type 'ckprof generate DIRECTION --conf my/list.json'",)),
        (("run", "fwd", "legacy.conf"), ("unexpected argument 'legacy.conf'", "type --conf legacy.conf")),
        (("run", "--conf", LIST, "--instance", "3,x"), ("non-negative integer", "3,7-9", "'3,x'")),
        (("run", "--conf", LIST, "--instance", "9-3"), ("the range 9-3 is empty",)),
        (("run", "--conf", LIST, "--jobs", "-2"), ("expected a positive integer, got '-2'",)),
        (("run", "--conf", LIST, "--warmup", "abc"), ("argument --warmup: expected an integer, got 'abc'",)),
        (("compare", "a", "b", "--min-change", "2x"), ("expected a number of percent, got '2x'",)),
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
    ckprof("run", "--conf", name).fails_with(3, part, "'ckprof list lists'")


def test_ranges_of_instances(ckprof):
    called = ckprof("list", "instances", "--conf", LIST, "--instance", "3,7-9", "--instance", "0", "--count")
    assert (called.code, called.out) == (0, "5\n"), called.err


def test_a_shell_is_told_what_can_follow(tmp_path):
    """As argcomplete's scripts ask; nothing may be printed between the words of a line."""
    line, answer = "ckprof run bwd_", tmp_path / "answer"
    asked = {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "COMP_LINE": line, "COMP_POINT": str(len(line))}
    done = subprocess.run(
        [sys.executable, "-m", "ckprof"],
        env={**os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", **asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [word.strip() for word in answer.read_text().split("\n")] == ["bwd_data", "bwd_weight"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ckprof run fwd --ta", ["run", "fwd"]),
        ("ckprof -v generate fwd --rule-set ti", ["-v", "generate", "fwd", "--rule-set"]),
        ("ckprof build ", ["build"]),
        ("ck", []),
    ],
)
def test_words_in_front_of_the_one_to_be_completed(monkeypatch, line, words):
    for further in ("", " and more"):
        monkeypatch.setenv("COMP_LINE", line + further)
        monkeypatch.setenv("COMP_POINT", str(len(line)))
        assert typed_words() == words


@pytest.mark.parametrize(
    ("line", "dest", "prefix", "names"),
    [
        ("ckprof run bwd_", "direction", "bwd_", ["bwd_data", "bwd_weight"]),
        ("ckprof build fwd --target cp", "target", "cp", ["cpu"]),
        ("ckprof -v generate fwd --rule-set ti", "rule_set", "ti", ["tile-engine", "tiny"]),
        ("ckprof generate fwd --arch gfx94", "arch", "gfx94", ["gfx942"]),
    ],
)
def test_options_whose_values_have_names_are_completed(monkeypatch, line, dest, prefix, names):
    """argcomplete ends the process; what it is given is looked at instead."""
    given = []

    def autocomplete(parser, **_):
        given.extend(parser.all_actions())
        raise SystemExit

    monkeypatch.setattr("argcomplete.autocomplete", autocomplete)
    for name, value in (("_ARGCOMPLETE", "1"), ("COMP_LINE", line), ("COMP_POINT", str(len(line)))):
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    (action,) = (action for action in given if action.dest == dest)
    assert action.completer(prefix=prefix, parsed_args=None) == names
    assert {"--target", "--verbose"} <= {option for one in given for option in one.option_strings}


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
