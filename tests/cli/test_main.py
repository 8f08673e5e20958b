"""The command line as a whole: help, versions, plugins with commands, exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckprof.cli.commands import schemas
from ckprof.store.schema import SCHEMA_VERSION
from ckprof.version import __version__
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


def test_the_version_is_printed(ckprof):
    assert ckprof("--version") == (0, f"ckprof {__version__}\n", "")
    for words in (("--version", "-v"), ("-v", "--version")):
        first, *lines = ckprof(*words).out.splitlines()
        assert first == f"ckprof {__version__}"
        assert [line.split("  ")[0] for line in lines] == [name for name, _, _ in schemas()]
        assert re.search(rf"^store +{SCHEMA_VERSION} ", "\n".join(lines), re.MULTILINE)


def test_the_command_help(ckprof):
    assert ckprof("help") == ckprof("--help")
    assert ckprof("help", "run") == ckprof("run", "--help")
    assert ckprof("help", "list", "instances") == ckprof("list", "instances", "--help")
    assert ckprof("help").code == 0
    assert "did you mean 'run'?" in ckprof("help", "rnu").err


def test_what_goes_wrong_in_it_has_an_exit_code(ckprof, plugin: Path) -> None:
    called = ckprof("--plugin", plugin, "dig", "--depth", "-1")
    assert called.code == 3 and called.err == "ckprof: there is nothing above\n"
    called = ckprof("--plugin", plugin, "dig", "--depth", "10")
    assert called.code == 4 and "digging.py" in called.err and "ValueError: too deep" in called.err
    called = ckprof("--plugin", plugin, "dig", "--dept", "1")
    assert called.code == 2 and "unknown option '--dept'; did you mean '--depth'?" in called.err
    called = ckprof("--plugin", plugin, "digg")
    assert called.code == 2 and "unknown command 'digg'; did you mean 'dig'?" in called.err


def test_a_plugin_of_the_command_line_has_a_command(ckprof, plugin: Path) -> None:
    called = ckprof("--plugin", plugin, "--help")
    group = called.out.split("\nlook up:\n")[1].split("\n\n")[0]
    assert called.code == 0 and "\n  dig            look below the surface" in group
    assert ckprof("--plugin", plugin, "dig", "--depth", "2") == (0, "dug dug \n", "")
    assert ckprof("dig", "--depth", "9", "--plugin", plugin).code == 1
    shown = ckprof("--plugin", plugin, "help", "dig").out
    assert (
        shown.startswith("usage: ckprof dig") and "Look below the surface." in shown and "how deep" in shown
    )
    assert "--quiet" in shown and "ckprof dig --depth 3" in shown


def test_a_plugin_of_the_settings_has_a_command(ckprof, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "ckprof.toml").write_text(f'plugins = ["{plugin.name}"]\n')
    assert "\n  dig " in ckprof("--help").out
    assert ckprof("dig").out == "dug \n"
    (tmp_path / "ckprof.toml").write_text('plugins = "no list"\n')
    assert "\n  run " in ckprof("--help").out
    assert ckprof("dig").code == 3
