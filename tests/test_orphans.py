"""Processes that end with the one that has started them."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckprof import orphans

SLEEP = ("sleep", "60")


def ended(process):
    """Return the exit status of a process that is about to end."""
    try:
        return process.wait(10)
    finally:
        process.kill()


def test_marked_processes_are_killed_and_no_others():
    mark = os.urandom(8).hex()
    mine, other = (
        subprocess.Popen(SLEEP, env={**os.environ, orphans.MARK: text}) for text in (mark, f"not-{mark}")
    )
    try:
        orphans.kill_marked(mark)
        assert ended(mine) == -signal.SIGKILL and other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_is_part_of_a_mark_kills_nobody():
    """A worker that was started without a mark shall not take all workers of the machine with it."""
    with subprocess.Popen(SLEEP, env={**os.environ, orphans.MARK: "some-mark"}) as process:
        for part in ("", "some"):
            orphans.kill_marked(part)
        time.sleep(0.1)
        assert process.poll() is None
        orphans.kill_marked("some-mark")
        assert ended(process) == -signal.SIGKILL


def test_a_command_ends_with_the_process_that_wanted_it():
    """The process in between starts the command, and ends."""
    between = (
        "import subprocess, sys; from ckprof.orphans import bound; from signal import SIGTERM\n"
        "print(subprocess.Popen(bound(('sleep', '60'), SIGTERM)).pid)"
    )
    done = subprocess.run([sys.executable, "-c", between], capture_output=True, text=True, check=True)
    proc, deadline = Path("/proc", done.stdout.strip()), time.monotonic() + 10
    while proc.exists() and "\nState:\tZ" not in (proc / "status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pipe_ties_a_command_that_is_no_child():
    read, write = os.pipe()
    command = orphans.tied(("sh", "-c", "echo begun; sleep 60 & wait"), read)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        os.close(read)
        os.close(write)
        assert ended(process) == -signal.SIGKILL
        # the command's own child held the other end
        assert process.stdout.read() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((str(os.getppid()), "0", "/no/such/command"), "/no/such/command: No such file or directory"),
        ((str(os.getpid()), "/proc/self/fd/none", "true"), "the process that wanted this is gone"),
    ],
)
def test_what_cannot_be_started_is_said(monkeypatch, words, said):
    monkeypatch.setattr(sys, "argv", [orphans.__file__, *words])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(orphans.__file__, run_name="__main__")
    assert end.value.code == said


def test_what_a_pipe_shall_be_tied_to_but_cannot_be_started_is_said():
    read, write = os.pipe()
    words = (str(os.getpid()), f"/proc/{os.getpid()}/fd/{read}", "/no/such/command")
    done = subprocess.run([sys.executable, orphans.__file__, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "/no/such/command: No such file or directory\n")
    os.close(read)
    os.close(write)


def test_a_parent_that_is_gone_already_is_noticed():
    got = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
    try:
        orphans.end_with_parent(os.getppid(), signal.SIGUSR1)
        assert got == []
        orphans.end_with_parent(os.getpid(), signal.SIGUSR1)
        assert got == [signal.SIGUSR1]
    finally:
        orphans.end_with_parent(os.getppid(), 0)
        signal.signal(signal.SIGUSR1, before)


def test_systems_without_such_signals_are_left_alone(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    # the parent is another one, and nothing happens
    orphans.end_with_parent(os.getpid(), signal.SIGKILL)


def test_nothing_else_reaches_the_pipes_to_the_parent(capfd):
    """What prints goes to standard error, what reads finds the end."""
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()
    saved = os.dup(0), os.dup(1)
    try:
        os.dup2(asked, 0)
        os.dup2(answer, 1)
        requests, replies = orphans.take_standard_streams()
        os.write(1, b"a banner")
        assert os.read(0, 1) == b""
    finally:
        for number, before in enumerate(saved):
            os.dup2(before, number)
    with requests, replies:
        os.write(ask, b"question\n")
        replies.write(requests.readline().upper())
    assert os.read(answered, 99) == b"QUESTION\n" and capfd.readouterr() == ("", "a banner")
    for descriptor in (*saved, asked, ask, answered, answer):
        os.close(descriptor)


def test_watching_costs_a_process_nothing_while_its_parent_is_there():
    """The watcher is no child of the one that is watched, which may wait for all that it has."""
    child = (
        "import os, sys; from ckprof.orphans import watch\n"
        "watch(int(sys.argv[1]))\n"
        "try:\n    os.wait()\nexcept ChildProcessError:\n    print('no child', flush=True)\n"
    )
    read, write = os.pipe()
    command = [sys.executable, "-c", child, str(read)]
    streams = {"stdout": subprocess.PIPE, "pass_fds": (read,), "start_new_session": True}
    with subprocess.Popen(command, **streams) as process:
        os.close(read)
        assert process.stdout is not None and process.stdout.readline() == b"no child\n"
        assert ended(process) == 0
        os.close(write)
