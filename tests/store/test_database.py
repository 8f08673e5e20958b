"""Where a store may lie, and which files are opened as one."""

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest

from ckprof.store import database
from ckprof.store.errors import (
    DamagedStoreError,
    NetworkStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
)
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.damage import leave_log
from tests.store.samples import fill, make_attempt


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
    fill(path, make_attempt())
    monkeypatch.setattr(database, "file_system_of", lambda _: "nfs4")
    with pytest.raises(NetworkStoreError, match=r"nfs4.*shards"):
        StoreWriter(path)
    with Store(path) as store:  # nobody writes it: reading is fine
        assert len(store) == 1


def test_the_file_system_of_a_path_is_found(tmp_path):
    expected = subprocess.run(
        ["stat", "--file-system", "--format=%T", str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = database.file_system_of(tmp_path)
    assert found and (found in expected or expected in found or expected.startswith(found[:3]))
    assert database.file_system_of(type(tmp_path)("/proc/self")) == "proc"


#: bytes of a frame of the log: its header and a page; the header of the log itself
FRAME, HEADER = 24 + 4096, 32


@pytest.fixture
def log(path):
    """Return the log of a store with outcomes in it, as a writer leaves it that is killed."""
    leave_log(path, [make_attempt(n % 3, n, round=1 + n) for n in range(8)])
    return path.with_name("results.db-wal")


def test_the_outcomes_of_a_log_are_read(path, log):
    frames, dropped, cut = database.read_log(path)
    assert (dropped, cut) == (0, False)
    assert len(frames) == (log.stat().st_size - HEADER) // FRAME
    assert sum(1 for _, pages, _, _ in frames if pages) == 4, "the log has one commit per outcome"
    with Store(path) as store:
        assert [one.sequence for one in store] == list(range(8))


def test_an_image_is_the_database_after_the_last_commit(path, log, tmp_path):
    frames, _, _ = database.read_log(path)
    database.write_image(path, frames, tmp_path / "image.db")
    database.write_image(path, [], tmp_path / "bare.db")
    assert (tmp_path / "bare.db").read_bytes() == path.read_bytes()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert (tmp_path / "image.db").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("place", "dropped"),
    [
        (HEADER + 24 + 5, 4),  # a page of the first commit
        (HEADER + 1, 4),  # the number of that page
        (3, 4),  # the header of the log
        (-4000, 1),  # the last page
    ],
)
def test_a_log_that_would_be_read_in_part_is_not_read(path, log, place, dropped):
    data = bytearray(log.read_bytes())
    data[place] ^= 1
    log.write_bytes(data)
    assert database.read_log(path)[1] == dropped
    for use in (Store, StoreWriter):
        with pytest.raises(DamagedStoreError) as caught:
            use(path)
        said = f"{path}: its write-ahead log results.db-wal is damaged: SQLite would drop {dropped} commits; "
        assert str(caught.value).startswith(f"{said}save them with 'ckprof results recover'")
    assert log.read_bytes() == data


def test_a_frame_that_its_writer_was_killed_in_is_no_commit(path, log):
    data = log.read_bytes()
    log.write_bytes(data + data[-FRAME:])  # of this use and with a commit, but for the checksum
    index = path.with_name("results.db-shm")
    held = index.read_bytes()
    index.unlink()
    assert database.read_log(path)[1:] == (1, False), "nobody knows whether it was committed"
    index.write_bytes(held)
    assert database.read_log(path)[1:] == (0, False), "the index does not have it"
    with StoreWriter(path) as writer:
        writer.append(make_attempt(0, 8, round=9))
    with Store(path) as store:
        assert [one.sequence for one in store] == list(range(9))


def test_a_log_that_was_cut_off_says_so(path, log):
    data = log.read_bytes()
    log.write_bytes(data[:-FRAME])
    assert database.read_log(path)[1:] == (0, True), "its index says that there were more"
    path.with_name("results.db-shm").unlink()
    assert database.read_log(path)[1:] == (0, False)
    log.write_bytes(data[:-1])
    assert database.read_log(path)[1:] == (0, True)
    log.write_bytes(data[:20])
    assert database.read_log(path) == ((), 0, False)
    log.unlink()
    assert database.read_log(path) == ((), 0, False)


def test_the_log_of_a_store_that_is_written_is_its_writers(path):
    with StoreWriter(path) as writer:
        writer.append(make_attempt())
        log = path.with_name("results.db-wal")
        assert log.stat().st_size and database.read_log(path) == ((), 0, False)
        assert database.read_log(path, locked=True)[0]


def test_checksums_are_those_of_the_format():
    """The sums of sqlite.org/fileformat2.html#walformat, step by step."""
    words, first, second = [1, 2, 2**32 - 1, 5], 7, 9
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) % 2**32
        second = (second + odd + first) % 2**32
    for order in ("little", "big"):
        data = b"".join(word.to_bytes(4, order) for word in words)
        assert database._checksum(data, (7, 9), order) == (first, second)


def test_a_damaged_store_is_opened_to_save_what_is_readable(tmp_path, path):
    with pytest.raises(StoreError, match="there is no such file"):
        database.open_for_salvage(path)
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    with pytest.raises(DamagedStoreError, match="the header says version 0"):
        Store(path)
    connection = database.open_for_salvage(path)
    assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (1,)
    connection.close()
    path.write_bytes(path.read_bytes()[:4096] + bytes(40 * 4096))
    with pytest.raises(DamagedStoreError, match="nothing of the store can be read: "):
        database.open_for_salvage(path)
    path.write_text("no database " * 1000)
    with pytest.raises(NotAStoreError, match="not an SQLite database"):
        database.open_for_salvage(path)


def test_a_store_whose_tables_were_changed_is_rejected(path):
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON texts BEGIN DELETE FROM samples; END")
    connection.close()
    for use in (Store, StoreWriter):
        with pytest.raises(
            DamagedStoreError, match="foreign trigger t: remove it with 'DROP TRIGGER'; or save"
        ):
            use(path)
