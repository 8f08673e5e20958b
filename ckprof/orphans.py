"""Makes processes end with the one that has started them, even if that is killed, and ends what they leave.

As a program, ``python -I -S orphans.py PARENT TIE COMMAND...`` ties itself to its parent, by a signal or by a
pipe, and becomes the command, so that commands which know nothing of this are bound as well. So little is
imported here at once.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

#: environment variable by which processes that a kernel has left behind are found
MARK: Final = "CKPROF_WORKER"
_MOST_DESCRIPTORS: Final = 4096
#: of prctl(2)
_PR_SET_PDEATHSIG: Final = 1


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to and from the parent, which nothing else can reach any more.

    What reads standard input finds its end, and what prints goes to standard error.
    """
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def end_with_parent(parent: int, number: int) -> None:
    """Have the system send a signal to this process when its parent ends; end now if that has happened.

    :param parent: process id of the parent, as it knows it itself.
    :param number: the signal.
    """
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        # no Linux
        return
    prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def bound(command: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Return the command that runs a command and ends with this process.

    For the system the parent is the thread that starts the command: it must wait for the command's end.

    :param number: the signal that the command gets when this process is gone.
    """
    # an enum, whose text was its name before Python 3.11
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(number)), *command)


def tied(command: Sequence[str], descriptor: int) -> tuple[str, ...]:
    """Return the command that runs a command, which is killed with all its group when this process is gone.

    It need not be a child of this process. In the group of this process it gets a session of its own, where
    signals to the group do not reach it.

    :param descriptor: read end of a pipe whose other end this process alone holds: closing that ends the
        command as well.
    """
    pipe = f"/proc/{os.getpid()}/fd/{descriptor}"
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), pipe, *command)


def kill_marked(mark: str) -> None:
    """End every process with this mark in its environment: daemons that a kernel has started inherit it."""
    from contextlib import suppress
    from pathlib import Path
    from signal import SIGKILL

    text = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            marked = text in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            # not ours, or gone
            continue
        if marked:
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), SIGKILL)


def watch(descriptor: int) -> None:
    """Start a process that ends this one, its group and what has left the group when the parent is gone.

    A thread would not do: a library whose initialization never ends keeps all others from running. The
    process is no child of this one, which may wait for all that it has.

    :param descriptor: read end of a pipe whose other end the parent alone holds; closed here.
    """
    import warnings
    from signal import SIGKILL

    mark = os.environ.get(MARK, "")
    with warnings.catch_warnings():
        # libraries may have threads already, but the child needs none of them
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child:
            os.close(descriptor)
            os.waitpid(child, 0)
            return
        if os.fork():
            os._exit(0)
    try:
        os.closerange(0, descriptor)
        os.closerange(descriptor + 1, _MOST_DESCRIPTORS)
        while os.read(descriptor, 1):
            pass
        kill_marked(mark)
    finally:
        # this very process belongs to the group
        os.killpg(os.getpgrp(), SIGKILL)


def _watch_pipe(parent: int, pipe: str) -> None:
    try:
        descriptor = os.open(pipe, os.O_RDONLY | os.O_CLOEXEC)
        if os.getpgid(parent) == os.getpgrp():
            os.setsid()
    except OSError:
        sys.exit("the process that wanted this is gone")
    os.environ[MARK] = f"{os.getpid()}-{os.urandom(16).hex()}"
    watch(descriptor)


if __name__ == "__main__":
    if sys.argv[2].isdigit():
        end_with_parent(int(sys.argv[1]), int(sys.argv[2]))
    else:
        _watch_pipe(int(sys.argv[1]), sys.argv[2])
    try:
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606
    except OSError as exc:
        sys.exit(f"{sys.argv[3]}: {exc.strerror}")
