"""What is added to a store is on the disk when that returns, also where its writer is killed."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.store.attempt import Mark
from ckprof.store.errors import NotAStoreError, StoreError, StoreFullError
from ckprof.store.key import PREDICTED
from ckprof.store.maintenance import check
from ckprof.store.maintenance import check as check_store
from ckprof.store.shard import ShardWriter, merge
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import attempts, check_summaries, fill, make_attempt


def integrity(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        connection.close()


@settings(max_examples=10)
@given(added=st.lists(attempts(), max_size=12))
def test_attempts_come_back_as_they_were_added(tmp_path_factory, added):
    path = tmp_path_factory.mktemp("store") / "results.db"
    first = {}
    with StoreWriter(path) as writer:
        for attempt in added:
            identity = (attempt.session.uid, attempt.sequence)
            assert writer.append(attempt) == (identity not in first)
            first.setdefault(identity, attempt)
    with Store(path) as store:
        assert list(store) == list(first.values())
        assert len(store) == len(first)
        without = [attempt.measurement for attempt in store.attempts(samples=False)]
        assert all(not measurement.samples_ms for measurement in without if measurement)
        check_summaries(store, list(first.values()))


def predicted(kernel, model):
    """Return an attempt whose time a model predicted; nothing verified it."""
    attempt = make_attempt(kernel, sequence=kernel, verified=False)
    device = replace(attempt.key.device, host=model)
    method = replace(attempt.key.method, clock=PREDICTED)
    return replace(attempt, key=replace(attempt.key, device=device, method=method))


def test_predicted_times_stand_apart_and_are_never_ranked(path, tmp_path):
    first, second = predicted(0, "model 1"), predicted(1, "model 1")
    fill(path, first)
    assert first.key.origin == "times that model 1 predicts"
    for added, named in (
        ([make_attempt(3, 3)], "measured times and times that model 1 predicts do not mix"),
        ([predicted(3, "model 2")], "times that model 1 predicts and times that model 2 predicts do not mix"),
        ([second, make_attempt(3, 3)], "do not mix: name another store"),
    ):
        with StoreWriter(path) as writer, pytest.raises(StoreError, match=named):
            writer.append_new(added)
    shard = ShardWriter(tmp_path / "shards")
    shard.append(make_attempt(3, 3))
    shard.close()
    with StoreWriter(path) as writer, pytest.raises(StoreError, match="do not mix"):
        merge(writer, [shard.path])
    with StoreWriter(path) as writer:
        assert writer.append(second), "what was refused changes nothing"
    with Store(path) as store:
        assert [*store] == [first, second] and store.origins() == {first.key.origin}
        assert store.best() == [] and all(one.time_ms is None for one in store.measurements())
    measured = tmp_path / "measured.db"
    fill(measured, make_attempt(3, 3))
    with StoreWriter(measured) as writer, pytest.raises(StoreError, match="do not mix"):
        writer.append(first)


def test_marks_are_added_to_what_is_stored(path):
    attempt = make_attempt(marks=(Mark.NOISY,))
    fill(path, attempt)
    with StoreWriter(path) as writer:
        writer.add_marks([(attempt.session.uid, 0, Mark.DROPPED), (attempt.session.uid, 99, Mark.DROPPED)])
        writer.add_marks([(attempt.session.uid, 0, Mark.DROPPED)])
    with Store(path) as store:
        assert [one.marks for one in store] == [(Mark.DROPPED, Mark.NOISY)]


def test_marks_that_come_later_change_the_time_that_is_stored(path):
    rounds = [make_attempt(0, number, time, round=number + 1) for number, time in enumerate((2.0, 1.0, 1.0))]
    fill(path, *rounds, make_attempt(1, 3, 1.3, round=3))
    with Store(path) as store:
        before = {one.kernel.name: one.time_ms for one in store.measurements()}
        assert before["kernel_0"] == 1.0 and [one.kernel.name for one in store.best()] == ["kernel_0"]
    with StoreWriter(path) as writer:
        writer.add_marks([(rounds[0].session.uid, 2, Mark.DISTURBED)])
    with Store(path) as store:
        after = {one.kernel.name: one.time_ms for one in store.measurements()}
        assert after == {"kernel_0": pytest.approx(2.0**0.5), "kernel_1": before["kernel_1"]}
        assert [one.kernel.name for one in store.best()] == ["kernel_1"]
    assert check_store(path) == []


def test_the_best_is_not_what_was_pruned_however_fast_it_was(path):
    """The machine may have become slower since."""
    early = [make_attempt(0, number, 1.0, round=number + 1, marks=(Mark.DROPPED,)) for number in range(2)]
    fill(path, *early, make_attempt(1, 3, 1.5, round=3))
    with Store(path) as store:
        assert [one.kernel.name for one in store.best()] == ["kernel_1"]
        low, time, high = next((one.low_ms, one.time_ms, one.high_ms) for one in store.measurements())
        assert low < time < high


def test_a_reader_sees_what_a_writer_adds(path):
    with StoreWriter(path) as writer, Store(path) as store:
        writer.append(make_attempt())
        assert len(store) == len(writer.reader) == 1


def test_a_full_disk_keeps_what_was_stored(path):
    fill(path, make_attempt())
    with StoreWriter(path) as writer:
        pages = writer.connection.execute("PRAGMA page_count").fetchone()[0]
        writer.connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        added = 0
        with pytest.raises(StoreFullError, match="disk is full"):
            for added in range(1, 10_000):
                writer.append(make_attempt(0, added, reason="x" * 500 + str(added)))
        writer.connection.execute("PRAGMA max_page_count = 1000000")
        assert writer.append(make_attempt(0, added, reason="again"))
    assert integrity(path) == "ok"
    with Store(path) as store:
        assert [attempt.sequence for attempt in store] == list(range(added + 1))


def test_a_transaction_with_what_no_store_can_hold_adds_nothing(path):
    """Also the numbers of its texts and keys are forgotten."""
    timing = make_attempt().measurement
    wrong = make_attempt(1, 1, measurement=replace(timing, time_ms=-1.0))
    with StoreWriter(path) as writer:
        for attempts in ([wrong, make_attempt(0, 2, reason="a")], [make_attempt(0, 2, reason="a"), wrong]):
            with pytest.raises(StoreError) as caught:
                writer.append_many(attempts)
            where = f"table attempts, row {1 + attempts.index(wrong)}, column time_ms"
            said = (
                f"attempt 1 of session {0:032x} cannot be stored: {where}: Expected `float` > 0.0, found -1.0"
            )
            assert str(caught.value) == said
            assert len(writer.reader) == 0
        assert (
            writer.append_many([make_attempt(0, 3, reason="a"), make_attempt(1, 4), make_attempt(0, 3)]) == 2
        )
    assert check_store(path) == []


def test_a_writer_that_cannot_open_its_store_leaves_it_to_others(path):
    path.write_text("no store")
    for _ in range(2):
        with pytest.raises(NotAStoreError):
            StoreWriter(path)
    path.unlink()
    writer = StoreWriter(path)
    writer.close()
    writer.close()
    fill(path.parent / "made" / "folders" / "r.db", make_attempt())


#: adds outcomes and says which are stored, until it is killed
_CHILD = """
import os, sys, uuid
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.store.samples import make_attempt, make_problem, make_session
from ckprof.store.attempt import Mark
from ckprof.store.shard import ShardWriter
from ckprof.store.writer import StoreWriter
session = make_session(int(sys.argv[3]))
writer = ShardWriter if sys.argv[4] == "shard" else StoreWriter
with writer(Path(sys.argv[2])) as out:
    os.write(1, b"-1\\n")
    for number in range(1_000_000):
        problem = make_problem(1 + number % 5)
        out.append(make_attempt(number % 7, number, problem=problem, session=session, round=1 + number))
        os.write(1, b"%d\\n" % number)
        if number % 10 == 9:
            out.add_marks([(session.uid, number, Mark.DROPPED)])
