"""Members of a Unix archive, of the kind that GNU and LLVM tools write, read in one pass."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

from ckprof.errors import InputError

MAGIC: Final = b"!<arch>\n"
_THIN: Final = b"!<thin>\n"
_HEADER_SIZE: Final = 60
_HEADER_END: Final = b"`\n"
_CHUNK: Final = 1 << 20

#: tables of the archive itself: indices of symbols
_INDICES: Final = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive."""

    name: str
    size: int
    #: its bytes, from their beginning; valid until the next member is asked for
    data: IO[bytes]


class Window(io.RawIOBase):
    """A part of a file that can be read at any place."""

    def __init__(self, file: IO[bytes], begin: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._begin = begin
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that any place can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place, counted from the beginning of the part."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(base + offset, 0)
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Read bytes from the present place on, never beyond the part."""
        left = max(self._size - self._place, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        self._file.seek(self._begin + self._place)
        data = self._file.read(wanted)
        self._place += len(data)
        return data


def members(file: IO[bytes], path: str) -> Iterator[Member]:
    """Yield the members of an archive; indices of symbols are skipped.

    A file that cannot seek, such as a stream out of a package, is read member by member.

    :raises InputError: no archive, a thin one, or a damaged one.
    """
    magic = file.read(len(MAGIC))
    if magic == _THIN:
        raise InputError("a thin archive holds no objects; use the full one", path)
    if magic != MAGIC:
        raise InputError("not an archive: it does not begin with !<arch>", path)
    long_names = b""
    offset = len(MAGIC)
    while header := file.read(_HEADER_SIZE):
        short, size = _parse(header, offset, path)
        begin = offset + _HEADER_SIZE
        if short in ("//", "ARFILENAMES/"):
            long_names = _take(file, size, path, begin)
        elif short in _INDICES:
            _skip(file, size, path, begin)
        else:
            name = _name(short, long_names, path)
            if file.seekable():
                yield Member(name, size, _window(file, begin, size, path))
                file.seek(begin + size)
            else:
                yield Member(name, size, io.BytesIO(_take(file, size, path, begin)))
        offset = begin + size
        if size % 2:
            file.read(1)
            offset += 1


def _parse(header: bytes, offset: int, path: str) -> tuple[str, int]:
    digits = header[48:58].strip()
    if len(header) < _HEADER_SIZE or header[58:60] != _HEADER_END or not digits.isdigit():
        raise InputError(f"damaged archive: no member header at byte {offset}", path)
    return header[:16].decode("latin-1").rstrip(), int(digits)


def _name(short: str, long_names: bytes, path: str) -> str:
    if short.startswith("/") and short[1:].isdigit():
        begin = int(short[1:])
        end = long_names.find(b"\n", begin)
        if begin >= len(long_names) or end < 0:
            raise InputError(f"damaged archive: no long name at {begin}", path)
        return long_names[begin:end].decode("latin-1").rstrip("/")
    if short.startswith("#1/"):
        raise InputError("an archive of BSD kind; only those of GNU and LLVM tools are read", path)
    return short.rstrip("/")


def _window(file: IO[bytes], begin: int, size: int, path: str) -> IO[bytes]:
    end = file.seek(0, io.SEEK_END)
    if begin + size > end:
        raise InputError(f"damaged archive: a member ends {begin + size - end} bytes after its end", path)
    return Window(file, begin, size)  # type: ignore[return-value]


def _take(file: IO[bytes], size: int, path: str, begin: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise InputError(f"damaged archive: it ends in the member at byte {begin}", path)
    return data


def _skip(file: IO[bytes], size: int, path: str, begin: int) -> None:
    if file.seekable():
        file.seek(size, io.SEEK_CUR)
        return
    left = size
    while left:
        data = file.read(min(left, _CHUNK))
        if not data:
            raise InputError(f"damaged archive: it ends in the index at byte {begin}", path)
        left -= len(data)
