"""Payloads on a pipe: eight bytes of length, one of kind, then the payload."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import BinaryIO

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
