"""What a candidate starts is at rest between launches, whatever it looks like."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil

from ckprof_plugins.judge.stopped_process import StoppedProcess, _runs

#: ends its first thread, and computes in another
_WITHOUT_LEADER = """
import ctypes, threading
def work():
    while True:
        pass
threading.Thread(target=work).start()
print(flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""


def _becomes(pid, wanted):
    end = time.monotonic() + 20
    while _runs(pid) is not wanted and time.monotonic() < end:
        time.sleep(0.01)
    return _runs(pid) is wanted


def test_a_process_whose_first_thread_has_ended_is_seen_and_stopped():
    with subprocess.Popen([sys.executable, "-c", _WITHOUT_LEADER], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"\n"
            assert _becomes(process.pid, True)
            os.kill(process.pid, signal.SIGSTOP)
            assert _becomes(process.pid, False)
        finally:
            process.kill()
    assert not _runs(process.pid)


#: starts a process of another session, which spins
_WITH_HELPER = """
import os
def candidate():
    pass
if os.fork() == 0:
    os.setsid()
    while True:
        pass
"""


def _children(pid):
    return [one.pid for one in psutil.Process(pid).children(recursive=True)]


def test_all_is_at_rest_after_each_request(tmp_path):
    """Operands are copied to where it sees them then."""
    file = tmp_path / "a.py"
    file.write_text(_WITH_HELPER)
    config = {"kind": "python", "file": str(file), "function": "candidate", "names": [], "hidden": []}
    own = StoppedProcess({**config, "shown": [str(tmp_path), sys.prefix, sys.base_prefix]}, tmp_path, {})
    pid = own._process.pid
    try:
        for ask in (lambda: own.asked(b"l"), lambda: own.asked(b"n"), lambda: own.rest(0.01)):
            ask()
            (helper,) = _children(pid)
            assert _becomes(helper, False) and not _runs(pid)
        own.resume()
        assert _becomes(helper, True)
    finally:
        for one in (*_children(pid), pid):
            os.kill(one, signal.SIGKILL)
        own._process.wait()
        own._line.close()
