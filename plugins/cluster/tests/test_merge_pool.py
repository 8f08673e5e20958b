"""Partitioned merging: the same store as one process makes, whatever is lost or killed meanwhile."""

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from ckprof.model.outcome import Status
from ckprof.store.attempt import Mark
from ckprof.store.maintenance import check
from ckprof.store.shard import ShardWriter
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof_plugins.cluster import partial
from ckprof_plugins.cluster.devices import Counters
from ckprof_plugins.cluster.engines import Slot, WorkerLost
from ckprof_plugins.cluster.merging import Ingest, Merger
from ckprof_plugins.cluster.messages import Loaded
from ckprof_plugins.cluster.partial import Merged, MergePool, absorb, write_partial
from ckprof_plugins.cluster.units import ClusterWatch
from tests.store.samples import make_attempt, make_problem, make_session

COUNT = 60


def fill(folder, number, chance, count=COUNT):
    """Write a shard whose kernels and problems those of other shards have as well."""
    session = make_session(number, environment={"card": {"id": f"device {number}"}})
    with ShardWriter(folder, sync_s=1e9) as shard:
        for sequence in range(count):
            status = chance.choice([Status.OK, Status.OK, Status.OK, Status.WRONG_RESULT, Status.UNSUPPORTED])
            shard.append(
                make_attempt(
                    chance.randrange(5),
                    sequence,
                    chance.uniform(0.5, 2.0),
                    problem=make_problem(4 + chance.randrange(3)),
                    session=session,
                    status=status,
                    reason="" if status is Status.OK else f"reason {chance.randrange(3)}",
                    round=1 + sequence // 15,
                    marks=(Mark.PART,) if chance.random() < 0.2 else (),
                )
            )
            if chance.random() < 0.1:
                shard.add_marks([(session.uid, chance.randrange(sequence + 1), Mark.DISTURBED)])
    return shard.path


def contents(path):
    """Return what a store holds, whatever the order in which it was added."""
    with Store(path) as store:
        attempts = sorted(store, key=lambda one: (one.session.uid, one.sequence))
        figures = {
            one.key.digest: (one.status, one.attempts, one.ranked_attempts, one.time_ms, one.min_ms)
            for one in store.measurements()
        }
        best = {one.key.digest for one in store.best()}
    return attempts, figures, best


def sequential(folder, path):
    with StoreWriter(path) as writer:
        Merger(writer, folder, path.with_suffix(".json")).merge()
    return contents(path)


class Inside:
    """A pool's session whose work is done at once, or is lost."""

    lost = 0

    def __init__(self, handler, slots):
        assert handler == "ckprof_plugins.cluster.partial:handle"

    def submit(self, pool, payload):
        future = Future()
        if Inside.lost > 0:
            Inside.lost -= 1
            future.set_exception(WorkerLost("killed"))
        else:
            future.set_result(partial.handle(payload, Slot(device=0, label="0")))
        return future

    def close(self, *, now):
        pass


@pytest.fixture
def inside(monkeypatch):
    monkeypatch.setattr(partial, "LocalSession", Inside)
    monkeypatch.setattr(Inside, "lost", 0)


@pytest.fixture
def small_pool(monkeypatch, inside):
    """Return what makes a pool that reads even little, piece by piece."""
    monkeypatch.setattr(partial, "LEAST_BYTES", 1)
    monkeypatch.setattr(partial, "PARTIAL_BYTES", 20_000)
    return lambda folder: MergePool(folder / "merging", 2, Loaded())


def merge_all(merger, turns=None):
    merged = [merger.merge(turns)]
    while not merged[-1].complete:
        merged.append(merger.merge(turns))
    return merged


@pytest.mark.parametrize("turns", [None, 5_000])
def test_the_store_is_the_one_of_a_single_process(tmp_path, small_pool, turns):
    chance = random.Random(3)
    shards = tmp_path / "shards"
    paths = [fill(shards, number, chance) for number in range(4)]
    with paths[1].open("ab") as stream:
        stream.write(b"no line\n" + b'{"attempt": {"cut')
    one = sequential(shards, tmp_path / "one.db")
    with small_pool(tmp_path) as pool, StoreWriter(tmp_path / "many.db") as writer:
        merger = Merger(writer, shards, tmp_path / "merged.json", pool)
        merged = merge_all(merger, turns)
        copied = [copied for turn in merged for copied in turn.copied]
        assert sum(turn.new for turn in merged) == 4 * COUNT
        assert len(copied) > 4
        # by its line in the file, not in the piece that somebody has read
        (bad,) = [bad for turn in merged for bad in turn.bad]
        place = paths[1].read_bytes().splitlines().index(b"no line") + 1
        assert (bad.path, bad.line) == (str(paths[1]), place) and place > COUNT
        again = merger.merge()
        assert (again.new, again.known, again.bad) == (0, 0, [])
    assert contents(tmp_path / "many.db") == one
    assert check(tmp_path / "many.db") == []
    assert any(Mark.DISTURBED in attempt.marks for attempt in one[0])
    assert not (tmp_path / "merging").exists()


