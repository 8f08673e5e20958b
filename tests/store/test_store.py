"""What goes into a store comes out of it, and its figures agree with a plain calculation."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.model.outcome import Conditions, Status
from ckprof.model.types import DataType
from ckprof.store import schema
from ckprof.store.attempt import SCALE, Mark
from ckprof.store.errors import (
    BusyStoreError,
    DamagedStoreError,
    NetworkStoreError,
    NewerStoreError,
    NotAStoreError,
    OlderStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
)
from ckprof.store.maintenance import check as check_store
from ckprof.store.query import SharedKey, StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter

from .samples import attempts, make_attempt, make_key, make_problem, make_session


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def fill(path, *added):
    with StoreWriter(path) as writer:
        for attempt in added:
            writer.append(attempt)


def integrity(path) -> str:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        connection.close()


@settings(max_examples=25)
@given(added=st.lists(attempts(), max_size=12))
def test_attempts_come_back_as_they_were_added(tmp_path_factory, added):
    path = tmp_path_factory.mktemp("store") / "results.db"
    first: dict[tuple[str, int], object] = {}
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


@settings(max_examples=25)
@given(drawn=st.lists(attempts(), max_size=12))
def test_the_time_of_a_kernel_is_that_of_its_attempts(tmp_path_factory, drawn):
    key = make_key(0, make_problem(1, 1))
    added = [replace(attempt, key=key, sequence=number) for number, attempt in enumerate(drawn)]
    path = tmp_path_factory.mktemp("store") / "results.db"
    fill(path, *added)
    with Store(path) as store:
        check_summaries(store, added)


def check_summaries(store, expected):
    """Compare the store's figures with those of the attempts, computed the plain way."""
    by_key: dict[object, list] = {}
    for attempt in expected:
        by_key.setdefault(attempt.key, []).append(attempt)
    summaries = list(store.measurements())
    assert [summary.key for summary in summaries] == list(by_key)
    for summary in summaries:
        own = sorted(by_key[summary.key], key=latest)
        count = len(own)
        own = [one for one in own if Mark.NOT_LAUNCHED not in one.marks] or own
        times = [one.measurement.median_ms for one in own if one.ranked]
        failed = own[-1].status.is_failure
        time_ms, least_ms = (None, None) if failed or not times else plain_time(own)
        assert (summary.status, summary.reason) == (own[-1].status, own[-1].reason)
        assert (summary.attempts, summary.ranked_attempts) == (count, len(times))
        assert summary.median_ms == (time_ms if time_ms is None else pytest.approx(time_ms))
        assert summary.min_ms == (least_ms if least_ms is None else pytest.approx(least_ms))


def latest(attempt):
    return attempt.conditions.started, attempt.session.uid, attempt.sequence


