"""Objects travel from one cache to another as a whole, or not at all."""

import json
from dataclasses import replace

import pytest

from ckprof.kernels.cache import OBJECT, RECORD, ObjectCache
from ckprof.kernels.keys import digest_file
from ckprof_plugins.cluster.pool_build import pack, unpack


def put(cache, key, content):
    folder = cache.entry(key)
    folder.mkdir(parents=True)
    (folder / OBJECT).write_bytes(content)
    record = {"key": key, "size": len(content), "digest": digest_file(folder / OBJECT)}
    (folder / RECORD).write_text(json.dumps(record))


@pytest.fixture
def caches(tmp_path):
    one, other = ObjectCache(tmp_path / "one"), ObjectCache(tmp_path / "other")
    put(one, "aa11", b"object of one kernel")
    put(one, "bb22", b"object of two kernels")
    one.note_group("bb22", [("k1", "symbol_1"), ("k2", "symbol_2")])
    return one, other


def test_objects_and_groups_arrive(caches):
    one, other = caches
    entries = pack(one, ["aa11", "k1", "k2", "missing"])
    assert [entry.key for entry in entries] == ["aa11", "bb22"]
    assert unpack(other, entries) == 2
    assert other.find("aa11").read_bytes() == b"object of one kernel"
    group = other.group_of("k2")
    assert other.find(group[0]).read_bytes() == b"object of two kernels"
    assert group == one.group_of("k1")
    assert unpack(other, entries) == 0
    assert not list((other.root / "staging").glob("*/*"))


def test_a_damaged_object_is_not_kept(caches):
    one, other = caches
    (entry,) = pack(one, ["aa11"])
    assert unpack(other, [replace(entry, object=b"object of one kernel?")]) == 0
    assert other.find("aa11") is None
    assert unpack(other, [entry]) == 1
