"""Whole sweeps and runs with real kernels on the CPU that are killed at random moments lose nothing."""

import json
import random
import re
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
from tests.called import ckprof_apart
from tests.e2e.test_interruption import CODES, PATIENCE_S, PROBLEM, started, wait_until_gone

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


#: a whole run takes about three seconds on an idle machine
OPTIONS = ("--cache", "warm", "--max-time", "0.2", "--criterion", "sample-count:count=1000000000", "-v")
#: seconds after which runs are ended, at most
LATEST_S = 3.0
#: of a whole run: kernels x problems
OUTCOMES = 4 * 2
#: what a run says when Python has loaded it, and when it is about to measure
BEGUN, READY = "read ", "device: "


class KilledRun:
    """A run that is ended after a while.

    :param folder: an empty folder for everything that the run writes.
    :param after: the seconds are counted from the line that begins like this; empty for the start.
    """

    def __init__(self, folder, short_list, delay_s, number, after=""):
        self.folder = folder
        self.number = number
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        lines = [part for size in (8, 9) for part in ("--problem", PROBLEM.format(size))]
        run = ("run", "fwd", "--conf", short_list, *lines, *OPTIONS)
        files = ("--store", folder / "results.db", "--json", folder / "out.json")
        child = started(*run, *files, folder=folder, temporary=self.temporary)
        timer = threading.Timer(delay_s, child.send_signal, (number,))
        last = threading.Timer(PATIENCE_S, child.kill)
        last.start()
        if not after:
            timer.start()
        self.err = ""
        with child:
            for line in child.stderr:
                self.err += line
                if after and line.startswith(after) and not timer.is_alive():
                    timer.start()
            self.out = child.stdout.read()
        self.code = child.returncode
        timer.cancel()
        last.cancel()
        #: times in milliseconds that the run said
        self.said = re.findall(r"^round \d+: (\S+) ms ", self.err, re.MULTILINE)

    def check(self):
        """Nothing is lost, half-written or left behind."""
        assert "Traceback" not in self.err, self.err
        assert not wait_until_gone(self.temporary), "a process lives on"
        self._check_store()
        report = self.folder / "out.json"
        finished = self.code in (0, 1)
        if report.exists():
            # a file is there as a whole, or not at all
            document = json.loads(report.read_text())
            outcomes = [one for problem in document["problems"] for one in problem["outcomes"]]
            # a signal may come when everything is measured and only the report is left
            assert (document["partial"] and not finished) or len(outcomes) == OUTCOMES
            measured = [one for one in outcomes if one["measurement"]]
            assert sum(one["standing"]["taken"] for one in measured) >= len(self.said)
            assert all(f"{one['measurement']['time_ms']:.4f}" in self.out for one in measured) or (
                self.number == signal.SIGKILL
            )
        if self.number != signal.SIGKILL:
            # when all is done and said, Python ends, and the signal finds no handler any more
            late = -self.number if report.exists() and not document["partial"] else None
            assert finished or self.code in (CODES[signal.Signals(self.number)], late), self.err
            assert not list(self.temporary.glob("ckprof-run-*"))
            assert report.exists() or not self.said

    def _check_store(self):
        path = self.folder / "results.db"
        if not path.exists():
            assert not self.said
            return
        with sqlite3.connect(path) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
        if not self.said:
            return
        with Store(path) as store:
            stored = [f"{one.measurement.time_ms:.4g}" for one in store.attempts() if one.measurement]
        assert len(stored) >= len(self.said)
        assert {*self.said} <= {*stored}


def end_runs(short_list, folder, numbers, seed):
    dice = random.Random(seed)
    runs = []
    for position, number in enumerate(numbers):
        # Python itself reports a signal that comes before ckprof is loaded; and most of a run is measuring
        after = READY if dice.random() < 0.7 else "" if number == signal.SIGKILL else BEGUN
        delay_s = dice.uniform(0.0, LATEST_S)
        run = KilledRun(folder / str(position), short_list, delay_s, number, after)
        run.check()
        runs.append(run)
    return runs


@pytest.fixture
def built(short_list, tmp_path):
    """Return the list, with its kernels in the cache."""
    ckprof_apart("build", "fwd", "--conf", short_list, "-q", cwd=tmp_path).ok()
    return short_list


def test_some_killed_runs(built, tmp_path):
    end_runs(built, tmp_path, [signal.SIGKILL, signal.SIGTERM], seed=random.randrange(2**32))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_kills(built, tmp_path):
    started = time.monotonic()
    runs = end_runs(built, tmp_path, [signal.SIGKILL] * 200, seed=1)
    said = sum(len(run.said) for run in runs)
    assert said > 200, "most runs were ended before they measured anything"
    print(f"{len(runs)} kills, {said} measurements, none lost; {time.monotonic() - started:.0f} s")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_sixty_signals(built, tmp_path):
    runs = end_runs(built, tmp_path, [*CODES] * 20, seed=2)
    partial = sum(run.code not in (0, 1) and bool(run.said) for run in runs)
    assert partial > 5, "hardly any run was ended while it measured"
    print(f"{len(runs)} signals, {partial} while kernels were measured")
