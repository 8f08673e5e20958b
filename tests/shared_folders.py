"""Folders where everybody can write, and strangers who make things there first."""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ckprof import paths
from ckprof.errors import CkprofError, ExitCode, ToolchainError

STRANGER = os.geteuid() + 4711


@pytest.fixture
def shared(tmp_path):
    """A folder like ``/tmp``."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def give(monkeypatch):
    """Have a file, folder or link belong to another user."""
    given = []
    lstat = Path.lstat

    def foreign(path):
        found = lstat(path)
        if path not in given:
            return found
        return os.stat_result([*found[:4], STRANGER, *found[5:]])

    def give(path):
        if os.geteuid() == 0:
            os.lchown(path, STRANGER, -1)
        else:
            given.append(path)
            monkeypatch.setattr(Path, "lstat", foreign)
        return path

    return give


@pytest.fixture
def places(shared, monkeypatch):
    """Everything that ckprof chooses itself lies in a shared folder."""
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(shared / "cache"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return shared


@pytest.fixture
def plant(places, monkeypatch, tmp_path):
    """Make a folder or a link to one before ckprof does."""

    def plant(name, kind):
        path = places / name
        monkeypatch.setattr("tempfile.tempdir", str(path if name == "tmp" else places))
        if kind == "link":
            (tmp_path / "target").mkdir()
            path.symlink_to(tmp_path / "target")
        else:
            path.mkdir()
        return path

    return plant


#: (name in a shared folder that others can foresee, what uses it)
Place = tuple[str, Callable[[Path], object]]


def check_others_are_refused(place, kind, plant, give, places, tmp_path):
    """Assert that a folder or link that another user made is refused and left as it is."""
    name, use = place
    planted = give(plant(name, kind))
    with pytest.raises(ToolchainError) as caught:
        use(places)
    assert caught.value.exit_code is ExitCode.TOOLCHAIN
    message = str(caught.value)
    assert message.startswith(f"{planted}: this {'symbolic link' if kind == 'link' else 'folder'}")
    assert "belongs to another user" in message and "remove it, or choose a place" in message
    seen = tmp_path / "target" if kind == "link" else planted
    assert list(seen.iterdir()) == []


def check_writable_is_refused(place, mode, plant, places):
    """Assert that a folder that others can write to is refused and left as it is."""
    name, use = place
    planted = plant(name, "folder")
    planted.chmod(mode)
    with pytest.raises(
        ToolchainError, match=f"{re.escape(f'{planted}: other users can write to this folder')}"
    ):
        use(places)
    assert list(planted.iterdir()) == []


def check_made_is_private(place, places, monkeypatch):
    """Assert that nobody else gets into folders that are made."""
    monkeypatch.setattr("tempfile.tempdir", str(places))
    _, use = place
    before = os.umask(0)
    try:
        use(places)
    except (CkprofError, AttributeError):
        # a build of nothing
        pass
    finally:
        os.umask(before)
    for made in places.iterdir():
        assert not made.is_dir() or stat.S_IMODE(made.stat().st_mode) == 0o700, made
