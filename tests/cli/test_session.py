"""What commands work with: settings, messages, and names that help texts show."""

import pytest

from ckprof.cli.main import StopSignals
from ckprof.cli.session import open_session
from ckprof.errors import InputError, PluginError
from ckprof.events import Level, Message

from .digging import PLUGIN


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(verbosity=0, config=None, plugins=()):
        return open_session(StopSignals(), verbosity=verbosity, config=config, plugins=plugins)

    return call


def test_settings_of_the_folder_or_of_the_file_that_is_named_hold(opened, tmp_path):
    assert opened().settings.compiler is None
    (tmp_path / "ckprof.toml").write_text('compiler = "here"\ntimeout = 7.5\n')
    (tmp_path / "other.toml").write_text('compiler = "there"\n')
    session = opened()
    assert (session.settings.compiler, session.settings) == ("here", session.profiler.settings)
    assert opened(config=tmp_path / "other.toml").settings.compiler == "there"
    assert session.help_names()["timeout"]() == "7.5"
    with pytest.raises(InputError, match=r"none\.toml"):
        opened(config=tmp_path / "none.toml")


def test_help_names_what_plugins_and_types_there_are(opened):
    session = opened()
    names = session.help_names()
    assert {kind.name for kind in session.registry.kinds} < set(names)
    target = session.registry.targets.find("cpu")
    assert f"cpu: {target.label}" in names["target"]().split("; ")
    assert "fp16" in names["dtypes"]() and "bf16" in names["dtypes"]()
    assert names["revisions"]().startswith("(20") and names["compile_timeout"]().isdecimal()


def test_plugins_of_the_command_line_are_loaded_or_an_error(opened, tmp_path):
    (tmp_path / "digging.py").write_text(PLUGIN)
    session = opened(plugins=["digging.py"])
    assert session.manager is session.profiler.manager
    assert "digging.py" in [plugin.name for plugin in session.manager.plugins]
    with pytest.raises(PluginError, match=r"none\.py"):
        opened(plugins=["none.py"])


def test_what_the_library_tells_is_printed(opened, capsys):
    for verbosity, printed in ((-1, ["warning: c"]), (0, ["b", "warning: c"]), (1, ["a", "b", "warning: c"])):
        emit = opened(verbosity).profiler.emit
        for text, level in zip("abc", (Level.DETAIL, Level.INFO, Level.WARNING), strict=True):
            emit(Message(text, level))
        assert capsys.readouterr().err.splitlines() == printed
