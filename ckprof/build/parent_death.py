"""Makes a process end with the one that has started it, even if that is killed.

As a program, ``python -I -S parent_death.py PARENT SIGNAL COMMAND...`` asks for the signal and becomes the
command, so that commands which know nothing of this are bound as well.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Final

#: of prctl(2)
_PR_SET_PDEATHSIG: Final = 1


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


def bound(command: tuple[str, ...], number: int, *, waited_for: bool = False) -> tuple[str, ...]:
    """Return the command that runs a command and ends with this process.

    :param number: the signal that the command gets when this process is gone.
    :param waited_for: the thread that starts the command waits for its end.
    """
    if threading.current_thread() is not threading.main_thread() and not waited_for:
        # For the system the parent is the thread, and any other one may end before its process.
        return command
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), str(number), *command)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]), int(sys.argv[2]))
    try:
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606
    except OSError as exc:
        sys.exit(f"{sys.argv[3]}: {exc.strerror}")
