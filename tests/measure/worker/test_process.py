"""A worker process, seen by its parent: how it starts, also by a launcher, replies, limits and ends."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.executor import Executor
from ckprof.measure.options import RunOptions
from ckprof.measure.worker import process as process_module
from ckprof.measure.worker.process import (
    UnexpectedReply,
    WorkerNotStarted,
    WorkerProcess,
    WorkerStopped,
    WorkerTimeout,
    reply_in,
)
from ckprof.measure.worker.remote import CallFailed, RemoteLibrary

NOISY = """\
import os, subprocess, sys
print("a tool's banner", flush=True)
with open(sys.argv[1], "a") as log:
    log.write("started " + " ".join(sys.argv[2:]) + chr(10))
# descriptors beyond the standard ones are closed, as subprocess does unless told otherwise
sys.exit(subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode)
"""


@pytest.fixture
def launcher(tmp_path):
    script = tmp_path / "tool.py"
    script.write_text(NOISY)
    return (sys.executable, str(script), str(tmp_path / "log"))


def test_a_worker_under_a_tool_that_prints_and_closes_descriptors_answers(launcher, tmp_path, capfd):
    process = WorkerProcess(tmp_path, launcher=launcher)
    try:
        with pytest.raises(CallFailed, match="cannot load kernel library"):
            RemoteLibrary(process).open(Path("missing.so"), None)
    finally:
        process.kill()
    assert (tmp_path / "log").read_text().startswith("started ")
    assert "a tool's banner" in capfd.readouterr().err


@pytest.mark.compiler
def test_kernels_run_under_it(launcher, library, tmp_path):
    options = RunOptions(launcher=launcher)
    with Executor(library, arch="fake0", options=options, work_dir=tmp_path) as executor:
        assert executor.open().keys
    assert "ckprof.measure.worker.child" in (tmp_path / "log").read_text()


@pytest.mark.compiler
def test_a_tool_that_ends_at_once_is_no_kernel_failure(library, tmp_path):
    options = RunOptions(launcher=("false",))
    executor = Executor(library, arch="fake0", options=options, work_dir=tmp_path)
    with executor, pytest.raises(ToolchainError, match="exited with status 1"):
        executor.open()


def test_a_worker_that_dies_under_a_tool_is_noticed(tmp_path):
    process = WorkerProcess(tmp_path, launcher=("true",))
    with pytest.raises(Exception, match="exited with status 0"):
        RemoteLibrary(process).describe(60)
    process.kill()


def test_a_missing_tool_is_named(tmp_path):
    with pytest.raises(WorkerNotStarted, match="launcher no-such-tool cannot be started"):
        WorkerProcess(tmp_path, launcher=("no-such-tool", "-x"))
    broken = tmp_path / "tool"
    broken.write_text("")
    broken.chmod(stat.S_IRUSR)
    with pytest.raises(WorkerNotStarted, match="cannot be started: Permission denied"):
        WorkerProcess(tmp_path, launcher=(str(broken),))


def test_a_limit_on_files_is_named(tmp_path):
    """Shared memory counts as a file: batch systems limit these."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from ckprof.measure.worker.process import WorkerFailure, WorkerProcess\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    WorkerProcess(Path(sys.argv[1]))\n"
        "except WorkerFailure as failure:\n"
        "    print(failure)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "no memory can be shared with a worker: File too large; 'ulimit -f' limits it\n"


@pytest.mark.parametrize("nonce", ["", "a", "ab", "abcd", "ABC"])
def test_a_reply_to_something_else_is_none(nonce):
    assert reply_in(b"abc {}", "abc") == b"{}"
    with pytest.raises(UnexpectedReply, match="does not answer the request"):
        reply_in(f"{nonce} {{}}".encode(), "abc")


#: answers each request after so many seconds, the first one at once
SLOW = (
    "import sys, time\nfor number, line in enumerate(sys.stdin):\n time.sleep({} * (number > 0))\n"
    " print(line.split()[0], 'done', flush=True)"
)


@pytest.fixture
def slow(monkeypatch, tmp_path):
    """Return a function that starts a worker which answers after some seconds."""
    started = []

    def start_slow(delay_s):
        command = [sys.executable, "-c", SLOW.format(delay_s)]
        monkeypatch.setattr(process_module, "python_command", lambda *arguments: command)
        started.append(WorkerProcess(tmp_path))
        # the first request waits for its interpreter
        started[0].ask(b"", 60.0)
        return started[0]

    yield start_slow
    for one in started:
        one.kill()


def test_what_takes_longer_than_its_limit_is_given_up(slow):
    with pytest.raises(WorkerTimeout, match=r"no reply within 0\.6 s"):
        slow(5.0).ask(b"", 0.6)


def test_a_pause_of_all_processes_is_no_time_out(slow, monkeypatch):
    worker, begin = slow(0.8), time.monotonic()
    real = time.monotonic
    # clocks went on while nobody ran
    monkeypatch.setattr(process_module.time, "monotonic", lambda: begin + 1000 * (real() - begin))
    assert worker.ask(b"", 5.0) == b"done"


def test_a_worker_that_is_stopped_for_a_while_is_not_too_slow(slow):
    worker = slow(0.2)
    before_s = worker.waited_s
    os.kill(worker._process.pid, signal.SIGSTOP)
    threading.Timer(1.8, os.kill, (worker._process.pid, signal.SIGCONT)).start()
    assert worker.ask(b"", 2.5) == b"done"
    assert worker.waited_s - before_s < 1.0


def test_a_worker_that_stays_stopped_is_no_time_out_of_its_own(slow):
    worker = slow(0.2)
    os.kill(worker._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerStopped, match=r"stopped by a signal for 0\.6 s"):
        worker.ask(b"", 0.6)
