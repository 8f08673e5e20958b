"""Where settings come from and what is rejected."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.settings import Settings, find_file, load_settings


def test_settings_of_no_file_or_of_a_parent_folder(tmp_path):
    assert load_settings(None, tmp_path, {}) == Settings()
    (tmp_path / "ckprof.toml").write_text('jobs = 3\nplugins = ["mine.py", "package.module"]\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    settings = load_settings(None, inner, {})
    assert settings.jobs == 3
    assert settings.plugins == (str(tmp_path / "mine.py"), "package.module")


def test_files_of_architectures_are_relative_to_the_file(tmp_path):
    (tmp_path / "ckprof.toml").write_text(
        'architectures = ["mine.json", "/abs/other.json", "~/third.json"]\n'
    )
    inner = tmp_path / "a"
    inner.mkdir()
    expected = (str(tmp_path / "mine.json"), "/abs/other.json", "~/third.json")
    assert load_settings(None, inner, {}).architectures == expected
    assert load_settings(None, inner, {"CKPROF_ARCHITECTURES": "x.json,y.json"}).architectures == (
        "x.json",
        "y.json",
    )


def test_the_environment_wins_over_the_file(tmp_path):
    (tmp_path / "ckprof.toml").write_text('jobs = 3\ntimeout = 5\ncompile_timeout = "1m30s"\n')
    settings = load_settings(None, tmp_path, {"CKPROF_JOBS": "7", "CKPROF_PLUGINS": "a,b"})
    assert (settings.jobs, settings.timeout, settings.plugins) == (7, 5.0, ("a", "b"))
    assert settings.compile_timeout == 90
    assert load_settings(None, tmp_path, {"CKPROF_TIMEOUT": "2m"}).timeout == 120


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job = 3\n", "unknown setting 'job'; did you mean 'jobs'?"),
        ('jobs = "3"\n', "jobs is '3', expected an integer"),
        ("jobs = 0\n", "jobs is 0, expected more than 0"),
        ("timeout = -0.5\n", "timeout is -0.5, expected more than 0"),
        ("timeout = [1]\n", "timeout is [1], expected seconds, or a time such as 90s or 5m"),
        ("target = 1\n", "target is 1, expected a text"),
        ('plugins = ["a", 2]\n', "plugins is ['a', 2], expected a list of texts"),
        ("jobs = \n", "not valid TOML"),
    ],
)
def test_wrong_files_name_the_file(tmp_path, text, message):
    path = tmp_path / "ckprof.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_settings(path, tmp_path, {})
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_what_is_wrong_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load_settings(tmp_path / "none.toml", tmp_path, {})
    with pytest.raises(UsageError, match="CKPROF_JOBS: jobs is 'many', expected an integer"):
        load_settings(None, tmp_path, {"CKPROF_JOBS": "many"})


def test_every_setting_has_a_name_for_its_type():
    from ckprof.settings import _EXPECTED

    assert {setting.type for setting in fields(Settings)} == set(_EXPECTED)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_file_that_everybody_can_write_is_not_read(tmp_path, place):
    shared = tmp_path / "shared"
    inner = shared / "a"
    inner.mkdir(parents=True)
    path = shared / "ckprof.toml"
    path.write_text('plugins = ["evil.py"]\n')
    (path if place == "file" else shared).chmod(0o777)
    assert load_settings(None, inner, {}) == Settings()
    _, message = find_file(inner)
    assert str(path) in message and "can be written by everybody" in message and "--config" in message
    assert load_settings(path, inner, {}).plugins == (str(shared / "evil.py"),)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_file_of_another_user_is_not_read(tmp_path, place, monkeypatch):
    inner = tmp_path / "shared" / "a"
    inner.mkdir(parents=True)
    path = tmp_path / "shared" / "ckprof.toml"
    path.write_text('compiler = "evil"\n')
    own = os.getuid()
    monkeypatch.setattr("ckprof.settings.os.getuid", lambda: own + 1)
    real = Path.stat

    def stat(self, **options):
        values = list(real(self, **options))
        other = self == path if place == "file" else self == path.parent
        values[4] = own + 2 if other else own + 1
        return os.stat_result(values)

    monkeypatch.setattr(Path, "stat", stat)
    assert load_settings(None, inner, {}) == Settings()
    assert "belongs to another user" in find_file(inner)[1]
