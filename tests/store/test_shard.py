"""Shards hold what was appended, and merging them is idempotent."""

import json
import os
import platform
import time
import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.outcome import Status
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.attempt import Mark
from ckprof.store.errors import NewerStoreError, NotAStoreError, StoreError, StoreFullError
from ckprof.store.maintenance import check
from ckprof.store.shard import (
    FORMAT,
    BadLine,
    ShardWriter,
    attempt_line,
    decode_attempt,
    find_shards,
    merge,
    read_lines,
)
from ckprof.store.writer import StoreWriter
from tests.store.samples import attempts, check_format, make_attempt, make_session
from tests.store.test_baselines import FAILED, measured


def write_shard(folder, *added):
    with ShardWriter(folder) as shard:
        for attempt in added:
            shard.append(attempt)
    return shard.path


@given(added=st.lists(attempts(), max_size=8))
@settings(max_examples=10)
def test_attempts_come_back_as_they_were_appended(tmp_path_factory, added):
    folder = tmp_path_factory.mktemp("shards")
    assert [line.attempt for line in read_lines(write_shard(folder, *added))] == added
    check_format(FORMAT, folder, added)


@given(added=st.lists(attempts(), max_size=10), cut=st.integers(0, 10), times=st.integers(1, 3))
@settings(max_examples=8)
def test_merging_in_any_way_gives_the_same_store(tmp_path_factory, added, cut, times):
    folder = tmp_path_factory.mktemp("merge")
    shards = [write_shard(folder / "shards", *added[:cut]), write_shard(folder / "shards", *added[cut:])]
    with StoreWriter(folder / "direct.db") as writer:
        for attempt in added:
            writer.append(attempt)
        expected = list(writer.reader)
    with StoreWriter(folder / "merged.db") as writer:
        added_first, known_first, _ = merge(writer, shards)
        for _ in range(times):
            assert merge(writer, [folder / "shards"]) == (0, len(added), [])
        assert list(writer.reader) == expected
    assert (added_first, known_first + added_first) == (len(expected), len(added))


def test_late_marks_are_merged(tmp_path):
    attempt = make_attempt()
    with ShardWriter(tmp_path) as shard:
        shard.append(attempt)
        shard.add_marks([(attempt.session.uid, 0, Mark.DROPPED)])
        shard.add_marks([])
    with StoreWriter(tmp_path / "r.db") as writer:
        merge(writer, [shard.path])
        assert [one.marks for one in writer.reader] == [(Mark.DROPPED,)]


def test_what_a_store_has_is_counted(tmp_path):
    made = [make_attempt(n, n) for n in range(9)]
    with StoreWriter(tmp_path / "r.db") as writer:
        for attempt in made[4:]:
            writer.append(attempt)
        assert merge(writer, [write_shard(tmp_path, *made)]) == (4, 5, [])


def test_a_failed_attempt_survives(tmp_path):
    attempt = make_attempt()
    check = replace(attempt.verification, max_error=1e300, wrong_elements=3)
    failed = replace(attempt, status=Status.WRONG_RESULT, measurement=None, verification=check)
    assert [line.attempt for line in read_lines(write_shard(tmp_path, failed))] == [failed]
    # as records of other files, whose samples may be apart
    for samples in ((), (1.0, 2.0)):
        assert decode_attempt(json.loads(attempt_line(failed))["attempt"], samples) == failed
        found = decode_attempt(json.loads(attempt_line(attempt))["attempt"], samples)
        expected = samples or attempt.measurement.samples_ms
        assert found == replace(attempt, measurement=replace(attempt.measurement, samples_ms=expected))


def test_a_torn_last_line_is_reported_and_the_rest_used(tmp_path):
    path = write_shard(tmp_path, make_attempt(0, 0), make_attempt(1, 1))
    path.write_bytes(path.read_bytes()[:-20])
    with StoreWriter(tmp_path / "r.db") as writer:
        _, _, (bad,) = merge(writer, [path])
        assert [attempt.sequence for attempt in writer.reader] == [0]
    assert (bad.line, bad.path) == (3, str(path))
    assert "incomplete" in bad.reason


def test_a_shard_that_was_cut_in_its_first_line_holds_nothing(tmp_path):
    path = write_shard(tmp_path)
    path.write_bytes(path.read_bytes()[:10])
    assert list(read_lines(path)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["attempt"].pop("status"),
        lambda record: record["attempt"].update(status="fine"),
        lambda record: record["attempt"]["key"]["problem"].update(batch=-1),
        lambda record: record["attempt"]["key"]["problem"].update(filter=[9999, 9999]),
        # what no store can hold, which must not end the merge of the others
        lambda record: record["attempt"]["measurement"].update(time_ms=-1.0),
        lambda record: record["attempt"]["measurement"].update(time_ms=0.0),
        lambda record: record["attempt"]["conditions"].update(started=1e300),
        lambda record: record["attempt"].update(sequence=-1),
        dict.clear,
    ],
)
def test_bad_lines_are_reported_with_their_number(tmp_path, change):
    path = write_shard(tmp_path, make_attempt(0, 0), make_attempt(1, 1), make_attempt(2, 2))
    lines = path.read_text().splitlines()
    record = json.loads(lines[2])
    change(record)
    lines[2] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n")
    found = list(read_lines(path))
    assert [getattr(one, "line", None) for one in found] == [None, 3, None]
    assert found[1].reason
    with StoreWriter(tmp_path / "r.db") as writer:
        added, _, bad = merge(writer, [path])
        assert [attempt.sequence for attempt in writer.reader] == [0, 2]
    assert (added, [(line.path, line.line) for line in bad]) == (2, [(str(path), 3)])


