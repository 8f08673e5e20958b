import errno
import json
import os

import pytest

from ckprof.errors import ToolchainError
from ckprof.files import own
from ckprof.kernels.cache import RECORD, ObjectCache
from ckprof.kernels.keys import digest_file


def store(cache, key, content=b"object", used=None):
    folder = cache.entry(key)
    folder.mkdir(parents=True)
    path = folder / "object.o"
    path.write_bytes(content)
    (folder / RECORD).write_text(json.dumps({"size": len(content), "digest": digest_file(path)}))
    if used is not None:
        for touched in (folder / RECORD, folder):
            os.utime(touched, (used, used))
    return path


def test_finds_what_was_stored(cache):
    path = store(cache, "ab01")
    assert cache.find("ab01") == path == cache.object_path("ab01")
    assert cache.find("ab02") is None


@pytest.mark.parametrize(
    "corruption",
    ["shorter", "other", "no record", "bad record", "odd record", "pipe for a record", "no object", "circle"],
)
def test_drops_damaged_entries(cache, corruption):
    path = store(cache, "ab01")
    record = path.parent / RECORD
    {
        "shorter": lambda: path.write_bytes(b"obj"),
        "other": lambda: path.write_bytes(b"0bject"),
        "no record": record.unlink,
        "bad record": lambda: record.write_text("{"),
        "odd record": lambda: record.write_text("[]"),
        "pipe for a record": lambda: (record.unlink(), os.mkfifo(record)),
        "no object": path.unlink,
        "circle": lambda: (path.unlink(), path.symlink_to(path)),
    }[corruption]()
    assert cache.find("ab01") is None
    assert not cache.entry("ab01").exists()


def test_a_damaged_prefix_leaves_the_header_to_others(cache):
    folder = cache.prefix_entry("ab01")
    folder.mkdir(parents=True)
    (folder / "prefix.hpp").write_text("")
    (folder / "prefix.hpp.gch").write_text("half")
    assert cache.find_prefix("ab01", "prefix.hpp.gch") is None
    assert [path.name for path in folder.iterdir()] == ["prefix.hpp"]


def test_prunes_the_longest_unused_first(cache):
    for number, key in enumerate(("aa01", "bb02", "cc03")):
        store(cache, key, b"x" * 1000, used=1e9 + number)
    one = cache.size_bytes() // 3
    assert cache.find("aa01") is not None  # now it is the latest used
    assert cache.prune(2 * one, in_use_s=0) == one
    assert not cache.entry("bb02").exists()
    assert cache.entry("aa01").exists() and cache.entry("cc03").exists()
    assert cache.prune(0, in_use_s=3600) == one  # the other is in use
    assert cache.entry("aa01").exists()
    assert cache.prune(0, in_use_s=0) == one
    assert cache.size_bytes() == 0


def test_staging_folders_go_with_their_owner(cache):
    with cache.staging() as mine:
        left = mine.with_name("ckprof-run-left")
        left.mkdir()
        os.close(own(left))  # as if its process were gone
        with cache.staging() as other:
            assert mine.exists() and other.exists() and not left.exists()
    assert not mine.exists()


def test_pruning_an_absent_cache_does_nothing(tmp_path):
    assert ObjectCache(tmp_path / "none").prune() == 0
    assert not (tmp_path / "none").exists()


def test_staging_tells_why_it_cannot(cache, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ckprof.files.tempfile.mkdtemp", full)
    with pytest.raises(
        ToolchainError, match="No space left on device; free some space or set CKPROF_CACHE_DIR"
    ):
        with cache.staging():
            pass


def test_an_entry_of_another_key_is_no_hit(cache):
    store(cache, "ab01", b"code")
    record = cache.entry("ab01") / RECORD
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "key": "ab01"}))
    assert cache.find("ab01") is not None
    record.write_text(json.dumps({**content, "key": "cd02"}))
    assert cache.find("ab01") is None


def test_a_note_about_other_kernels_is_no_group(cache):
    cache.note_group("aa", [("ab01", "f")])
    note = next(cache.root.glob("groups/ab/*.json"))
    note.rename(note.with_name("ab02.json"))
    assert cache.group_of("ab02") == ("", ())
