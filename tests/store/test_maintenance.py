"""Checking, recovering and pruning."""

import random
import sqlite3

import pytest

from ckprof.model.outcome import Status
from ckprof.store.errors import StoreError
from ckprof.store.maintenance import check, prune, recover
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt, make_problem, make_session

COUNT = 200


@pytest.fixture
def path(tmp_path):
    """Return a store with many attempts, whose reasons make it some hundred pages long."""
    path = tmp_path / "results.db"
    made = [
        make_attempt(
            n % 9,
            n,
            1.0 + n % 9,
            problem=make_problem(1 + n % 6),
            session=make_session(n % 3),
            round=1 + n,
        )
        for n in range(COUNT)
    ]
    with StoreWriter(path) as writer:
        writer.append_many(made)
    return path


def test_a_sound_store_has_no_findings(path):
    assert check(path) == []


def test_findings_name_what_is_wrong(path):
    connection = sqlite3.connect(path)
    connection.execute("UPDATE measurements SET attempts = 77 WHERE id = 3")
    connection.execute("UPDATE samples SET data = x'00' WHERE attempt_id = 5")
    connection.commit()
    findings = check(path)
    assert any(finding.startswith("table measurements, row 3: is not what") for finding in findings)
    assert any(finding.startswith("table samples, row 5: is not what was") for finding in findings)
    connection.execute("DELETE FROM problems WHERE id = 2")
    connection.commit()
    connection.close()
    assert any("missing row of problems" in finding for finding in check(path))


def test_what_is_readable_is_recovered(path, tmp_path):
    """Overwrite pages of attempts and samples: whatever lies on the others comes back unchanged."""
    with Store(path) as store:
        before = {(one.session.uid, one.sequence): one for one in store}
    connection = sqlite3.connect(path)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    try:
        rows = connection.execute(
            "SELECT pageno FROM dbstat WHERE name IN ('attempts', 'samples') AND pagetype = 'leaf'"
        ).fetchall()
        leaves = [page for (page,) in rows]
    except sqlite3.OperationalError:  # SQLite without the table of pages: any page behind the first ones
        leaves = list(range(pages // 2, pages + 1))
    connection.close()
    data = bytearray(path.read_bytes())
    for page in random.Random(5).sample(leaves, 3):
        data[(page - 1) * 4096 : page * 4096] = b"\xee" * 4096
    path.write_bytes(data)
    damaged = path.read_bytes()
    assert check(path)

    result = recover(path, tmp_path / "new.db")

    assert path.read_bytes() == damaged
    with Store(tmp_path / "new.db") as store:
        after = list(store)
    assert check(tmp_path / "new.db") == []
    assert len(after) == result.saved
    assert COUNT // 2 < result.saved < COUNT
    for attempt in after:
        original = before[attempt.session.uid, attempt.sequence]
        if attempt != original:  # its raw samples are gone
            assert attempt.measurement.samples_ms == ()
            assert attempt.measurement.time_ms == original.measurement.time_ms
            assert any("without its raw samples" in reason for reason in result.reasons)


def test_a_store_that_was_cut_off_is_recovered(path, tmp_path):
    """As by a copy onto a full disk: the pages that are there give their attempts back."""
    with Store(path) as store:
        before = {(one.session.uid, one.sequence): one for one in store}
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(int(size * 0.85) // 4096 * 4096)
    assert check(path) == ["cannot be opened: database disk image is malformed"]
    result = recover(path, tmp_path / "new.db")
    # attempts lie before their samples
    assert 0 < result.saved <= COUNT
    with Store(tmp_path / "new.db") as store:
        for attempt in store:
            original = before[attempt.session.uid, attempt.sequence]
            assert attempt.key == original.key
            assert attempt.measurement.time_ms == original.measurement.time_ms
    assert check(tmp_path / "new.db") == []


def test_a_store_without_its_tables_says_so(path, tmp_path):
    data = bytearray(path.read_bytes())
    data[4096 : 64 * 4096] = b"\xee" * (63 * 4096)
    path.write_bytes(data)
    assert check(path)[0].startswith("cannot be opened: ")
    with pytest.raises(StoreError, match="nothing of the store can be read"):
        recover(path, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_recovery_is_complete_and_does_not_overwrite(path, tmp_path):
    with pytest.raises(StoreError, match="exists already"):
        recover(path, path)
    with Store(path) as store:
        before = list(store)
    result = recover(path, tmp_path / "new.db")
    assert (result.saved, result.lost, result.reasons) == (COUNT, 0, ())
    with Store(tmp_path / "new.db") as store:
        assert list(store) == before


def test_pruning_is_a_dry_run_unless_asked_for(path):
    query = StoreQuery(session=make_session(1).uid)
    expected = sum(1 for n in range(COUNT) if n % 3 == 1)
    planned, _, freed = prune(path, query)
    assert (planned, freed) == (expected, 0)
    with Store(path) as store:
        assert len(store) == COUNT
    done, _, freed = prune(path, query, dry_run=False)
    assert done == expected
    assert freed > 0
    assert check(path) == []
    with Store(path) as store:
        left = list(store)
        assert {one.session.uid for one in left} == {make_session(0).uid, make_session(2).uid}
        assert sum(summary.attempts for summary in store.measurements()) == len(left) == COUNT - expected


def test_measurements_without_attempts_vanish(path):
    prune(path, StoreQuery(), dry_run=False)
    with Store(path) as store:
        assert (len(store), list(store.measurements()), store.best()) == (0, [], [])


def test_samples_alone_are_pruned(path):
    done, samples_bytes, _ = prune(path, StoreQuery(), samples_only=True, dry_run=False)
    assert (done, samples_bytes > 0) == (0, True)
    with Store(path) as store:
        assert all(one.measurement.samples_ms == () and one.measurement.samples == 3 for one in store)


def test_only_what_was_asked_for_is_pruned(path):
    with StoreWriter(path) as writer:
        writer.append(make_attempt(0, 9_000, status=Status.RUN_ERROR, reason="crashed"))
    assert prune(path, StoreQuery(statuses=frozenset({Status.RUN_ERROR})), dry_run=False)[0] == 1
    with Store(path) as store:
        assert len(store) == COUNT
