"""Messages and exit codes of errors."""

import signal
from pathlib import Path

import pytest

from ckprof.errors import (
    SHOWN,
    CkprofError,
    Diagnostic,
    ExitCode,
    InputError,
    Interrupted,
    ListError,
    NothingLeftError,
    PluginError,
    ToolchainError,
    UsageError,
    input_errors,
    system_errors,
)


def test_every_error_has_a_documented_exit_code():
    codes = {NothingLeftError: 1, UsageError: 2, InputError: 3, PluginError: 4, ToolchainError: 5}
    assert {kind: int(kind.exit_code) for kind in codes} == codes
    assert all(issubclass(kind, CkprofError) for kind in codes) and issubclass(ListError, InputError)
    # 128 and the signal's number, as shells have it
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        assert Interrupted(number).exit_code == 128 + number
    assert str(Interrupted()) == "SIGINT" and isinstance(Interrupted(), KeyboardInterrupt)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((), "wrong"),
        (("",), "wrong"),
        (("--problem",), "--problem: wrong"),
        ((Path("a.conf"), 3), "a.conf:3: wrong"),
        (("a.conf", 3, 7), "a.conf:3:7: wrong"),
        # a name is no control sequence
        (("a\n\x1b[2J.conf",), "a\\n\\u001b[2J.conf: wrong"),
    ],
)
def test_an_input_says_where_it_is_wrong(place, text):
    assert str(InputError("wrong", *place)) == text


def test_a_list_names_its_places_up_to_a_number():
    def error(count):
        return ListError(
            [Diagnostic(path="a.conf", message="no", line=n + 1, column=2) for n in range(count)]
        )

    lines = str(error(SHOWN)).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("a.conf:1:2: no", f"a.conf:{SHOWN}:2: no", SHOWN)
    many = error(SHOWN + 3)
    assert str(many).splitlines()[-2:] == [f"a.conf:{SHOWN}:2: no", "... and 3 more"]
    assert len(many.diagnostics) == SHOWN + 3
    assert (many.path, many.line, many.column, many.message) == ("a.conf", 1, 2, "no")
    assert str(Diagnostic(path="a.conf", message="empty")) == "a.conf: empty"


def test_what_systems_and_parsers_raise_becomes_one_message(tmp_path):
    missing = tmp_path / "none"
    with pytest.raises(InputError) as told, system_errors(InputError, "cannot read", missing):
        missing.read_bytes()
    assert str(told.value) == f"{missing}: cannot read: No such file or directory"
    assert told.value.__cause__ is None and told.value.exit_code is ExitCode.INPUT
    with pytest.raises(InputError, match=r"^x: no number: invalid literal for int\(\)"):
        with input_errors(ValueError, "no number", "x"):
            int("one")
    with pytest.raises(KeyError), input_errors(ValueError, "no number", "x"):
        {}["one"]
