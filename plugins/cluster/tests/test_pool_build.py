"""Kernels are sharded among the workers of a build pool; objects travel whole; what fails is left over."""

import json
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from ckprof.errors import Interrupted
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.kernels.cache import OBJECT, RECORD, ObjectCache
from ckprof.kernels.keys import digest_file
from ckprof_plugins.cluster import pool_build
from ckprof_plugins.cluster.engines import Pool, WorkerLost
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.messages import (
    BuildReply,
    BuildTask,
    KernelText,
    PackedEntry,
    decode_build_task,
    encode,
)
from ckprof_plugins.cluster.pool_build import compile_in_pool, divided, pack, unpack


def make_task(*numbers):
    texts = tuple(
        KernelText(
            instance=f"i{number}",
            object_key=f"k{number}",
            name=f"kernel_{number}",
            symbol=f"s{number}",
            weight=1,
            header=(f"kernels/{number}.hpp", "// header"),
            entry=(f"kernels/{number}.cpp", "// entry"),
        )
        for number in numbers
    )
    return BuildTask(
        target="cpu", arch="gfx942", api_level="2026-06", library_name="x", kernels=texts, timeout_s=1.0
    )


@pytest.mark.parametrize(
    ("kernels", "slots", "sizes"), [(4, 2, [1] * 4), (100, 4, [7] * 14 + [2]), (3000, 8, [32] * 93 + [24])]
)
def test_every_worker_gets_some_tasks_and_none_is_large(kernels, slots, sizes):
    tasks = divided(make_task(*range(kernels)), slots)
    assert [len(task.kernels) for task in tasks] == sizes
    assert [one.instance for task in tasks for one in task.kernels] == [f"i{n}" for n in range(kernels)]


class Pools:
    """Build workers that do what a test says."""

    def __init__(self, answer):
        self.answer = answer
        self.tasks = []

    def slots(self, pool):
        return 2 if pool is Pool.BUILD else 0

    def submit(self, pool, payload):
        assert pool is Pool.BUILD
        future = Future()
        task = decode_build_task(payload)
        self.tasks.append(task)
        try:
            future.set_result(encode(self.answer(task)))
        except WorkerLost as exc:
            future.set_exception(exc)
        return future


def build_with(tmp_path, monkeypatch, folder=None):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    events = []
    return partial(compile_in_pool, SimpleNamespace(emit=events.append), folder), events


def test_lost_tasks_are_handed_out_again_and_then_left(tmp_path, monkeypatch):
    build, events = build_with(tmp_path, monkeypatch)

    def answer(task):
        name = task.kernels[0].name
        if name == "kernel_0" and len(pools.tasks) == 1:
            raise WorkerLost("gone")
        if name == "kernel_3":
            return BuildReply(message="node7: another compiler")
        return BuildReply()

    pools = Pools(answer)
    build(make_task(*range(4)), pools, lambda: False)
    names = [task.kernels[0].name for task in pools.tasks]
    assert [names.count(f"kernel_{number}") for number in range(4)] == [2, 1, 1, 3]
    assert [event.done for event in events if isinstance(event, Progress)] == [1, 2, 3]
    (warning,) = [
        event.text for event in events if isinstance(event, Message) and event.level is Level.WARNING
    ]
    assert warning == "1 kernel left to this machine: node7: another compiler"


def test_progress_ends_with_the_build_of_the_pool(tmp_path, monkeypatch):
    build, events = build_with(tmp_path, monkeypatch)
    session = build.args[0]
    monkeypatch.setattr(pool_build, "missing_kernels", lambda *_: make_task(0))
    pools = Pools(lambda task: BuildReply())
    monkeypatch.setattr(pools, "close", lambda now: None, raising=False)
    pool_build.build_missing(session, None, None, lambda: pools, lambda: False)
    assert isinstance(events[-1], ProgressEnded)
    with pytest.raises(Interrupted):
        pool_build.build_missing(session, None, None, lambda: pools, lambda: True)
    assert isinstance(events[-1], ProgressEnded)


def test_objects_come_through_the_shared_folder(tmp_path, monkeypatch):
    folder = SweepFolder(tmp_path / "shared")
    build, _ = build_with(tmp_path, monkeypatch, folder)
    entry = PackedEntry(key="abcd", object=b"object", record=b'{"key": "abcd"}')
    kept = []

    def answer(task):
        kept.append(folder.objects.put(encode(entry)))
        return BuildReply(kept=tuple(kept))

    unpacked = []
    monkeypatch.setattr(
        "ckprof_plugins.cluster.pool_build.unpack", lambda cache, entries: unpacked.extend(entries)
    )
    build(make_task(0), Pools(answer), lambda: False)
    assert unpacked == [entry]


def test_a_stop_ends_the_build(tmp_path, monkeypatch):
    build, _ = build_with(tmp_path, monkeypatch)
    with pytest.raises(Interrupted):
        build(make_task(0), Pools(lambda task: BuildReply()), lambda: True)


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
