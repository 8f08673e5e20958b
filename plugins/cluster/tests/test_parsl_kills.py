"""Whole sweeps with Parsl that are killed or signalled at random moments lose nothing and leave nothing."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil
import pytest

from ckprof.store.maintenance import check
from ckprof.store.store import Store

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="Parsl is not installed"),
]

ROOT = Path(__file__).parents[3]
_CLUSTER = "engine = 'parsl'\n\n[pools.run]\nprovider = 'local'\ngpus = 2\n"
#: how a sweep may end: a signal, and whether it goes to the whole process group
ENDS = (
    (signal.SIGKILL, False),
    (signal.SIGKILL, True),
    (signal.SIGTERM, True),
    (signal.SIGINT, True),
    (signal.SIGTERM, False),
)
#: whoever does not end, or go on, within these seconds never does
_LIMIT_S = 240.0


@dataclass
class Figures:
    """What was seen, in seconds from a signal, or from the start of a call."""

    ended_s: list[float] = field(default_factory=list)
    gone_s: list[float] = field(default_factory=list)
    went_on_s: list[float] = field(default_factory=list)

    def lines(self):
        named = (
            ("the command ends after", self.ended_s),
            ("all its processes are gone after", self.gone_s),
            ("the next call stores an outcome after", self.went_on_s),
        )
        return [
            f"{name}: median {median(seen):.1f} s, at most {max(seen):.1f} s ({len(seen)} times)"
            for name, seen in named
            if seen
        ]


class Sweeps:
    """Calls one sweep again and again."""

    def __init__(self, folder, conf):
        self.folder, self.conf = folder, conf
        self.store = folder / "r.db"
        self.figures = Figures()
        (folder / "c.toml").write_text(_CLUSTER)
        sizes = range(8, 20)
        (folder / "p.txt").write_text("".join(f"2 1 1 16 16 3 3 {n} {n} 1 1 1 1 1 1 1 1\n" for n in sizes))

    def start(self, *arguments):
        with (self.folder / "err.txt").open("wb") as errors:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "ckprof", "sweep", "fwd", "--conf", str(self.conf)),
                    *("--problems", "p.txt", "--store", "r.db", "--cluster", "c.toml", "--exhaustive"),
                    *("--round-time", "0.05", "--min-rounds", "2", "--max-rounds", "400", *arguments),
                ],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def outcomes(self):
        """Return what the store has."""
        if not self.store.exists():
            return set()
        with Store(self.store) as store:
            return {(one.session.uid, one.sequence) for one in store}

    def written(self):
        """Return how many bytes of outcomes workers have written down."""
        shards = (self.folder / "r.db.sweep" / "shards").glob("*.ndjson")
        return sum(shard.stat().st_size for shard in shards)

    def goes_on(self, child, before):
        """Wait until a worker stores an outcome; return after how many seconds."""
        started = time.monotonic()
        # more than the heads of new shards
        while self.written() < before + 4000:
            said = (self.folder / "err.txt").read_text()
            assert child.poll() is None, said
            assert time.monotonic() - started < _LIMIT_S, said
            time.sleep(0.05)
        return time.monotonic() - started

    def relatives(self):
        """Return all processes that belong to calls, wherever they have gone."""
        found = []
        for process in psutil.process_iter():
            try:
                words = (process.cwd(), *process.cmdline(), *process.environ().values())
                if process.pid != os.getpid() and str(self.folder) in " ".join(words):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self, child, number, *, group):
        """End a call with a signal, and wait until nothing of it is left."""
        relatives = self.relatives()
        sent = time.monotonic()
        os.killpg(child.pid, number) if group else child.send_signal(number)
        code = child.wait(_LIMIT_S)
        self.figures.ended_s.append(time.monotonic() - sent)
        said = (self.folder / "err.txt").read_text()
        assert code == (-number if number == signal.SIGKILL else 128 + number), said
        assert "Traceback" not in said, said
        psutil.wait_procs(relatives, timeout=_LIMIT_S)
        left = [one for one in relatives if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
        left += [one for one in self.relatives() if one not in left]
        self.figures.gone_s.append(time.monotonic() - sent)
        assert left == []


def _end_again_and_again(sweeps, kills, chance):
    """Start and end a sweep some times; return what is stored at last."""
    known = set()
    for number in range(kills):
        end, group = ENDS[number % len(ENDS)]
        before = sweeps.written()
        child = sweeps.start()
        if number % 6 == 5:
            # also while it starts
            time.sleep(chance.uniform(0.0, 4.0))
        else:
            seconds = sweeps.goes_on(child, before)
            if number:
                sweeps.figures.went_on_s.append(seconds)
            time.sleep(chance.uniform(0.0, 2.0))
        sweeps.end(child, end, group=group)
        found = sweeps.outcomes()
        assert found >= known, "an outcome is lost"
        known = found
    return known


def kill_sweeps(folder, conf, kills):
    """Let calls go on where those before were ended, at random moments."""
    chance = random.Random(kills)
    sweeps = Sweeps(folder, conf)
    # builds the kernels
    sweeps.start("--dry-run").wait(_LIMIT_S)
    try:
        known = _end_again_and_again(sweeps, kills, chance)
    finally:
        for line in sweeps.figures.lines():
            print(line)
    lines = {}
    for shard in (folder / "r.db.sweep" / "shards").glob("*.ndjson"):
        for line in shard.read_bytes().splitlines(keepends=True)[1:]:
            if line.startswith(b'{"attempt"') and line.endswith(b"\n"):
                lines[line] = lines.get(line, 0) + 1
    last = sweeps.start("--budget", "1s")
    assert last.wait(_LIMIT_S) == 0, (folder / "err.txt").read_text()
    with Store(sweeps.store) as store:
        attempts = list(store)
    places = {(one.session.uid, one.sequence) for one in attempts}
    assert places >= known and len(places) == len(attempts) >= len(lines) and set(lines.values()) <= {1}
    assert check(sweeps.store) == []
    print(f"{kills} ends, {len(attempts)} outcomes, none is lost or stored twice, no process is left")


def test_sixty_kills_and_signals_lose_and_leave_nothing(tmp_path, short_list):
    kill_sweeps(tmp_path, short_list, kills=60)


def test_some_kills_and_signals_lose_and_leave_nothing(tmp_path, short_list):
    kill_sweeps(tmp_path, short_list, kills=len(ENDS) + 1)
