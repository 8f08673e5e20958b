"""Ends what is left of a worker when its parent is gone, or has ended it."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Final

#: environment variable by which processes that a kernel has left behind are found
MARK: Final = "CKPROF_WORKER"
_MOST_DESCRIPTORS: Final = 4096


def kill_marked(mark: str) -> None:
    """End every process with this mark in its environment: daemons that a kernel has started inherit it."""
    text = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            marked = text in (entry / "environ").read_bytes()
        except OSError:
            # not ours, or gone
            continue
        if marked:
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)


def watch(descriptor: int) -> None:
    """Start a process that ends this one, its group and what has left the group when the parent is gone.

    A thread would not do: a library whose initialization never ends keeps all others from running. The
    process is no child of this one, which may wait for all that it has.

    :param descriptor: read end of a pipe whose other end the parent alone holds; closed here.
    """
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
        os.killpg(os.getpgrp(), signal.SIGKILL)