def test_other_files_are_rejected(tmp_path):
    other = tmp_path / "x.ndjson"
    with pytest.raises(StoreError, match="no such shard"):
        list(read_lines(*find_shards([other])))
    with pytest.raises(StoreError, match="no shard"):
        find_shards([tmp_path])
    named = '{"schema": "%s", "version": %s}\n'
    for text in ("{}", "{}\n", "[]", named % ("other", 1), named % ("ckprof.attempts", '"1"')):
        other.write_text(text)
        with pytest.raises(NotAStoreError, match="not a shard; 'ckprof results export' makes one of a store"):
            list(read_lines(*find_shards([other])))
    other.write_text(named % ("ckprof.attempts", 2))
    with pytest.raises(NewerStoreError, match="version 2"):
        list(read_lines(*find_shards([other])))


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    with ShardWriter(tmp_path) as shard:
        shard.append(make_attempt(0, 0))
        write = os.write

        def fill_up(descriptor, data):
            monkeypatch.setattr(os, "write", fail)
            return write(descriptor, data[:100])

        def fail(descriptor, data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", fill_up)
        with pytest.raises(StoreFullError, match="No space left"):
            shard.append(make_attempt(1, 1))
        monkeypatch.undo()
        shard.append(make_attempt(2, 2, session=make_session(3)))
    found = list(read_lines(shard.path))
    assert not [line for line in found if isinstance(line, BadLine)]
    assert [line.attempt.sequence for line in found] == [0, 2]


def test_what_became_of_baselines_is_merged(tmp_path):
    first, second = make_session(3), make_session(4)
    baselines = [measured(session=first), replace(FAILED, session=second)]
    with ShardWriter(tmp_path / "shards") as shard:
        for baseline in baselines:
            assert shard.add_baseline(baseline) is True
    with StoreWriter(tmp_path / "r.db") as writer:
        for _ in range(2):
            assert merge(writer, [shard.path]) == (0, 0, [])
        assert list(writer.reader.baselines()) == baselines, "an infinite error among them"
    assert check(tmp_path / "r.db") == []


def test_a_shard_is_on_the_disk_when_it_was_asked_to_be(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    for options, expected in (({}, [1, 2, 2, 2, 2]), ({"sync_s": 1e9}, [0, 0, 1, 1, 1])):
        synced.clear()
        shard = ShardWriter(tmp_path, **options)
        counts = [len(synced)]
        assert shard.append(make_attempt()) is True
        for step in (lambda: None, shard.sync, shard.sync, shard.close):
            step()
            counts.append(len(synced))
        with monkeypatch.context() as patch:
            patch.setattr(os, "close", None)
            shard.close()
        assert counts == expected, options
        assert len([*read_lines(shard.path)]) == 1
    # at most so many seconds after the last time
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with ShardWriter(tmp_path / "timed", sync_s=5.0) as shard:
        for clock[0], count in ((104.5, 0), (105.0, 1), (109.0, 0), (111.0, 1)):
            synced.clear()
            shard.append(make_attempt())
            assert len(synced) == count, clock


def test_no_shard_is_written_over(tmp_path, monkeypatch):
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))
    first = write_shard(tmp_path / "made" / "folders")
    assert first.name == f"{platform.node()}-{os.getpid()}-00000000.ndjson"
    (tmp_path / "plain").touch()
    assert first.stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(StoreError, match="cannot make the shard: File exists"):
        ShardWriter(first.parent)
    second = write_shard(tmp_path)
    assert find_shards([second, tmp_path, first.parent, first]) == [second, first]


def test_an_export_is_read_up_to_its_first_bad_line(tmp_path):
    path = write_shard(tmp_path, make_attempt(0, 0), make_attempt(1, 1))
    path.write_bytes(path.read_bytes().replace(b'"sequence":1,', b'"sequence":"x",'))
    found = FORMAT.read(path, ImportHints())
    assert next(found).sequence == 0
    with pytest.raises(InputError, match=r":3: .*Expected `int`"):
        next(found)
    wrong = []
    assert [one.sequence for one in FORMAT.read(path, ImportHints(on_wrong=wrong.append))] == [0]
    assert [error.line for error in wrong] == [3]
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        next(FORMAT.read(tmp_path / "absent", ImportHints()))
