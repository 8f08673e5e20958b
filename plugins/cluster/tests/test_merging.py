"""Shards grow into the store: line by line, in turns, and never twice."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ckprof.errors import UsageError
from ckprof.store.attempt import Mark
from ckprof.store.maintenance import check
from ckprof.store.shard import ShardWriter, attempt_line, header_line
from ckprof.store.writer import StoreWriter
from ckprof_plugins.cluster.folder import LeasePolicy, LeaseTable, ObjectFolder, digest_of, read_journal
from ckprof_plugins.cluster.merging import Merger
from ckprof_plugins.cluster.partial import Merged, absorb, write_partial
from tests.store.samples import make_attempt, make_problem, make_session
from tests.store.test_baselines import FAILED, content, measured


@pytest.fixture
def store(tmp_path):
    with StoreWriter(tmp_path / "r.db") as writer:
        yield writer


def fill(folder, number, count):
    session = make_session(number)
    with ShardWriter(folder) as shard:
        for sequence in range(count):
            shard.append(make_attempt(sequence % 5, sequence, session=session))
        shard.add_marks([(session.uid, 0, Mark.DISTURBED)])
    return shard.path


def test_only_what_is_new_is_read(tmp_path, store):
    folder = tmp_path / "shards"
    path = fill(folder, 1, 10)
    merger = Merger(store, folder, tmp_path / "merged.json")
    assert (len(merger.merge().added), len(store.reader)) == (10, 10)
    assert merger.merge().added == []
    line = attempt_line(make_attempt(1, 10, session=make_session(1)))
    with path.open("ab") as stream:
        stream.write(line[:50])
    assert merger.merge().added == []
    with path.open("ab") as stream:
        stream.write(line[50:])
    assert [one.sequence for one in merger.merge().added] == [10]
    merger.save()
    assert any(Mark.DISTURBED in one.marks for one in store.reader)
    again = Merger(store, folder, tmp_path / "merged.json")
    found = again.merge()
    assert (found.added, found.known) == ([], 0)


def test_another_store_gets_everything(tmp_path, store):
    folder = tmp_path / "shards"
    fill(folder, 1, 4)
    first = Merger(store, folder, tmp_path / "merged.json")
    first.merge()
    first.save()
    with StoreWriter(tmp_path / "other.db") as other:
        assert len(Merger(other, folder, tmp_path / "merged.json").merge().added) == 4
    unsaved = Merger(store, folder, tmp_path / "nothing.json").merge()
    assert (unsaved.added, unsaved.known) == ([], 4)


@pytest.mark.parametrize("most", [1, 500, 5_000])
def test_turns_reach_every_shard_and_every_line(tmp_path, store, most):
    folder = tmp_path / "shards"
    counts = [random.Random(number).randrange(1, 30) for number in range(6)]
    for number, count in enumerate(counts):
        fill(folder, number, count)
    merger = Merger(store, folder, tmp_path / "merged.json")
    turns = 0
    seen = []
    while True:
        found = merger.merge(most)
        seen += found.added
        turns += 1
        if found.complete:
            break
    assert len(seen) == len({(one.session.uid, one.sequence) for one in seen}) == sum(counts)
    assert turns > 1


def test_what_is_sent_counts_once(tmp_path, store):
    merger = Merger(store, tmp_path / "none", tmp_path / "merged.json")
    data = header_line() + b"".join(attempt_line(make_attempt(0, number)) for number in range(3))
    assert len(merger.merge_bytes(data, "a worker").added) == 3
    again = merger.merge_bytes(data + b"no line\n", "a worker")
    assert (again.added, again.known, len(again.bad)) == ([], 3, 1)


def test_leases_begin_with_a_sign_of_life_and_outlive_their_coordinator(tmp_path):
    journal = tmp_path / "leases.ndjson"
    table = LeaseTable(LeasePolicy(silence_s=10), journal)
    table.give("unit", "task")
    assert table.is_waiting("task") and table.expired(1e9) == []
    table.renew("task", 0.0, 1000.0)
    assert not table.is_waiting("task")
    assert (table.expired(9.9), table.expired(10.0)) == ([], ["task"])
    table.renew("task", 8.0, 1008.0)
    assert table.expired(17.9) == []
    assert read_journal(journal, 1017.0) == {"unit": 1018.0}
    assert read_journal(journal, 1018.0) == {}
    with journal.open("ab") as stream:
        stream.write(b'{"unit": "cut')
    assert read_journal(journal, 1017.0) == {"unit": 1018.0}
    table.end("task")
    assert table.expired(1e9) == []
    later = LeaseTable(LeasePolicy(silence_s=10), journal)
    later.give("unit", "other")
    later.renew("other", 0.0, 2000.0)
    assert read_journal(journal, 2001.0) == {"unit": 2010.0}
    later.end("other")
    assert read_journal(journal, 2001.0) == {}
    table.renew("unknown", 0.0, 0.0)
    assert read_journal(tmp_path / "none", 0.0) == {}
    with pytest.raises(UsageError, match="silence"):
        LeasePolicy(silence_s=0)


def test_what_is_written_is_synchronised_in_time(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("ckprof.store.shard.os.fsync", synced.append)
    clock = [0.0]
    monkeypatch.setattr("ckprof.store.shard.time.monotonic", lambda: clock[0])
    with ShardWriter(tmp_path, sync_s=1.0) as shard:
        for sequence in range(10):
            shard.append(make_attempt(0, sequence))
            # another process sees it at once
            assert shard.path.read_bytes().count(b'{"attempt"') == sequence + 1
        assert synced == []
        shard.sync()
        shard.sync()
        assert len(synced) == 1
        clock[0] = 1.5
        shard.append(make_attempt(0, 10))
        assert len(synced) == 2
        shard.append(make_attempt(0, 11))
    assert len(synced) == 3
    with ShardWriter(tmp_path) as shard:
        shard.append(make_attempt(0, 0))
        assert len(synced) == 5


def test_the_workers_of_a_host_fetch_an_object_once(tmp_path):
    shared = ObjectFolder(tmp_path / "shared")
    digest = shared.put(b"library" * 1000)
    fetched = []

    class Far(ObjectFolder):
        def get(self, digest):
            fetched.append(digest)
            time.sleep(0.05)
            return super().get(digest)

    def find(_):
        return ObjectFolder(tmp_path / "own").find(digest, Far(shared.root), {}).read_bytes()

    with ThreadPoolExecutor(4) as workers:
        assert set(workers.map(find, range(4))) == {b"library" * 1000}
    assert len(fetched) == 1


def test_objects_are_known_by_their_content(tmp_path):
    shared, own = ObjectFolder(tmp_path / "shared"), ObjectFolder(tmp_path / "own")
    digest = shared.put(b"library")
    assert digest == digest_of(b"library") == shared.put(b"library")
    path = own.find(digest, shared, {})
    assert path == own.root / digest and path.read_bytes() == b"library"
    sent = digest_of(b"job")
    assert own.find(sent, shared, {}) is None
    assert own.find(sent, shared, {sent: b"another"}) is None
    assert own.find(sent, shared, {sent: b"job"}).read_bytes() == b"job"
    (own.root / digest).write_bytes(b"damaged")
    assert own.get(digest) is None
    assert own.find(digest, shared, {}).read_bytes() == b"library"
    assert own.find("0" * 40, None, {}) is None


def test_baselines_are_merged_by_partial_stores(tmp_path):
    with ShardWriter(tmp_path / "shards") as shard:
        shard.append(make_attempt(1, 0))
        shard.add_baseline(measured())
        shard.add_baseline(FAILED)
    partial, path = tmp_path / "partial.db", tmp_path / "rows.db"
    found = write_partial(partial, {str(shard.path): (0, shard.path.stat().st_size)})
    with StoreWriter(path) as writer:
        # its texts and problems have other numbers than those of the part
        writer.append(make_attempt(3, 5, problem=make_problem(30), session=make_session(9)))
        for _ in range(2):
            absorb(writer, found, Merged())
    assert content(path) == [measured(), FAILED]
    assert check(path) == []
