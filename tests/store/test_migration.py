"""Stores of earlier versions: read as they are, and brought up to date after a backup."""

from __future__ import annotations

import gzip
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.model.outcome import Status
from ckprof.store.key import DeviceKey, MethodKey, canonical
from ckprof.store.maintenance import check
from ckprof.store.salvage import recover
from ckprof.store.schema import SCHEMA_VERSION
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt

WRITTEN = Path(__file__).parent.parent / "data" / "stores" / "version_1.db.gz"

#: (kernel, size of the problem) -> status, time, least time, attempts, verified ones
EXPECTED = {
    # three of its five rounds were disturbed
    ("kernel_0", 8): (Status.OK, 1.01, 1.0, 5, 5),
    # it ran twice in each round
    ("kernel_1", 8): (Status.OK, 1.5, 1.49, 10, 10),
    # its fast round drifted
    ("kernel_2", 8): (Status.OK, 3.0, 3.0, 3, 3),
    ("kernel_3", 8): (Status.RUN_ERROR, None, None, 1, 0),
    ("kernel_0", 16): (Status.OK, 4.0, 4.0, 1, 1),
    ("kernel_1", 16): (Status.WRONG_RESULT, None, None, 2, 1),
    ("kernel_4", 16): (Status.OK, None, None, 1, 0),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store of version 1, as it was written then."""
    path = tmp_path / "results.db"
    path.write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    return path


def check_content(path: Path) -> None:
    with Store(path) as store:
        assert len(store) == 23 and len(list(store)) == 23
        found = {
            (one.kernel.name, one.key.problem.input[0]): (
                *(one.status, pytest.approx(one.median_ms), pytest.approx(one.min_ms)),
                *(one.attempts, one.ranked_attempts),
            )
            for one in store.measurements()
        }
        assert found == EXPECTED
        assert [one.kernel.name for one in store.best()] == ["kernel_0", "kernel_0"]
        assert [one.tags for one in store.sessions()] == [("day1",)]


def test_keys_of_before_hold() -> None:
    # the very texts that stores have
    assert canonical(DeviceKey(target="cpu", compute_units=2)) == (
        b'{"arch":"","compute_units":2,"memory_bytes":0,"model":"","partition":"","target":"cpu"}'
    )
    assert canonical(MethodKey()) == b'{"cache":"cold","clock":"wall","flush_bytes":0,"init":"","version":1}'
    assert canonical(MethodKey(seed=3)).endswith(b'"init":"","seed":3,"version":1}')


def test_what_keys_did_not_have_is_kept(tmp_path: Path) -> None:
    one = make_attempt(1, 1)
    key = replace(one.key, device=replace(one.key.device, threads=4), method=replace(one.key.method, seed=3))
    with StoreWriter(tmp_path / "results.db") as writer:
        writer.append(one)
        writer.append(replace(one, key=key, sequence=one.sequence + 1))
    with Store(tmp_path / "results.db") as store:
        assert [found.key for found in store] == [one.key, key]
        assert len(list(store.measurements())) == 2


def stored_version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def check_without_order(path: Path) -> list[str]:
    """What is wrong with a store of attempts that were made up with rounds in no order."""
    return [text for text in check(path) if "begins anew" not in text and "the same kernel's" not in text]


@pytest.mark.parametrize("mode", [0o644, 0o444])
def test_an_older_store_is_read_as_it_is(path: Path, mode: int) -> None:
    before = path.read_bytes()
    path.chmod(mode)
    check_content(path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert check_without_order(path) == []


def test_a_writer_brings_it_up_to_date_after_a_backup(path: Path) -> None:
    before = path.read_bytes()
    StoreWriter(path).close()
    assert stored_version(path) == SCHEMA_VERSION
    check_content(path)
    backup = path.with_name("results.db.v1.bak")
    assert stored_version(backup) == 1
    check_content(backup)
    connection = sqlite3.connect(backup)
    old = connection.execute("SELECT median_ms FROM measurements ORDER BY id").fetchall()
    connection.close()
    assert old[:3] == [(2.0,), (1.5,), (3.0,)], "the backup is what was there"
    assert before[:16] == backup.read_bytes()[:16]
    with StoreWriter(path) as writer:
        assert writer.append(make_attempt(9, 99))
    with Store(path) as store:
        assert len(store) == 24


def test_the_times_of_version_2_are_computed_anew(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE measurements SET median_ms = 1.005 WHERE median_ms = 2.0")
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    check_content(path)
    assert stored_version(path) == 2, "reading changes nothing"
    StoreWriter(path).close()
    assert stored_version(path) == SCHEMA_VERSION
    check_content(path)
    assert stored_version(path.with_name("results.db.v2.bak")) == 2


def test_an_older_store_is_recovered(path: Path) -> None:
    target = path.with_name("saved.db")
    assert recover(path, target).saved == 23
    check_content(target)
