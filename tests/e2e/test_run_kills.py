"""``ckprof run`` killed, or asked to end, at random moments: nothing is lost, and nothing lives on.

What counts as measured is what a run has said with ``-v``: by then it is in the store.
"""

import json
import random
import re
import signal
import sqlite3
import threading
import time

import pytest

from ckprof.store.store import Store
from tests.called import ckprof_apart

from .test_interruption import CODES, PATIENCE_S, PROBLEM, started, wait_until_gone

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

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
