"""The help of every command, as users read it."""

from __future__ import annotations

import pytest

from tests.called import COMMANDS


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_has_help_with_an_example(ckprof, command):
    called = ckprof(command, "--help")
    assert called.code == 0 and called.err == ""
    assert f"usage: ckprof {command}" in called.out
    assert "--quiet" in called.out or f"'ckprof {command} --help-all'" in called.out


def test_the_list_of_commands(ckprof):
    called = ckprof()
    assert called.code == 2
    for command in COMMANDS:
        assert f"\n  {command.name} " in called.out
