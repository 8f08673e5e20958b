"""One process writes a store; the others wait or are told who writes."""

import os
import signal
import subprocess
import sys

import pytest

from ckprof.errors import ExitCode
from ckprof.store.errors import BusyStoreError
from ckprof.store.writer import StoreWriter
from tests.store.samples import fill, make_attempt


def test_a_second_writer_is_told_who_writes(path):
    with StoreWriter(path), pytest.raises(BusyStoreError) as caught:
        StoreWriter(path)
    assert f"process {os.getpid()} on " in str(caught.value)
    assert caught.value.exit_code == ExitCode.INPUT
    fill(path, make_attempt())
    assert not path.with_name("results.db.writer").exists()


def test_a_second_writer_waits_and_says_so(path):
    said = []
    script = (
        "import sys; from ckprof.store.writer import StoreWriter\n"
        "with StoreWriter(sys.argv[1]): print('open', flush=True); sys.stdin.readline()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    def let_it_end(text):
        said.append(text)
        child.stdin.close()

    with subprocess.Popen([sys.executable, "-c", script, str(path)], **pipes) as child:
        assert child.stdout.readline() == "open\n"
        with StoreWriter(path, wait_s=None, on_wait=let_it_end) as writer:
            writer.append(make_attempt())
    assert len(said) == 1
    assert f"process {child.pid} on " in said[0]


def test_the_lock_of_a_killed_writer_may_outlive_it_shortly(path):
    script = (
        "import ctypes, os, signal, sys, time; from ckprof.store.writer import StoreWriter\n"
        "writer = StoreWriter(sys.argv[1])\n"
        "if ctypes.CDLL(None).fork() == 0:\n"
        "    time.sleep(0.5)\n"
        "    os._exit(0)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # the fork has the descriptor of the lock, as any child has until its program is loaded
    killed = subprocess.run([sys.executable, "-c", script, str(path)])
    assert killed.returncode == -signal.SIGKILL
    fill(path, make_attempt())
