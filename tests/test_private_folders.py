"""What others have made, or can change, where everybody can write is refused, whatever it is for."""

# ruff: noqa: F811 - fixtures are parameters

import ast
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ckprof import files, paths
from ckprof.errors import ToolchainError
from ckprof.kernels.build_dir import _make
from ckprof.kernels.builder import build_tree
from ckprof.measure.workers import device_lock
from ckprof.private_folders import checked, claimed, lock_file, private_folder, temporary_folder
from ckprof.store.writer import StoreWriter
from tests.places import belongs_to_tests
from tests.shared_folders import (  # noqa: F401 - fixtures
    STRANGER,
    Place,
    check_made_is_private,
    check_others_are_refused,
    check_writable_is_refused,
    give,
    places,
    plant,
    shared,
)

ROOT = Path(__file__).parents[1]


def take_device_lock(shared):
    with device_lock("cpu", 0, pytest.fail):
        pass


def make_scratch(shared):
    with files.scratch_folder():
        pass


def write_store(shared):
    StoreWriter(shared / "place").close()


#: what uses a name in a shared folder that others can foresee -> (the name, what uses it)
PLACES = {
    "cache": ("cache", lambda shared: paths.cache_dir()),
    "locks of devices": (f"ckprof-{os.geteuid()}", take_device_lock),
    "folder of temporary files": ("tmp", make_scratch),
    "folder of a build that is named": ("place", lambda shared: _make(shared / "place", None, is_named=True)),
    "folder of a build": (
        "place",
        lambda shared: build_tree(None, None, work_dir=shared / "place", cache=None, timeout_s=1.0),
    ),
    "folder of an output": ("place", lambda shared: files.write_output(shared / "place" / "a.csv", "text")),
}
#: file in a shared folder that others can foresee -> what uses it
FILES = {
    "place.lock": write_store,
    "place.writer": write_store,
    "place-journal": write_store,
    "place-wal": write_store,
    "place-shm": write_store,
    "place": write_store,
    "out.csv": lambda shared: files.write_output(shared / "out.csv", "text"),
    "device.lock": lambda shared: lock_file(shared / "device.lock"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_another_user_made_is_refused(place, kind, plant, give, places, tmp_path):
    check_others_are_refused(PLACES[place], kind, plant, give, places, tmp_path)


@pytest.mark.parametrize("place", [place for place in PLACES if PLACES[place][0] != "tmp"])
@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_that_others_can_write_to_is_refused(place, mode, plant, places):
    check_writable_is_refused(PLACES[place], mode, plant, places)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_files_of_other_users_are_not_written(name, kind, give, places, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("kept")
    planted = places / name
    if kind == "link":
        planted.symlink_to(mine)
    elif kind == "pipe":
        os.mkfifo(planted, 0o666)
    else:
        planted.write_text("theirs")
    give(planted)
    with pytest.raises(ToolchainError, match="belongs to another user"):
        FILES[name](places)
    assert mine.read_text() == "kept"
    assert kind != "file" or planted.read_text() == "theirs"


@pytest.mark.parametrize("place", [place for place in PLACES if place != "folder of an output"])
def test_nobody_else_gets_into_what_is_made(place, places, monkeypatch):
    check_made_is_private(PLACES[place], places, monkeypatch)


def test_own_links_and_links_of_root_are_followed(shared, tmp_path):
    (tmp_path / "target").mkdir()
    (shared / "link").symlink_to(tmp_path / "target")
    assert private_folder(shared / "link" / "below") == shared / "link" / "below"
    assert (tmp_path / "target" / "below").is_dir()


def test_links_that_lead_into_a_shared_folder_are_followed_there(shared, tmp_path, give):
    (shared / "theirs").mkdir()
    give(shared / "theirs")
    (tmp_path / "link").symlink_to("shared/./theirs/../theirs")
    with pytest.raises(ToolchainError, match="theirs: this folder on the way to"):
        private_folder(tmp_path / "link" / "cache")


def test_a_part_on_the_way_is_looked_at_too(shared, give):
    (shared / "theirs").mkdir()
    give(shared / "theirs")
    with pytest.raises(ToolchainError, match="on the way to"):
        checked(shared / "theirs" / "a" / "b")


def test_links_that_go_round_end(tmp_path):
    (tmp_path / "round").symlink_to("round")
    assert checked(tmp_path / "round") == tmp_path / "round"
    with pytest.raises(OSError, match="exists"):
        private_folder(tmp_path / "round")


def test_a_folder_for_temporary_files_may_be_shared_itself(shared, monkeypatch):
    inner = shared / "tmp"
    inner.mkdir()
    inner.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(inner))
    assert temporary_folder() == inner
    with pytest.raises(ToolchainError, match="other users can write"):
        private_folder(inner)


def test_without_the_sticky_bit_owners_count(shared, give):
    shared.chmod(0o777)
    (shared / "mine").mkdir()
    (shared / "mine").chmod(0o777)
    assert private_folder(shared / "mine")
    (shared / "theirs").mkdir()
    give(shared / "theirs")
    with pytest.raises(ToolchainError, match="belongs to another user"):
        private_folder(shared / "theirs")


def test_caches_of_teams_are_no_concern(tmp_path, give):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o2775)
    (team / "cache").mkdir()
    (team / "cache").chmod(0o2775)
    give(team / "cache")
    assert claimed(team / "cache") == team / "cache"
    assert not os.path.lexists(claimed(team / "other"))
    before = os.umask(0o002)
    try:
        lock_file(team / "a.lock")
    finally:
        os.umask(before)
    assert stat.S_IMODE((team / "a.lock").stat().st_mode) == 0o664


@pytest.mark.parametrize("members", [(), ("somebody",)])
def test_a_group_that_is_the_users_alone_may_write(members, shared, monkeypatch):
    import grp
    import pwd

    (shared / "mine").mkdir()
    (shared / "mine").chmod(0o775)
    name = pwd.getpwuid(os.geteuid()).pw_name
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((name, "x", gid, list(members))))
    if members:
        with pytest.raises(ToolchainError, match="other users can write"):
            checked(shared / "mine")
    else:
        assert checked(shared / "mine")