def plain_time(attempts):
    """Return the time of attempts of one kernel, and that of its fastest round."""
    ranked = [one for one in attempts if one.ranked]
    certain = [one for one in ranked if not {Mark.DRIFT, Mark.SLOW_DEVICE} & {*one.marks}]
    steady = [one for one in certain if Mark.PART not in one.marks] or certain or ranked
    rounds = {}
    for number, one in enumerate(steady):
        place = (one.session.uid, one.conditions.round) if one.conditions.round else number
        rounds.setdefault(place, []).append(one.measurement.median_ms)
    times = sorted(statistics.geometric_mean(some) for some in rounds.values())
    return times[(len(times) - 1) // 4], times[0]


def test_times_of_cards_that_share_a_problem_are_scaled_where_they_are_ranked(path):
    def of_part(sequence, time_ms, scale, marks=(Mark.PART,)):
        seen = Conditions(started=1.7e9 + sequence, round=sequence, extra={SCALE: scale} if scale else {})
        return make_attempt(0, sequence, time_ms, marks=marks, conditions=seen)

    attempts = [of_part(1, 2.0, 0.5), of_part(2, 1.0, 1.0)]
    fill(path, *attempts)
    with Store(path) as store:
        assert [one.measurement.median_ms for one in store] == [2.0, 1.0]
        assert [one.round_time.median_ms for one in store] == [1.0, 1.0]
        (summary,) = store.measurements()
        assert (summary.median_ms, summary.min_ms) == (1.0, 1.0)
    # as soon as one card has run all that may be the fastest, its rounds alone count
    fill(path, of_part(3, 1.5, None, marks=()))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert summary.median_ms == 1.5
        key = attempts[0].key
        shared = SharedKey(
            operation=key.operation,
            device=key.device,
            toolchain=key.toolchain,
            method=key.method,
            dtype=DataType.FP16,
            layout="nhwgc",
        )
        visits = store.past_visits(shared, key.problem)
        assert [visit.scale for visit in visits] == [0.5, 1.0, None]
        assert [visit.round_time.median_ms for visit in visits] == [1.0, 1.0, 1.5]


def test_the_best_of_a_problem_is_the_fastest_verified_one(path):
    small, large = make_problem(4), make_problem(9)
    fill(
        path,
        make_attempt(0, 0, 5.0, problem=small),
        make_attempt(1, 1, 3.0, problem=small),
        make_attempt(2, 2, 1.0, problem=small, verified=False),
        make_attempt(3, 3, 2.0, problem=small),
        make_attempt(3, 4, problem=small, status=Status.WRONG_RESULT, reason="wrong"),
        make_attempt(4, 5, 7.0, problem=large),
        make_attempt(5, 6, 1.0, problem=large),
        make_attempt(5, 7, 99.0, problem=large),
        make_attempt(5, 8, 98.0, problem=large),
    )
    with Store(path) as store:
        best = {summary.key.problem: (summary.kernel.name, summary.median_ms) for summary in store.best()}
        assert best == {small: ("kernel_1", 3.0), large: ("kernel_4", 7.0)}
        assert list(store.problems()) == [small, large]


def test_queries_select_by_every_part(path):
    other = make_session(1, tags=("night",))
    wrong = make_attempt(1, 1, session=other, status=Status.WRONG_RESULT, reason="off")
    big = make_attempt(2, 2, problem=make_problem(30))
    fill(path, make_attempt(0, 0), wrong, big)
    with Store(path) as store:

        def names(**conditions):
            return [one.kernel.name for one in store.attempts(StoreQuery(**conditions))]

        assert names() == ["kernel_0", "kernel_1", "kernel_2"]
        assert names(tag="night") == names(session=other.uid[:32]) == ["kernel_1"]
        assert names(statuses=frozenset({Status.WRONG_RESULT})) == ["kernel_1"]
        assert names(problem=make_problem(30)) == ["kernel_2"]
        assert names(instance=f"{2:032x}") == ["kernel_2"]
        assert names(since=big.conditions.started) == ["kernel_2"]
        assert names(before=wrong.conditions.started) == ["kernel_0"]
        assert names(direction="fwd", target="cpu", arch="x86", dtype="fp16") == names()
        for absent in (
            {"direction": "no"},
            {"target": "no"},
            {"arch": "no"},
            {"dtype": "bf16"},
            {"tag": "no"},
        ):
            assert names(**absent) == []
        assert [one.kernel.name for one in store.measurements(StoreQuery(tag="night"))] == ["kernel_1"]
        assert [one.kernel.name for one in store.best(StoreQuery(tag="day0"))] == ["kernel_0", "kernel_2"]
        assert store.sessions() == [make_session(0), other]


def test_any_part_of_the_key_makes_another_measurement(path):

    base = make_attempt()
    key = base.key
    variants = [
        replace(key, split_k=2),
        replace(key, problem=make_problem(9)),
        replace(key, operation=replace(key.operation, api_level="2025-07")),
        replace(key, kernel=replace(key.kernel, object_digest="other")),
        replace(key, device=replace(key.device, compute_units=3)),
        replace(key, toolchain=replace(key.toolchain, flags=("-O2",))),
        replace(key, method=replace(key.method, cache="warm")),
    ]
    fill(path, base, *(replace(base, key=other, sequence=n) for n, other in enumerate(variants, 1)))
    with Store(path) as store:
        assert [summary.key for summary in store.measurements()] == [key, *variants]
    assert len({one.digest for one in (key, *variants)}) == len(variants) + 1
    assert make_key().digest == key.digest


def test_evidence_does_not_split_a_measurement(path):
    fill(path, make_attempt(0, 0, 2.0), make_attempt(0, 0, 2.1, session=make_session(7, host="elsewhere")))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert (summary.attempts, summary.median_ms) == (2, 2.0)


def test_the_share_of_checked_launches_is_stored_and_summed_up(path):
    check = replace(make_attempt().verification, launches=40, checked=39)
    known = make_attempt(1, 1, verification=check, conditions=Conditions(started=2.0, extra={"seen": 1}))
    again = replace(known, sequence=2, verification=replace(check, launches=10, checked=10))
    fill(path, make_attempt(0, 0), known, again)
    with Store(path) as store:
        assert [(one.launches, one.checked) for one in store.measurements()] == [(0, 0), (50, 49)]
        assert list(store)[1].conditions.extra == {"seen": 1}
        flat = [(row["launches"], row["checked_launches"]) for row in store.to_dicts()]
        assert flat == [(None, None), (40, 39), (10, 10)]
        assert check_store(path) == []


def test_marks_are_added_to_what_is_stored(path):
    attempt = make_attempt(marks=(Mark.NOISY,))
    fill(path, attempt)
    with StoreWriter(path) as writer:
        writer.add_marks([(attempt.session.uid, 0, Mark.DROPPED), (attempt.session.uid, 99, Mark.DROPPED)])
        writer.add_marks([(attempt.session.uid, 0, Mark.DROPPED)])
    with Store(path) as store:
        assert [one.marks for one in store] == [(Mark.DROPPED, Mark.NOISY)]


def test_marks_that_come_later_change_the_time_that_is_stored(path):
    rounds = [make_attempt(0, number, time, round=number + 1) for number, time in enumerate((1.0, 2.0, 2.0))]
    fill(path, *rounds, make_attempt(1, 3, 1.5, round=3))
    with Store(path) as store:
        before = {one.kernel.name: one.median_ms for one in store.measurements()}
        assert before["kernel_0"] < 2.0 and [one.kernel.name for one in store.best()] == ["kernel_0"]
    with StoreWriter(path) as writer:
        writer.add_marks([(rounds[0].session.uid, 0, Mark.DRIFT)])
    with Store(path) as store:
        after = {one.kernel.name: one.median_ms for one in store.measurements()}
        assert after == {"kernel_0": 2.0, "kernel_1": before["kernel_1"]}
        assert [one.kernel.name for one in store.best()] == ["kernel_1"]
    assert check_store(path) == []


def test_a_reader_sees_what_a_writer_adds(path):
    with StoreWriter(path) as writer, Store(path) as store:
        writer.append(make_attempt())
        assert len(store) == len(writer.reader) == 1


def test_a_second_writer_is_told_who_writes(path):
    with StoreWriter(path), pytest.raises(BusyStoreError) as caught:
        StoreWriter(path)
    assert f"process {os.getpid()} on " in str(caught.value)
    assert caught.value.exit_code == ExitCode.INPUT
    fill(path, make_attempt())
    assert not path.with_name("results.db.writer").exists()


def test_a_second_writer_waits_and_says_so(path):
    said = []
    script = (
        "import sys, time; from ckprof.store.writer import StoreWriter\n"
        "with StoreWriter(sys.argv[1]): print('open', flush=True); time.sleep(1)"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "open\n"
        with StoreWriter(path, wait_s=None, on_wait=said.append) as writer:
            writer.append(make_attempt())
    finally:
        child.stdout.close()
        child.wait()
    assert len(said) == 1
    assert f"process {child.pid} on " in said[0]


def test_the_lock_of_a_killed_writer_may_outlive_it_shortly(path):
    script = (
        "import ctypes, os, signal, sys, time; from ckprof.store.writer import StoreWriter\n"
        "writer = StoreWriter(sys.argv[1])\n"
        "if ctypes.CDLL(None).fork() == 0:\n"
        "    time.sleep(1)\n"
        "    os._exit(0)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # the fork has the descriptor of the lock, as any child has until its program is loaded
    killed = subprocess.run([sys.executable, "-c", script, str(path)])
    assert killed.returncode == -signal.SIGKILL
    fill(path, make_attempt())


def test_other_files_are_rejected(path):
    path.write_text("kernel,latency_ms\n" * 100)
    for use in (Store, StoreWriter):
        with pytest.raises(NotAStoreError, match="not a result store"):
            use(path)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    for use in (Store, StoreWriter):
        with pytest.raises(NotAStoreError, match="not a result store of ckprof"):
            use(path)


def test_missing_empty_and_odd_paths_are_rejected(tmp_path, path):
    with pytest.raises(StoreError, match="no such store"):
        Store(path)
    path.touch()
    with pytest.raises(StoreError, match="empty"):
        Store(path)
    with pytest.raises(StoreError, match="folder"):
        StoreWriter(tmp_path)
    with pytest.raises(StoreError, match="folder"):
        StoreWriter(path / "below" / "x.db")
    fill(tmp_path / "a ?#%25 b.db", make_attempt())
    with Store(tmp_path / "a ?#%25 b.db") as store:
        assert len(store) == 1


def test_a_newer_store_is_rejected_by_its_version(path):
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    for use in (Store, StoreWriter):
        with pytest.raises(NewerStoreError, match=f"version {schema.SCHEMA_VERSION + 1}.*update ckprof"):
            use(path)


@pytest.mark.parametrize("version", [1, schema.SCHEMA_VERSION - 1])
def test_a_store_of_an_earlier_version_is_rejected_and_left_as_it_is(path, version, capsys):
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    for use in (Store, StoreWriter, check_store):
        with pytest.raises(OlderStoreError, match=f"store of an earlier version .{version}, .*measure again"):
            use(path)
    assert main(["results", "show", str(path)]) == ExitCode.INPUT
    assert "results.db: store of an earlier version" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_what_a_key_says_besides_is_kept(path):
    one = make_attempt(1, 1)
    key = replace(one.key, device=replace(one.key.device, threads=4), method=replace(one.key.method, seed=3))
    fill(path, one, replace(one, key=key, sequence=one.sequence + 1))
    with Store(path) as store:
        assert [found.key for found in store] == [one.key, key]
        assert len(list(store.measurements())) == 2


def test_damaged_stores_say_what_to_do(path):
    fill(path, *(make_attempt(n, n, problem=make_problem(n + 1)) for n in range(200)))
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(DamagedStoreError, match="ckprof results check"), Store(path) as store:
        list(store)


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


def _use_as_nobody(path, answers):
    # the superuser may write everything
    if os.geteuid() == 0:
        os.setuid(65534)
    with Store(path) as store:
        answers.send(len(store))
    try:
        StoreWriter(path)
    except ReadOnlyStoreError as exc:
        answers.send(str(exc))


def test_read_only_stores_are_read_and_not_written():
    # not below the folder of pytest, which only its user may enter
    folder = Path(tempfile.mkdtemp(prefix="ckprof-read-only-"))
    path = folder / "results.db"
    try:
        fill(path, make_attempt())
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        fork = multiprocessing.get_context("fork")
        receiver, sender = fork.Pipe(duplex=False)
        child = fork.Process(target=_use_as_nobody, args=(path, sender))
        child.start()
        sender.close()
        count, message = receiver.recv(), receiver.recv()
        child.join()
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
    assert (count, child.exitcode) == (1, 0)
    assert message.startswith(f"{path}: ") and "cannot make the lock file" in message


def test_a_network_file_system_is_rejected_with_the_remedy(path, monkeypatch):
    import ckprof.store.database

    fill(path, make_attempt())
    monkeypatch.setattr(ckprof.store.database, "file_system_of", lambda _: "nfs4")
    monkeypatch.setattr(ckprof.store.database, "file_system_of", lambda _: "nfs4")
    with pytest.raises(NetworkStoreError, match=r"nfs4.*shards"):
        StoreWriter(path)
    with Store(path) as store:  # nobody writes it: reading is fine
        assert len(store) == 1


def test_the_file_system_of_a_path_is_found(tmp_path):
    from ckprof.store.database import file_system_of

    expected = subprocess.run(
        ["stat", "--file-system", "--format=%T", str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = file_system_of(tmp_path)
    assert found and (found in expected or expected in found or expected.startswith(found[:3]))
    assert file_system_of(type(tmp_path)("/proc/self")) == "proc"
