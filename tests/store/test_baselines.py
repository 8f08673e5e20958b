"""Baselines in stores: what is added is read back, by every way into a store and out of it."""

import math
import sqlite3

import pytest

from ckprof.model.outcome import Status
from ckprof.store.baselines import BaselineAttempt
from ckprof.store.errors import DamagedStoreError, StoreError
from ckprof.store.maintenance import check, prune, recover
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt, make_key, make_problem, make_session


def measured(sequence=0, time_ms=2.5, **changes):
    key = make_key()
    values = {
        **{"session": make_session(), "sequence": sequence, "baseline": "vendor", "description": "vendor 1"},
        **{"operation": key.operation, "problem": make_problem(8 + sequence), "device": key.device},
        **{"method": key.method, "dtype": "fp16", "layout": "nhwgc", "status": Status.OK},
        **{"time_ms": time_ms, "spread_ms": 0.1, "max_error": 1e-3, "wrong_elements": 0},
        **{"started": 1_700_000_001.5 + sequence},
    }
    return BaselineAttempt(**{**values, **changes})


FAILED = measured(
    1,
    None,
    status=Status.WRONG_RESULT,
    reason="3 of 9 elements are wrong",
    spread_ms=None,
    max_error=1e300,
    wrong_elements=3,
)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "results.db"
    with StoreWriter(found) as writer:
        writer.append(make_attempt(1, 0))
        assert writer.add_baseline(measured()) and writer.add_baseline(FAILED)
        assert not writer.add_baseline(measured()), "the second time it is there"
    return found


def content(path):
    with Store(path) as store:
        return list(store.baselines())


def test_what_was_added_is_read_back(path):
    assert content(path) == [measured(), FAILED]
    assert [one.verified_ms for one in content(path)] == [2.5, None]
    assert check(path) == []


@pytest.mark.parametrize("wrong", [{"time_ms": -1.0}, {"started": -5.0}, {"spread_ms": math.inf}])
def test_what_a_store_may_not_hold_is_not_added(path, wrong):
    with StoreWriter(path) as writer, pytest.raises(StoreError, match="baseline 7 of session"):
        writer.add_baseline(measured(7, **wrong))
    assert len(content(path)) == 2


def test_a_changed_row_is_found(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE baselines SET time_ms = 0.5 WHERE id = 1")
    connection.close()
    with pytest.raises(DamagedStoreError, match="baselines"):
        content(path)
    assert any("baselines" in finding for finding in check(path))


def test_baselines_go_with_the_last_attempt_of_their_session(path):
    other = make_session(1)
    with StoreWriter(path) as writer:
        writer.append(make_attempt(1, 0, session=other))
        writer.add_baseline(measured(session=other))
    prune(path, StoreQuery(tag="day1"), dry_run=False)
    assert content(path) == [measured(), FAILED]
    assert check(path) == []


def test_a_damaged_store_keeps_the_baselines_that_can_be_read(path, tmp_path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE baselines SET layout = 'x' WHERE id = 1")
    connection.close()
    result = recover(path, tmp_path / "saved.db")
    assert result.saved == 1 and any("baseline 1" in reason for reason in result.reasons)
    assert content(tmp_path / "saved.db") == [FAILED]
