from __future__ import annotations

import subprocess
import sys

import pytest

from ckprof.kernels.toolchain import ask


def test_answers_come_with_their_exit_status():
    code = "import sys; print(repr(sys.stdin.read())); sys.stderr.buffer.write(b'\\xff'); sys.exit(3)"
    done = ask((sys.executable, "-c", code), 30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "''\n", "\ufffd")


def test_silence_ends():
    with pytest.raises(subprocess.TimeoutExpired):
        ask((sys.executable, "-c", "import time; time.sleep(60)"), 0.2)
