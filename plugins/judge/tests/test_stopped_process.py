"""What a candidate starts is at rest between launches, whatever it looks like."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from ckprof_plugins.judge.stopped_process import _runs

#: ends its first thread alone, and goes on
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
