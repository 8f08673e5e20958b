from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.measure.executor import Executor
from ckprof.measure.options import RunOptions
from ckprof.measure.worker.process import WorkerNotStarted, WorkerProcess
from ckprof.measure.worker.remote import CallFailed, RemoteLibrary
from ckprof.option import command

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


@pytest.mark.parametrize(
    ("text", "message"),
    [("no-such-tool -x", "no command 'no-such-tool'"), ("", "no command ''"), ("'", "cannot be read")],
)
def test_the_option_is_checked_before_anything_is_built(text, message):
    with pytest.raises(UsageError, match=message):
        command(text)


def test_words_are_split_as_a_shell_does():
    assert command("env 'A B'=1 nice") == ("env", "A B=1", "nice")
