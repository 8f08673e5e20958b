"""What waits in the write-ahead log of a store, and what of it SQLite would not find.

SQLite reads a log up to the first frame whose checksum is wrong, takes the rest for the remains of an earlier
use, and removes the log when the last reader has gone. Outcomes behind one damaged byte would vanish without
a word: what SQLite would drop is found here before it is asked. https://sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.store.errors import DamagedStoreError
from ckprof.store.writer_lock import is_being_written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_HEADER: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_MAGIC: Final = 0x377F0682
_MASK: Final = 0xFFFFFFFF
#: where the index of the log beside it has the number of frames and the salts; two copies of 48 bytes
_INDEX_BYTES: Final = 48


@dataclass(frozen=True, slots=True)
class _Frame:
    page: int
    #: pages of the database after a commit; 0 where the frame ends none
    size: int
    salt: tuple[int, int]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log of a store that no process writes."""

    #: whole frames of the present use, as far as their headers say so
    frames: Sequence[_Frame]
    #: how many of ``frames`` SQLite reads
    read: int
    #: commits behind these, which SQLite drops
    dropped: int
    #: the last frames are missing
    cut: bool

    def write_image(self, store: Path, image: Path) -> None:
        """Write the database as it was after the last commit, with the frames that SQLite would drop."""
        data = bytearray(store.read_bytes())
        ends = [index for index, frame in enumerate(self.frames) if frame.size]
        for frame in self.frames[: ends[-1] + 1 if ends else 0]:
            start = (frame.page - 1) * len(frame.data)
            if len(data) < start:
                data.extend(bytes(start - len(data)))
            data[start : start + len(frame.data)] = frame.data
        if ends:
            del data[self.frames[ends[-1]].size * len(self.frames[0].data) :]
        image.write_bytes(data)


def check_log(store: Path, *, locked: bool = False) -> None:
    """Reject a store whose log SQLite would read in part only, and then remove.

    :param locked: the caller has the writer's lock.
    :raises DamagedStoreError: so it is.
    """
    log = read_log(store, locked=locked)
    if log is not None and log.dropped:
        raise DamagedStoreError(
            f"its write-ahead log {_path(store).name} is damaged: SQLite would drop {log.dropped} commits; "
            "save them with 'ckprof results recover', and leave the log beside the store until then",
            store,
        )


def read_log(store: Path, *, locked: bool = False) -> Log | None:
    """Return the log of a store; ``None`` where there is none, or a process writes it.

    :param locked: the caller has the writer's lock.
    """
    path = _path(store)
    if not path.is_file() or (not locked and is_being_written(store)):
        return None
    data = path.read_bytes()
    if len(data) < _HEADER.size:
        return None
    header = _HEADER.unpack_from(data)
    words = "big" if header[0] & 1 else "little"
    sums = _checksum(data[:24], (0, 0), words)
    sound = header[0] & ~1 == _MAGIC and sums == header[6:8]
    page_bytes = header[2] if sound else _page_bytes(store)
    frames = [
        _Frame(
            fields[0], fields[1], fields[2:4], data[start + _FRAME.size : start + _FRAME.size + page_bytes]
        )
        for start in range(_HEADER.size, len(data) - _FRAME.size - page_bytes + 1, _FRAME.size + page_bytes)
        for fields in [_FRAME.unpack_from(data, start)]
    ]
    salt = header[4:6] if sound else _salt_of(frames)
    read = _valid_frames(data, page_bytes, salt, sums, words) if sound else 0
    present = _present(frames, salt)
    return Log(
        frames=[frame for frame in present if frame.salt == salt and 0 < frame.page < 2**31],
        read=read,
        dropped=sum(1 for frame in present[read:] if frame.size and frame.salt == salt),
        cut=_is_cut(store, len(data), page_bytes, len(frames), salt),
    )


def _present(frames: Sequence[_Frame], salt: tuple[int, int]) -> Sequence[_Frame]:
    """Return the frames up to the last one of the present use; those behind it are of earlier ones."""
    last = max((index for index, frame in enumerate(frames) if frame.salt == salt), default=-1)
    return frames[: last + 1]


def _salt_of(frames: Sequence[_Frame]) -> tuple[int, int]:
    """Return the salts of the present use, whose frames come first, where the header does not say them."""
    salts = [frame.salt for frame in frames]
    return next((salt for salt in salts if salts.count(salt) > 1), salts[0] if salts else (0, 0))


def _valid_frames(
    data: bytes, page_bytes: int, salt: tuple[int, int], sums: tuple[int, int], words: str
) -> int:
    """Return how many frames SQLite reads."""
    count, start = 0, _HEADER.size
    while start + _FRAME.size + page_bytes <= len(data):
        fields = _FRAME.unpack_from(data, start)
        content = start + _FRAME.size
        sums = _checksum(data[start : start + 8], sums, words)
        sums = _checksum(data[content : content + page_bytes], sums, words)
        if fields[2:4] != salt or fields[4:6] != sums:
            break
        count, start = count + 1, content + page_bytes
    return count


def _checksum(data: bytes, sums: tuple[int, int], words: str) -> tuple[int, int]:
    values = array("I", data)
    if words != sys.byteorder:
        values.byteswap()
    first, second = sums
    numbers = iter(values)
    for even, odd in zip(numbers, numbers, strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second


def _page_bytes(store: Path) -> int:
    with store.open("rb") as stream:
        size = int.from_bytes(stream.read(18)[16:], "big")
    return 65_536 if size == 1 else max(size, 512)


def _is_cut(store: Path, size: int, page_bytes: int, frames: int, salt: tuple[int, int]) -> bool:
    if (size - _HEADER.size) % (_FRAME.size + page_bytes):
        return True
    try:
        index = _path(store, "shm").read_bytes()[: 2 * _INDEX_BYTES]
    except OSError:
        return False
    if len(index) < 2 * _INDEX_BYTES or index[:_INDEX_BYTES] != index[_INDEX_BYTES:]:
        return False
    said = int.from_bytes(index[16:20], sys.byteorder)
    return struct.unpack_from(">2I", index, 32) == salt and said > frames


def _path(store: Path, kind: str = "wal") -> Path:
    return store.with_name(f"{store.name}-{kind}")
