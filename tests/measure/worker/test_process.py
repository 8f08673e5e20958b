"""Asking a worker, with time limits."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from ckprof.measure.worker import process as process_module
from ckprof.measure.worker.process import WorkerProcess, WorkerTimeout

#: answers each request after so many seconds
SLOW = (
    "import sys, time\nfor line in sys.stdin:\n time.sleep({})\n print(line.split()[0], 'done', flush=True)"
)


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Return a function that starts a worker which answers after some seconds."""
    started = []

    def start_slow(delay_s: float) -> WorkerProcess:
        command = [sys.executable, "-c", SLOW.format(delay_s)]
        monkeypatch.setattr(process_module, "python_command", lambda *arguments: command)
        started.append(WorkerProcess(tmp_path))
        # the first request waits for its interpreter
        started[0].ask(b"", 60.0)
        return started[0]

    yield start_slow
    for one in started:
        one.kill()


def test_what_takes_longer_than_its_limit_is_given_up(start):
    with pytest.raises(WorkerTimeout, match=r"no reply within 0\.6 s"):
        start(5.0).ask(b"", 0.6)


def test_a_worker_that_is_paused_is_not_too_slow(start):
    worker = start(0.2)
    os.kill(worker._process.pid, signal.SIGSTOP)
    threading.Timer(1.8, os.kill, (worker._process.pid, signal.SIGCONT)).start()
    assert worker.ask(b"", 1.0) == b"done"


def test_a_pause_of_all_processes_is_no_time_out(start, monkeypatch):
    worker, begin = start(0.8), time.monotonic()
    real = time.monotonic
    # clocks went on while nobody ran
    monkeypatch.setattr(process_module.time, "monotonic", lambda: begin + 1000 * (real() - begin))
    assert worker.ask(b"", 5.0) == b"done"


def test_a_worker_cannot_pause_itself_for_ever(start, monkeypatch):
    monkeypatch.setattr(process_module, "_LONGEST_PAUSE_S", 0.4)
    worker = start(0.2)
    os.kill(worker._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerTimeout):
        worker.ask(b"", 0.6)
