"""What the coordinator and the workers that compile tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from ckprof.build.entries import PackedEntry
from ckprof.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelText:
    """The sources of one kernel."""

    #: content key of the instance, and of the object that they must give
    instance: str
    object_key: str
    name: str
    symbol: str
    weight: int
    #: (path below the root of the tree, text) of the header and of the translation unit
    header: tuple[str, str]
    entry: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTask:
    """Kernels that one worker compiles."""

    target: str
    arch: str
    api_level: str
    compiler: str = ""
    #: where CK Tile's headers lie; empty for targets that bring their own
    ck_root: str = ""
    library_name: str
    kernels: tuple[KernelText, ...]
    timeout_s: float
    #: folder that workers and coordinator see; empty if there is none
    folder: str = ""
    plugins: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    version: str = __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReply:
    """What became of them. A kernel that did not compile is not there."""

    entries: tuple[PackedEntry, ...] = ()
    #: digests in the shared folder of what would stand in ``entries``
    kept: tuple[str, ...] = ()
    #: why nothing could be compiled; empty if something was
    message: str = ""


_TASKS: Final = msgspec.msgpack.Decoder(BuildTask)
_REPLIES: Final = msgspec.msgpack.Decoder(BuildReply)
_ENTRIES: Final = msgspec.msgpack.Decoder(PackedEntry)


def encode_build(message: BuildTask | BuildReply | PackedEntry) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message, order="deterministic")


def decode_build_task(data: bytes) -> BuildTask:
    """Return the task that was encoded."""
    return _TASKS.decode(data)


def decode_build_reply(data: bytes) -> BuildReply:
    """Return the reply that was encoded."""
    return _REPLIES.decode(data)


def decode_entry(data: bytes) -> PackedEntry:
    """Return the entry that was encoded."""
    return _ENTRIES.decode(data)
