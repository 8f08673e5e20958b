"""A worker of the local engine: ``python -m ckprof.sweep.cluster.child HANDLER DEVICE LABEL [CPU,CPU...]``.

It ends when its parent does: nobody would take its answers. What it has measured is in its shard by then.
"""

from __future__ import annotations

import importlib
import os
import queue
import sys
import threading
import traceback
from typing import TYPE_CHECKING, cast

from ckprof.sweep.cluster.engine import Slot
from ckprof.sweep.cluster.frames import FAILURE, read_frame, write_frame

if TYPE_CHECKING:
    from typing import BinaryIO

    from ckprof.sweep.cluster.engine import Handler


def find_handler(name: str) -> Handler:
    """Return the function of ``module:name``."""
    module, _, function = name.partition(":")
    return cast("Handler", getattr(importlib.import_module(module), function))


def main() -> None:
    """Serve payloads until the parent is gone."""
    # The parent's Ctrl-C is not for the workers, which it asks to stop; see also the session of their own.
    requests, replies = _take_standard_streams()
    pending: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, pending), name="requests", daemon=True).start()
    cpus = tuple(int(cpu) for cpu in sys.argv[4].split(",")) if len(sys.argv) > 4 else ()
    if cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)
    slot = Slot(device=int(sys.argv[2]), label=sys.argv[3], cpus=cpus)
    handler: Handler | None = None
    while True:
        payload = pending.get()
        try:
            handler = handler or find_handler(sys.argv[1])
            answer = handler(payload, slot)
        except Exception:
            write_frame(replies, traceback.format_exc().encode(), FAILURE)
        else:
            write_frame(replies, answer)


def _read(requests: BinaryIO, pending: queue.SimpleQueue[bytes]) -> None:
    while (frame := read_frame(requests)) is not None:
        pending.put(frame[1])
    os._exit(0)


def _take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to the parent to ourselves: whatever prints goes to standard error."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


if __name__ == "__main__":
    main()
