"""The settings of engines: what is wrong is reported with its line."""

from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof_plugins.cluster.folder import LeasePolicy, SweepFolder
from ckprof_plugins.cluster.messages import ReferencePolicy
from ckprof_plugins.cluster.settings import line_of, read_settings


def read(tmp_path, text):
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    return read_settings(path)


def test_an_empty_file_has_the_defaults(tmp_path):
    settings = read(tmp_path, "")
    assert (settings.engine, settings.folder, settings.tables) == ("", None, {})
    assert (settings.lease, settings.reference) == (LeasePolicy(), ReferencePolicy())


def test_everything_is_read(tmp_path):
    text = """
engine = "mine"
[transport]
kind = "folder"
path = "/shared/sweeps"
[lease]
silence_s = 12.5
doubt_s = 3
attempts = 2
[reference]
every = 7
park_s = 1
[mine]
anything = [1, 2]
"""
    settings = read(tmp_path, text)
    assert (settings.engine, settings.folder) == ("mine", Path("/shared/sweeps"))
    assert settings.lease == LeasePolicy(silence_s=12.5, doubt_s=3.0, attempts=2)
    assert (settings.reference.every, settings.reference.park_s) == (7, 1.0)
    assert settings.tables == {"mine": {"anything": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[lease]\n\nsilence = 3\n", 3, "lease.silence: unknown key 'silence'"),
        ("[lease]\nsilence_s = 'x'\n", 2, "lease.silence_s: Expected `float`, got `str`"),
        ("[lease]\nsilence_s = 0\n", 1, "expected more than 0 seconds"),
        ("[lease]\nattempts = 0\n", 1, "attempts is 0, expected at least 1"),
        ("\n[reference]\nsamples = 1\n", 2, "samples is 1, expected at least 3"),
        ("[transport]\nkind = 'disk'\n", 2, "the transport is 'disk', expected folder or engine"),
        ("[transport]\nkind = 'folder'\n", 2, "needs a path"),
        ("[transport]\npath = '/x'\n", 2, 'a path is for kind = "folder"'),
        ("[lease\n", 1, "not valid TOML"),
        ("engine = 3\n", 1, "engine: Expected `str`, got `int`"),
    ],
)
def test_wrong_files(tmp_path, text, line, message):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert (error.value.line, error.value.path) == (line, tmp_path / "cluster.toml")


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("place", "line"),
    [("a.b.c", 3), ("a.b.d", 2), ("a.x", 1), ("e", 5), ('a."quoted"', 2), ("nothing", None)],
)
def test_lines_of_keys(place, line):
    assert line_of("[a]\n[a.b]\nc = 1\n# e = 2\n[e]\nf = 1\n", place) == (1 if "quoted" in place else line)


def test_folders_of_stores(tmp_path):
    store = tmp_path / "r.db"
    shared = SweepFolder.below(tmp_path / "shared", store)
    assert shared.root == SweepFolder.below(tmp_path / "shared", store).root
    assert shared.root != SweepFolder.below(tmp_path / "shared", tmp_path / "other" / "r.db").root
    assert SweepFolder.beside(store).root == tmp_path / "r.db.sweep"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder of the sweep"):
        SweepFolder(tmp_path / "file" / "sweep").make()
