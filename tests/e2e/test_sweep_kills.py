"""Whole sweeps with real kernels on the CPU that are killed at random moments lose and double nothing."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from ckprof.store.maintenance import check
from ckprof.store.store import Store

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: sweeps the problems of a file into a store, and says which outcomes the sweep has announced as stored
_CHILD = """
import os, sys
from pathlib import Path
import ckprof
from ckprof.sweep.requests import SweepProgress
from ckprof.measure.options import RunOptions

def tell(event):
    if isinstance(event, SweepProgress):
        last = event.last
        os.write(1, f"{last.session.uid} {last.sequence}\\n".encode())

conf, store, build, lines = sys.argv[1:]
profiler = ckprof.Profiler(on_event=tell)
how = RunOptions(min_samples=2, max_time_s=0.002, warmup=0, keep_samples=True, flush_bytes=1 << 16)
profiler.sweep(
    ckprof.InstanceQuery(conf=conf, directions="fwd"),
    open(lines).read().splitlines(),
    ckprof.SweepOptions(store=store, rounds=ckprof.RoundOptions(min_rounds=2, max_rounds=3)),
    build=ckprof.BuildOptions(build_dir=Path(build)),
    run=how,
)
"""
#: seconds after which a sweep that neither ends nor is killed has failed the test
_LIMIT_S = 300.0


class Sweeper:
    """Starts sweeps, kills them, and remembers what each of them has announced."""

    def __init__(self, folder, conf, problems):
        lines = folder / "problems.txt"
        lines.write_text(
            "".join(f"2 1 1 16 16 3 3 {size} {size} 1 1 1 1 1 1 1 1\n" for size in _sizes(problems))
        )
        self._command = [sys.executable, "-c", _CHILD, str(conf)]
        self._rest = [str(folder / "build"), str(lines)]
        #: store -> session -> sequence numbers
        self.announced = {}

    def run(self, store, kill_after_s):
        """Run one sweep; return whether it was killed before it ended."""
        announced = self.announced.setdefault(store, {})
        command = [*self._command, str(store), *self._rest]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            timer = threading.Timer(kill_after_s or _LIMIT_S, child.kill)
            timer.start()
            try:
                out, err = child.communicate()
            finally:
                timer.cancel()
        for line in out.splitlines(keepends=True):
            if line.endswith("\n"):
                uid, sequence = line.split()
                announced.setdefault(uid, []).append(int(sequence))
        killed = child.returncode == -signal.SIGKILL
        assert (killed and kill_after_s is not None) or child.returncode == 0, err
        return killed


def _sizes(count):
    return range(6, 6 + count)


def check_store(store, announced, *, cells):
    """Check a store after kills.

    :param cells: outcomes that a finished sweep has; ``None`` for one that is not finished.
    """
    if not store.exists():
        assert not announced
        return
    assert check(store) == []
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    found = {}
    visits = Counter()
    keys = set()
    with Store(store) as reader:
        for one in reader:
            found.setdefault(one.session.uid, []).append(one.sequence)
            keys.add(one.key.digest)
            visits[one.key.digest, one.conditions.round] += 1
    assert set(visits.values()) <= {1}, "an outcome is there twice"
    for uid, sequences in announced.items():
        assert sequences == list(range(len(sequences)))
        assert set(sequences) <= set(found[uid]), "a finished outcome is lost"
    for uid, sequences in found.items():
        assert sequences == list(range(len(sequences)))
        # stored, but killed before it could be announced
        assert len(sequences) - len(announced.get(uid, [])) in (0, 1)
    if cells is not None:
        assert len(keys) == cells


def kill_sweeps(folder, conf, *, kills, problems):
    """Kill sweeps at random moments; each goes on with what the ones before have stored, until it is done."""
    chance = random.Random(f"{kills}")
    sweeper = Sweeper(folder, conf, problems)
    assert not sweeper.run(folder / "first.db", None)
    started = time.monotonic()
    assert not sweeper.run(folder / "second.db", None)
    whole_s = time.monotonic() - started
    check_store(folder / "second.db", sweeper.announced[folder / "second.db"], cells=4 * problems)
    done = finished = 0
    store = folder / "0.db"
    while done < kills:
        if sweeper.run(store, chance.uniform(0, whole_s)):
            done += 1
            check_store(store, sweeper.announced[store], cells=None)
        else:
            check_store(store, sweeper.announced[store], cells=4 * problems)
            finished += 1
            store = folder / f"{finished}.db"
    assert not sweeper.run(store, None)
    check_store(store, sweeper.announced[store], cells=4 * problems)
    outcomes = sum(len(one) for sessions in sweeper.announced.values() for one in sessions.values())
    print(f"{done} kills in sweeps of {whole_s:.1f} s, {finished + 1} sweeps finished, {outcomes} outcomes")


@pytest.mark.slow
def test_killed_sweeps_lose_nothing(tmp_path, short_list):
    kill_sweeps(tmp_path, short_list, kills=2, problems=2)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_hundred_killed_sweeps_lose_nothing(tmp_path, short_list):
    kill_sweeps(tmp_path, short_list, kills=200, problems=12)
