"""``ckprof doctor``: what targets find, plugins that are broken, the settings, and the exit code."""

import json

import pytest

from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry

TARGET = """
from ckprof import hookimpl
from ckprof.model.device import Finding, FindingState


class Device:
    id, label, target, archs = "soft", "", "mine", ()

    def findings(self):
        return (Finding("emulator", FindingState.OK, "always there"),)

    def variables(self, device):
        return {}

    def recipe(self, target, request):
        pass


class Target:
    id, label, embedded, default_arch = "mine", "", EMBEDDED, "gfx942"

    def findings(self):
        return (Finding("compiler", FindingState.STATE, "none", "install one"),)

    def recipe(self, request):
        pass


@hookimpl
def ckprof_register(registry):
    registry.add(Target())
    registry.add(Device())
"""


@pytest.fixture
def doctor(ckprof, tmp_path, monkeypatch):
    """Ask a target that found a compiler in some state, and no other."""
    manager = PluginManager()
    manager.load_all()
    targets = Registry(manager).targets
    monkeypatch.setenv("CKPROF_DISABLE_PLUGINS", ",".join(targets.provider(id_) for id_ in targets.ids))

    def call(state, *words, embedded=True):
        text = TARGET.replace("EMBEDDED", str(embedded)).replace("STATE", state)
        (tmp_path / "mine.py").write_text(text)
        return ckprof("doctor", "--plugin", "mine.py", *words)

    return call


def test_findings_of_targets_and_of_their_devices_are_shown(doctor):
    rows = json.loads(doctor("OK", "--format", "json").out)
    assert rows == [
        {"target": "mine", "topic": "compiler", "state": "ok", "found": "none", "what to do": "install one"},
        {"target": "mine", "topic": "emulator", "state": "ok", "found": "always there", "what to do": ""},
    ]


@pytest.mark.parametrize("state", ["OK", "OPTIONAL", "MISSING", "BROKEN"])
def test_what_the_embedded_default_lacks_is_an_error(doctor, state):
    assert doctor(state).code == (5 if state in ("MISSING", "BROKEN") else 0)
    assert doctor(state, embedded=False).code == 0


def test_settings_say_what_code_they_name(doctor, tmp_path):
    (tmp_path / "other.py").write_text("")
    (tmp_path / "mine.toml").write_text('compiler = "clang++-99"\nplugins = ["other.py"]\n')
    rows = json.loads(doctor("OK", "--config", "mine.toml", "--format", "json").out)
    found = {row["topic"]: row["found"] for row in rows if row["target"] == ""}
    assert found == {
        "settings": "mine.toml",
        "plugin of the settings": "other.py",
        "compiler of the settings": "clang++-99",
    }


def test_a_broken_plugin_is_an_error_unless_more_is_missing(doctor, install):
    install("odd", {"odd_package": "raise ValueError('no')"}, "[ckprof]\nodd = odd_package\n")
    called = doctor("OK")
    assert called.code == 4
    assert "plugin odd" in called.out and "no" in called.out and "see 'ckprof plugins'" in called.out
    assert doctor("MISSING").code == 5