def test_what_was_merged_before_is_not_copied_again(tmp_path, small_pool):
    chance = random.Random(5)
    shards = tmp_path / "shards"
    fill(shards, 0, chance)
    with StoreWriter(tmp_path / "many.db") as writer:
        Merger(writer, shards, tmp_path / "merged.json").merge()
    # the same kernels and problems, and a state that was not saved
    fill(shards, 1, chance)
    with small_pool(tmp_path) as pool, StoreWriter(tmp_path / "many.db") as writer:
        merged = merge_all(Merger(writer, shards, tmp_path / "none.json", pool))
        assert sum(turn.new for turn in merged) == COUNT
        assert sum(turn.known for turn in merged) == COUNT
    assert contents(tmp_path / "many.db") == sequential(shards, tmp_path / "one.db")
    assert check(tmp_path / "many.db") == []


def test_a_line_that_is_being_written_is_read_later(tmp_path, small_pool):
    shards = tmp_path / "shards"
    path = fill(shards, 0, random.Random(1), 10)
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    with small_pool(tmp_path) as pool, StoreWriter(tmp_path / "many.db") as writer:
        merger = Merger(writer, shards, tmp_path / "merged.json", pool)
        merge_all(merger)
        path.write_bytes(data)
        merge_all(merger)
    assert contents(tmp_path / "many.db") == sequential(shards, tmp_path / "one.db")


@pytest.mark.parametrize("lost", [1, 100])
def test_what_a_lost_process_was_reading_is_read_again(tmp_path, small_pool, lost):
    shards = tmp_path / "shards"
    for number in range(3):
        fill(shards, number, random.Random(number))
    Inside.lost = lost
    with small_pool(tmp_path) as pool, StoreWriter(tmp_path / "many.db") as writer:
        merged = merge_all(Merger(writer, shards, tmp_path / "merged.json", pool))
        assert any(turn.copied for turn in merged) is (lost == 1)
    assert contents(tmp_path / "many.db") == sequential(shards, tmp_path / "one.db")


def test_copied_outcomes_are_counted_and_told(tmp_path, small_pool):
    shards = tmp_path / "shards"
    fill(shards, 0, random.Random(2))
    told = []
    with small_pool(tmp_path) as pool, StoreWriter(tmp_path / "many.db") as writer:
        counters = Counters(rankings=0, rankings_done=0)
        merger = Merger(writer, shards, tmp_path / "merged.json", pool)
        intake = Ingest(writer, merger, ClusterWatch(on_attempt=told.append), counters)
        while not intake.merge(10_000):
            pass
        stored = list(writer.reader)
        # marks of later lines come later
        assert [one.sequence for one in told] == [one.sequence for one in stored] == list(range(COUNT))
        for status in Status:
            assert counters.statuses[status] == sum(one.status is status for one in stored)


def test_little_is_merged_without_other_processes(tmp_path, inside):
    shards = tmp_path / "shards"
    fill(shards, 0, random.Random(2))
    with MergePool(tmp_path / "merging", 2, Loaded()) as pool, StoreWriter(tmp_path / "r.db") as writer:
        merged = Merger(writer, shards, tmp_path / "merged.json", pool).merge()
        assert (len(merged.added), merged.copied) == (COUNT, [])


def test_an_unfinished_copy_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    shards = tmp_path / "shards"
    path = fill(shards, 0, random.Random(2))
    content = write_partial(tmp_path / "part.db", {str(path): (0, path.stat().st_size)})
    with StoreWriter(tmp_path / "r.db") as writer:
        writer.append(make_attempt(0, 0, session=make_session(9)))
        before = list(writer.reader)
        with monkeypatch.context() as patch:
            patch.setattr("ckprof_plugins.cluster.partial._copy_attempts", lambda connection: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                absorb(writer, content, Merged())
        assert (list(writer.reader), len(list(writer.reader.measurements()))) == (before, 1)
        absorb(writer, content, merged := Merged())
        assert merged.new == COUNT
        # rows whose numbers were taken back have others now
        writer.append(make_attempt(1, 1, session=make_session(9)))
    assert check(tmp_path / "r.db") == []


_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from ckprof.store.writer import StoreWriter
from ckprof_plugins.cluster import partial
from ckprof_plugins.cluster.merging import Merger
folder = Path(sys.argv[2])
partial.LEAST_BYTES, partial.PARTIAL_BYTES = 1, 20_000
with partial.MergePool(folder / "merging", 2, partial.Loaded()) as pool:
    with StoreWriter(folder / "many.db", wait_s=60) as writer:
        merger = Merger(writer, folder / "shards", folder / "merged.json", pool)
        print("began", flush=True)
        while not merger.merge(5_000).complete:
            merger.save()
        merger.save()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_merges_lose_and_double_nothing(tmp_path):
    chance = random.Random(7)
    for number in range(4):
        fill(tmp_path / "shards", number, chance, 400)
    command = [sys.executable, "-c", _CHILD, str(Path(__file__).parents[3]), str(tmp_path)]
    for _ in range(6):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"began\n"
            time.sleep(chance.uniform(0, 2.5))
            child.send_signal(signal.SIGKILL)
        if (tmp_path / "many.db").exists():
            assert check(tmp_path / "many.db") == []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert contents(tmp_path / "many.db") == sequential(tmp_path / "shards", tmp_path / "one.db")
    assert check(tmp_path / "many.db") == []
