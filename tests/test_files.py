"""Files that are complete or as they were, and folders that last as long as their process."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from ckprof import files
from ckprof.errors import InputError
from tests.faults import failing_with


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_pieces_and_texts_are_written_where_folders_are_missing(tmp_path):
    path = tmp_path / "a" / "b" / "x.json"
    assert files.write_output(path, iter([b"one", b"two"])) and path.read_bytes() == b"onetwo"
    stamp = path.stat().st_mtime_ns
    # the same bytes again, whole or in pieces, leave the file alone
    assert not files.write_output(path, "onetwo") and not files.write_output(path, iter([b"onet", b"wo"]))
    files.write_if_changed(path, "onetwo")
    assert path.stat().st_mtime_ns == stamp and names(path.parent) == ["x.json"]
    for content in ("é", b"\xff"):
        path.write_bytes(b"\xff")
        files.write_if_changed(path, "é")
        assert path.read_text(encoding="utf-8") == "é"
        assert files.write_output(path, content) is (content != "é")


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    assert files.write_output(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "real.json").read_text() == "new"
    (tmp_path / "round.json").symlink_to("round.json")
    with pytest.raises(InputError, match=r"round\.json: cannot follow: .* go round in a circle"):
        files.write_output(tmp_path / "round.json", "new")


def test_links_may_not_lead_out_of_a_folder(tmp_path):
    out = tmp_path / "out"
    (out / "below").mkdir(parents=True)
    (out / "in").symlink_to("below")
    (out / "up").symlink_to(tmp_path)
    assert files.resolved(out / "in" / "x", within=out) == out / "below" / "x"
    assert files.resolved(out / "up" / "x") == tmp_path / "x"
    with pytest.raises(InputError, match=r"out/up/x: a symbolic link leads out of the output folder, to /"):
        files.resolved(out / "up" / "x", within=out)


def test_a_device_stays_a_device():
    assert files.write_output(Path("/dev/null"), "text") and Path("/dev/null").is_char_device()
    with pytest.raises(InputError, match=r"^/dev/full: cannot write: No space left on device$"):
        files.write_output(Path("/dev/full"), "text")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_no_more_leaves_the_old_file(tmp_path, monkeypatch, number):
    """A full disk takes the first half, a read-only one nothing."""
    path = tmp_path / "x.json"
    path.write_text("old")

    def fail(beside, pieces):
        if number == errno.ENOSPC:
            beside.write_bytes(b"".join(pieces)[:2])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files, "_fill", fail)
    with pytest.raises(InputError, match=f"x.json: cannot write: {os.strerror(number)}$"):
        files.write_output(path, "a new text")
    monkeypatch.setattr(Path, "replace", failing_with(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        files.write_atomically(path, "a new text")
    assert path.read_text() == "old" and names(tmp_path) == ["x.json"]


def test_what_stands_in_the_way_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"file/x\.json: cannot write: .*/file is not a folder$"):
        files.write_output(tmp_path / "file" / "x.json", "text")
    with pytest.raises(InputError, match="folder: cannot write: Is a directory"):
        files.write_output(tmp_path / "folder", "text")
    assert names(tmp_path) == ["file", "folder"]
    with pytest.raises(InputError, match="none: cannot read: No such file or directory"):
        files.content_of(tmp_path / "none")


class Document(msgspec.Struct):
    schema: str
    version: int
    value: int = 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "mine", "version": 2}', "x.json: version 2 is not known, expected 1"),
        ('{"schema": "other", "version": 1}', "x.json: the schema is 'other', expected 'mine'"),
        ('{"schema": "mine"}', "x.json: not a table of ours: Object missing required field `version`"),
        ("{", "x.json: not a table of ours: Input data was truncated"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    def read(data):
        return files.decoded(data, tmp_path / "x.json", Document, "a table of ours", "mine", 1)

    assert read(b'{"schema": "mine", "version": 1, "value": 3}').value == 3
    with pytest.raises(InputError, match=message):
        read(text.encode())


def test_scratch_folders_go_with_their_owners(tmp_path):
    def folder(name, owner, age=0.0):
        made = tmp_path / f"{files.PREFIX}{name}"
        made.mkdir()
        if owner is not None:
            (made / files.OWNER).write_text(owner)
        stamp = made.stat().st_mtime - age
        os.utime(made, (stamp, stamp))
        return made

    here = os.uname().nodename
    gone = [folder("gone", here), folder("never-owned", None, 3700)]
    kept = [folder("elsewhere", f"not-{here}"), folder("just-made", None, 3500), tmp_path / "other"]
    kept[-1].mkdir()
    with files.scratch_folder(tmp_path) as mine:
        (mine / "file").write_text("")
        assert not any(one.exists() for one in gone) and all(one.exists() for one in kept)
        with files.scratch_folder(tmp_path) as second:
            assert mine.is_dir() and second.is_dir() and mine != second
    assert names(tmp_path) == sorted(one.name for one in kept)


def test_a_scratch_folder_that_cannot_be_made_says_what_to_do(tmp_path, monkeypatch):
    told = "cannot make a folder for temporary files: No space left on device; .* or set TMPDIR"
    for name in ("ckprof.files.own", "ckprof.files.tempfile.mkdtemp"):
        monkeypatch.setattr(name, failing_with(errno.ENOSPC))
        with pytest.raises(InputError, match=told), files.scratch_folder(tmp_path):
            pass
    assert names(tmp_path) == []


def test_names_beside_a_file_cannot_be_foreseen(tmp_path, monkeypatch):
    seen = []
    replace = Path.replace

    def noted(path, target):
        seen.append(path)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    for text in "ab":
        files.write_output(tmp_path / "out.csv", text)
        files.write_atomically(tmp_path / "memo.json", text)
    assert len({path.name for path in seen}) == len(seen) == 4
    monkeypatch.setattr("secrets.token_hex", lambda size: "known")
    (tmp_path / "mine").write_text("kept")
    (tmp_path / ".out.csv.known.tmp").symlink_to("mine")
    with pytest.raises(InputError):
        files.write_output(tmp_path / "out.csv", "c")
    assert (tmp_path / "mine").read_text() == "kept" and (tmp_path / "out.csv").read_text() == "b"
