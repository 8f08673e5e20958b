"""A worker of the local engine: ``ckprof_plugins.cluster.child HANDLER DEVICE LABEL [CPU,...]``.

It ends when its parent does: nobody would take its answers. What it has measured is in its shard by then.
Payloads and answers come as frames: eight bytes of length, one of kind, then the payload. What Parsl runs in
its workers is here as well: it imports nothing of Parsl, so that a worker starts quickly.
"""

from __future__ import annotations

import importlib
import os
import platform
import queue
import struct
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Final, cast

from ckprof.orphans import take_standard_streams
from ckprof_plugins.cluster.engines import Slot

if TYPE_CHECKING:
    from typing import BinaryIO

    from ckprof_plugins.cluster.engines import Handler


_HEAD: Final = struct.Struct("<QB")

#: what a frame carries
PAYLOAD: Final = 0
#: the text of an exception
FAILURE: Final = 1


def write_frame(stream: BinaryIO, payload: bytes, kind: int = PAYLOAD) -> None:
    """Write one frame.

    :raises OSError: the other side is gone.
    """
    stream.write(_HEAD.pack(len(payload), kind))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[int, bytes] | None:
    """Read one frame; ``None`` if the other side ended, maybe in the middle of one."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    size, kind = _HEAD.unpack(head)
    payload = stream.read(size)
    return (kind, payload) if len(payload) == size else None


def find_handler(name: str) -> Handler:
    """Return the function of ``module:name``."""
    module, _, function = name.partition(":")
    return cast("Handler", getattr(importlib.import_module(module), function))


def main() -> None:
    """Serve payloads until the parent is gone."""
    # The parent's Ctrl-C is not for the workers, which it asks to stop; see also the session of their own.
    requests, replies = take_standard_streams()
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


#: set for every worker with an accelerator of its own, for the devices of either vendor
_PINNED: Final = ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def run_payload(handler: str, payload: bytes, pinned: bool) -> bytes:
    """Run a payload on the device that the worker is pinned to.

    :param handler: ``module:name``.
    :param pinned: the pool has one worker per device; otherwise it has no devices.
    """
    return find_handler(handler)(payload, slot_of(pinned))


def slot_of(pinned: bool) -> Slot:
    """Return the worker's device: the only one that it sees, so number 0, named as its host names it."""
    label = next((value for name in _PINNED if (value := os.environ.get(name))), "") if pinned else ""
    if not label:
        label = f"{platform.node()}-worker-{os.environ.get('PARSL_WORKER_RANK', '0')}"
    return Slot(device=0, label=label)


if __name__ == "__main__":
    main()
