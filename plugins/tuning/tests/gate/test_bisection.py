"""Which of several states is the first bad one."""

import subprocess

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode, InputError, NothingLeftError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof_plugins.tuning.gate import command
from ckprof_plugins.tuning.gate.bisection import bisect, states_of
from ckprof_plugins.tuning.gate.comparison import Regression
from ckprof_plugins.tuning.gate.sides import GateSide
from plugins.tuning.tests.gate.sides import figures, file, side

STATES = [GateSide(name=f"c{number}", compiler="cc") for number in range(12)]


def _found(times, fail_on=(Regression.SLOWER,)):
    """Search among states with these times; ``None`` for one that cannot be built."""
    asked = []

    def predicted(state):
        index = STATES.index(state)
        asked.append(index)
        if times[index] is None:
            raise NothingLeftError("it does not compile")
        return side(figures(time_us=times[index]))

    said = []
    return bisect(STATES[: len(times)], predicted, fail_on, said.append), asked, said


@pytest.mark.parametrize("first_bad", range(1, 12))
def test_the_first_bad_state_is_found_in_few_steps(first_bad):
    found, asked, said = _found([10.0] * first_bad + [11.0] * (12 - first_bad))
    assert found.suspects == (f"c{first_bad}",)
    assert (found.diff.before, found.diff.after) == (f"c{first_bad - 1}", f"c{first_bad}")
    assert len(asked) == len(set(asked)) == len(said) <= 2 + 4
    assert [tried.index for tried in found.tried] == sorted(asked)


def test_states_that_cannot_be_built_are_suspects_where_they_stand_before_the_first_bad_one():
    found, _, said = _found([10.0, None, 10.0, None, None, 11.0, None, 11.0])
    assert found.suspects == ("c3", "c4", "c5")
    assert any("c4: skipped: it does not compile" in text for text in said)
    with pytest.raises(NothingLeftError):
        _found([10.0, 10.0, None])


def test_a_last_state_that_is_as_good_as_the_first_ends_it():
    found, asked, _ = _found([10.0, 99.0, 10.0])
    assert (found.diff, asked) == (None, [0, 2])
    # what counts as worse is asked for
    assert _found([10.0, 11.0], {Regression.SLOWER: 0.2})[0].diff is None


@pytest.fixture
def tree(tmp_path):
    """A repository with five commits; the third one changes nothing in the folder ``include``."""
    folder = tmp_path / "include"
    folder.mkdir()

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for number in range(5):
        (tmp_path / "outside" if number == 2 else folder / "ck.hpp").write_text(f"{number}")
        git("add", ".")
        git("commit", "-qm", f"change {number}")
    return folder


def test_the_states_between_two_revisions(tree, tmp_path):
    found = states_of([f"{tree}@HEAD~4", f"{tree}@HEAD"])
    assert [state.name.partition(" ")[2] for state in found[1:]] == ["change 1", "change 3", "change 4"]
    folders = [state.build_options(BuildOptions()).ck_root for state in found]
    contents = [(folder / "ck.hpp").read_text() for folder in folders]
    assert contents == ["0", "1", "3", "4"]
    with pytest.raises(InputError, match="no commit"):
        states_of([f"{tree}@HEAD", f"{tree}@HEAD~4"])
    with pytest.raises(UsageError, match="two states"):
        states_of(["sh"])
    with pytest.raises(UsageError, match="is a baseline"):
        states_of(["sh", str(file(tmp_path / "b.json"))])


def test_the_command_names_the_state_and_why(monkeypatch, capsys, short_list):
    times = iter((10.0, 11.0, 10.0))
    monkeypatch.setattr(
        command,
        "bisect_predictions",
        lambda session, states, options, fail_on: bisect(
            states, lambda state: side(figures(time_us=next(times))), fail_on, lambda text: None
        ),
    )
    lines = ("--conf", str(short_list), "--problem", "conv -n 1 -c 64 -H 8 -W 8 -k 64 -y 1 -x 1 -F 1")
    assert main(["predict", "fwd", *lines, "--bisect", "sh", "sh -c", "sh -e"]) == ExitCode.FAILED
    shown = capsys.readouterr().out
    assert "first bad state: sh -e" in shown
    assert "+10.0 %" in shown
    typed = {
        ("--bisect", "sh"): "two states",
        ("--bisect", "sh", "sh", "--format", "junit"): "table, md and json",
        ("--bisect", "sh", "sh", "--write", "b.json"): "--write",
        ("--bisect", "sh", "sh", "--compiler", "cc"): "--compiler",
        ("--bisect", "sh", "sh", "--kernel", "999"): "no kernel is of that line",
    }
    for words, said in typed.items():
        assert main(["predict", "fwd", *lines, *words]) == ExitCode.USAGE
        assert said in capsys.readouterr().err