"""
_ROOT = Path(__file__).parents[2]


def run_and_kill(path, number, kind, delay_s):
    """Kill a writer some time after it has opened the store; return the last outcome it reported.

    The first one gets to report an outcome, however busy the machine is.
    """
    command = [sys.executable, "-c", _CHILD, str(_ROOT), str(path), str(number), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"-1\n"
        first = child.stdout.readline() if number == 0 else b""
        time.sleep(delay_s)
        child.send_signal(signal.SIGKILL)
        lines = (first + child.stdout.read()).splitlines(keepends=True)
        said = [int(line) for line in lines if line.endswith(b"\n")]
    assert child.returncode == -signal.SIGKILL
    return said[-1] if said else -1


def check_kills(path, kills, kind):
    chance = random.Random(f"{kind} {kills}")
    said = {f"{n:032x}": run_and_kill(path, n, kind, chance.uniform(0, 0.03)) for n in range(kills)}
    store = path
    if kind == "shard":
        store = path.with_name("merged.db")
        with StoreWriter(store) as writer:
            merge(writer, [path])
    assert check(store) == []
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    found = {uid: [] for uid in said}
    with Store(store) as reader:
        for attempt in reader:
            found[attempt.session.uid].append(attempt.sequence)
    for uid, last in said.items():
        assert found[uid] == list(range(len(found[uid]))), "an outcome is missing, doubled or out of order"
        assert last + 1 <= len(found[uid]) <= last + 2
    assert sum(last + 1 for last in said.values()) > 0


@pytest.mark.parametrize("kind", ["store", "shard"])
def test_killed_writers_lose_nothing(tmp_path, kind):
    check_kills(tmp_path / "results", 3, kind)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["store", "shard"])
def test_two_hundred_killed_writers_lose_nothing(tmp_path, kind):
    check_kills(tmp_path / "results", 200, kind)
