"""Pieces of shards, which are read while their writers append."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.store.shard import HEADER_START, BadLine, ShardLine, decode_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: bytes that are read at once to count lines
_PIECE_BYTES: Final = 65_536


def decode_lines(data: bytes, path: Path, start: int = 0) -> Iterator[ShardLine | BadLine]:
    """Yield what a piece of a file holds; it begins with a line, and a header at its beginning is omitted.

    :param path: for messages.
    :param start: bytes of the file before the piece.
    """
    before: int | None = None
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if number == 1 and line.startswith(HEADER_START):
            continue
        decoded = decode_line(line, number, path)
        if isinstance(decoded, BadLine):
            if before is None:
                before = _lines_before(path, start)
            decoded = msgspec.structs.replace(decoded, line=before + number)
        yield decoded


def _lines_before(path: Path, start: int) -> int:
    """Return how many lines end before a byte of a file, which is only asked where a line is bad."""
    left, lines = start, 0
    with suppress(OSError), path.open("rb") as stream:
        while left > 0 and (data := stream.read(min(left, _PIECE_BYTES))):
            lines, left = lines + data.count(b"\n"), left - len(data)
    return lines
