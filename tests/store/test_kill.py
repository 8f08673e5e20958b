"""A writer that is killed at any moment loses at most the outcome that it was adding."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckprof.store.maintenance import check
from ckprof.store.shard import merge
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter

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