def test_a_lock_of_another_user_locks_where_a_team_may_write(tmp_path, give):
    lock = tmp_path / "team.lock"
    lock.write_text("")
    lock.chmod(0o666)
    give(lock)
    with lock_file(lock).acquire(timeout=0):
        command = "from pathlib import Path; from ckprof.private_folders import lock_file; import sys\n"
        done = subprocess.run(
            [sys.executable, "-c", f"{command}lock_file(Path(sys.argv[1])).acquire(timeout=0)", str(lock)],
            check=False,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        assert done.returncode and "Timeout" in done.stderr
    assert lock.read_text() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_have_root_fooled(shared, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest" in str(folder):
            folder.chmod(0o755)
    (tmp_path / "mine").write_text("kept")
    command = ["ln", "-s", str(tmp_path / "mine"), str(shared / "a.csv")]
    subprocess.run(command, check=True, user=STRANGER, cwd="/")
    with pytest.raises(ToolchainError, match="this symbolic link belongs to another user"):
        files.write_output(shared / "a.csv", "text")
    assert (tmp_path / "mine").read_text() == "kept"


#: names of functions that choose a place, and texts that name one
_CHOOSES = re.compile(r"gettempdir|XDG_RUNTIME_DIR|\b(FileLock|SoftFileLock)\(|^/(tmp|dev/shm|var/tmp|run)\b")
_MAY_CHOOSE = re.compile(
    r"gettempdir|XDG_RUNTIME|FileLock|mk[ds]temp|Temporary(Dir|File)|/(tmp|dev/shm|var/tmp|run)\b"
)


@pytest.mark.parametrize("folder", ["ckprof", "plugins", "converters"])
def test_places_in_shared_folders_are_chosen_in_one_file(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path == ROOT / "ckprof" / "private_folders.py" or belongs_to_tests(path):
            continue
        content = path.read_text()
        # most files need not be parsed
        nodes = ast.walk(ast.parse(content)) if _MAY_CHOOSE.search(content) else ()
        for node in nodes:
            found = ""
            match node:
                case ast.Constant(value=str(text)) if "\n" not in text:
                    found = text
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    found = name
                case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), keywords=words):
                    found = f"{name}("
                    if name in ("mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"):
                        assert any(word.arg == "dir" for word in words), f"{path}:{node.lineno}: say dir="
            assert not _CHOOSES.search(found), f"{path}:{getattr(node, 'lineno', 0)}: use private_folders"
