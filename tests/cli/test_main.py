"""The command line as a whole: help, versions, plugins with commands, exit codes."""

import re
import signal

import pytest

from ckprof.cli.commands import schemas
from ckprof.cli.main import StopSignals
from ckprof.errors import Interrupted
from ckprof.store.schema import SCHEMA_VERSION
from ckprof.version import __version__
from tests.called import COMMANDS
from tests.cases import each

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@each(command=[command.name for command in COMMANDS])
def test_every_command_has_help_with_an_example(ckprof, command):
    called = ckprof(command, "--help")
    assert called.code == 0 and called.err == ""
    assert f"usage: ckprof {command}" in called.out
    assert "--quiet" in called.out or f"'ckprof {command} --help-all'" in called.out
    # usage that is longer is not read
    for text in (called.out, ckprof(command, "--help-all").out):
        assert len(text.partition("\n\n")[0].splitlines()) <= 3


def test_commands_and_their_help(ckprof):
    called = ckprof()
    assert called.code == 2
    for command in COMMANDS:
        assert f"\n  {command.name} " in called.out
    assert ckprof("help") == ckprof("--help")
    assert ckprof("help", "run") == ckprof("run", "--help")
    assert ckprof("help", "list", "instances") == ckprof("list", "instances", "--help")
    assert ckprof("help").code == 0
    assert "did you mean 'run'?" in ckprof("help", "rnu").err


def test_the_version_is_printed(ckprof):
    assert ckprof("--version") == (0, f"ckprof {__version__}\n", "")
    for words in (("--version", "-v"), ("-v", "--version")):
        first, *lines = ckprof(*words).out.splitlines()
        assert first == f"ckprof {__version__}"
        assert [line.split("  ")[0] for line in lines] == [name for name, _, _ in schemas()]
        assert re.search(rf"^store +{SCHEMA_VERSION} ", "\n".join(lines), re.MULTILINE)


def test_what_goes_wrong_in_it_has_an_exit_code(ckprof, plugin):
    called = ckprof("--plugin", plugin, "dig", "--depth", "-1")
    assert called.code == 3 and called.err == "ckprof: there is nothing above\n"
    called = ckprof("--plugin", plugin, "dig", "--depth", "10")
    assert called.code == 4 and "digging.py" in called.err and "ValueError: too deep" in called.err
    called = ckprof("--plugin", plugin, "dig", "--dept", "1")
    assert called.code == 2 and "unknown option '--dept'; did you mean '--depth'?" in called.err
    called = ckprof("--plugin", plugin, "digg")
    assert called.code == 2 and "unknown command 'digg'; did you mean 'dig'?" in called.err


def test_a_plugin_of_the_command_line_has_a_command(ckprof, plugin):
    called = ckprof("--plugin", plugin, "--help")
    group = called.out.split("\nlook up:\n")[1].split("\n\n")[0]
    assert called.code == 0 and "\n  dig            look below the surface" in group
    assert ckprof("--plugin", plugin, "dig", "--depth", "2") == (0, "dug dug \n", "")
    assert ckprof("dig", "--depth", "9", "--plugin", plugin).code == 1
    for words in (("list", "archs"), ("problems", "show", "resnet50")):
        assert ckprof(*words, "-q", "--plugin", plugin) == (0, ckprof(*words).out, "")
        ckprof(*words, "--plugin", "none.py").fails_with(4, "no such file: none.py")
    shown = ckprof("--plugin", plugin, "help", "dig").out
    assert (
        shown.startswith("usage: ckprof dig") and "Look below the surface." in shown and "how deep" in shown
    )
    assert "--quiet" in shown and "ckprof dig --depth 3" in shown


def test_a_plugin_of_the_settings_has_a_command(ckprof, plugin, tmp_path):
    (tmp_path / "ckprof.toml").write_text(f'plugins = ["{plugin.name}"]\n')
    assert "\n  dig " in ckprof("--help").out
    assert ckprof("dig").out == "dug \n"
    (tmp_path / "ckprof.toml").write_text('plugins = "no list"\n')
    assert "\n  run " in ckprof("--help").out
    assert ckprof("dig").code == 3


@pytest.fixture
def signals():
    """Heed signals, also where the tests themselves are run in the background."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    with StopSignals() as heeded:
        yield heeded
    assert all(signal.getsignal(number) is signal.default_int_handler for number in ENDING)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_ends_the_command_and_further_ones_change_nothing_but_ctrl_c(signals):
    signals.check()
    assert (signals.requested, signals.exit_code) == (False, 0)
    with pytest.raises(Interrupted, match="SIGHUP"):
        signal.raise_signal(signal.SIGHUP)
    # a closed terminal sends several
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="SIGINT"):
        signal.raise_signal(signal.SIGINT)
    assert (signals.received, signals.exit_code) == (signal.SIGHUP, 129)
    signals.finish()
    signal.raise_signal(signal.SIGINT)


def test_the_first_signal_is_a_request_once_something_has_begun(signals):
    said = []
    signals.begin(said.append)
    signals.begin(pytest.fail)
    signal.raise_signal(signal.SIGTERM)
    assert said == ["SIGTERM: stopping after the current kernel; repeat to stop at once"]
    with pytest.raises(Interrupted, match="SIGTERM"):
        signals.check()
    with pytest.raises(Interrupted, match="SIGTERM"):
        signal.raise_signal(signal.SIGTERM)


def test_what_must_be_done_as_a_whole_is_interrupted_by_the_second_signal_alone(signals):
    with signals.deferred():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGINT)


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            signal.raise_signal(signal.SIGHUP)
        assert not signals.requested and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
