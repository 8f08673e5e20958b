"""The child process that loads a library and serves it: ``ckprof.measure.worker.child FD FD``.

Where a tool has started it, it gets paths of descriptors instead, and of the pipes to and from the parent.

Whatever a kernel does - crash, hang, print, exit - happens here and costs one outcome. Requests come as lines
on standard input, replies leave as lines on what was standard output; tensors leave through the memory that
the first descriptor stands for; the second one tells when the parent is gone. Kernels are meant to see none
of them; the parent does not rely on that.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING

from ckprof.measure.worker.guards import memory_of
from ckprof.measure.worker.session import KernelSession
from ckprof.orphans import take_standard_streams, watch

if TYPE_CHECKING:
    from typing import BinaryIO


def _lines(requests: BinaryIO) -> queue.SimpleQueue[bytes]:
    """Return what gets the lines of a stream.

    A thread reads them: it notices at once when the parent is gone, even while a kernel hangs, and ends the
    process then.
    """
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        try:
            for line in requests:
                lines.put(line)
        finally:
            # Also when a kernel has closed the descriptor: nobody can be served any more.
            if os.getpgrp() == os.getpid():
                # As the parent starts it: the group is this process and whatever its library has started.
                os.killpg(os.getpgrp(), signal.SIGKILL)
            os._exit(1)

    threading.Thread(target=read, name="requests", daemon=True).start()
    return lines


def main() -> int:
    """Serve until the parent is done."""
    memory, watched, *pipes = sys.argv[1:]
    watch(_descriptor(watched, os.O_RDONLY))
    descriptor = _descriptor(memory, os.O_RDWR)
    shared = memory_of(descriptor)
    os.close(descriptor)
    if pipes:
        asked, answered = _descriptor(pipes[0], os.O_RDONLY), _descriptor(pipes[1], os.O_WRONLY)
        requests: BinaryIO = os.fdopen(asked, "rb")
        replies: BinaryIO = os.fdopen(answered, "wb")
    else:
        requests, replies = take_standard_streams()
    lines = _lines(requests)
    _forbid_core_dumps()
    session = KernelSession(shared)
    while True:
        nonce, _, request = lines.get().rstrip(b"\n").partition(b" ")
        if not request:
            return 0
        replies.write(b"%b %b\n" % (nonce, session.answer(request)))
        replies.flush()


def _descriptor(text: str, access: int) -> int:
    """Return an inherited descriptor, or that of a path, which this process alone is to have."""
    return int(text) if text.isdecimal() else os.open(text, access | os.O_CLOEXEC)


def _forbid_core_dumps() -> None:
    """A crash of a kernel is an expected outcome; writing gigabytes about it would only take time."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to do, and static destructors of kernel libraries could still crash or hang.
    os._exit(code)
