"""The child process that loads a library and serves it: ``ckprof.measure.worker.child FD FD``.

Where a tool has started it, it gets paths of descriptors instead, and of the pipes to and from the parent.

Whatever a kernel does - crash, hang, print, exit - happens here and costs one outcome. Requests come as lines
on standard input, replies leave as lines on what was standard output; tensors leave through the memory that
the first descriptor stands for; the second one tells when the parent is gone. Kernels are meant to see none
of them; the parent does not rely on that.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ckprof.measure.worker.guards import memory_of
from ckprof.measure.worker.session import KernelSession
from ckprof.orphans import take_standard_streams, watch

if TYPE_CHECKING:
    from typing import BinaryIO


def main() -> int:
    """Serve until the parent is done."""
    memory, watched, *pipes = sys.argv[1:]
    watch(_descriptor(watched, os.O_RDONLY))
    descriptor = _descriptor(memory, os.O_RDWR)
    shared = memory_of(descriptor)
    os.close(descriptor)
    if pipes:
        requests: BinaryIO = os.fdopen(_descriptor(pipes[0], os.O_RDONLY), "rb")
        replies: BinaryIO = os.fdopen(_descriptor(pipes[1], os.O_WRONLY), "wb")
    else:
        requests, replies = take_standard_streams()
    # A crash of a kernel is an expected outcome; writing gigabytes about it would only take time.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    session = KernelSession(shared)
    # a kernel may have closed the descriptor
    with suppress(OSError):
        for line in requests:
            nonce, _, request = line.rstrip(b"\n").partition(b" ")
            if not request:
                return 0
            replies.write(b"%b %b\n" % (nonce, session.answer(request)))
            replies.flush()
    # Nobody can be served any more. A parent that lives says so while it finds a process that does.
    signal.sigtimedwait((), 4)
    if os.getpgrp() == os.getpid():
        # As the parent starts it: the group is this process and whatever its library has started.
        os.killpg(os.getpgrp(), signal.SIGKILL)
    return 1


def _descriptor(text: str, access: int) -> int:
    """Return an inherited descriptor, or that of a path, which this process alone is to have."""
    return int(text) if text.isdecimal() else os.open(text, access | os.O_CLOEXEC)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to do, and static destructors of kernel libraries could still crash or hang.
    os._exit(code)
