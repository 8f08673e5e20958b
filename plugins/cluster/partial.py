"""Partial stores: what one of several processes has read of shards, for the store's owner to copy.

A partial store can be made again at any time, so nothing waits for its disk. It is complete, or it is thrown
away.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ckprof.store.attempt import Mark
from ckprof.store.baselines import add_baseline
from ckprof.store.errors import StoreError, store_errors
from ckprof.store.schema import create_tables, transaction
from ckprof.store.shard import BadLine, decode_lines
from ckprof.store.writer import AttemptRows
from ckprof_plugins.cluster.absorbing import attached, copy_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.store.writer import StoreWriter
    from ckprof_plugins.cluster.absorbing import Absorbed


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """The complete lines of a shard between two of its bytes; the first is where a line begins."""

    shard: str
    start: int
    end: int


class PartialContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a partial store does not hold itself."""

    #: session, sequence and mark, in the order of the lines
    marks: tuple[tuple[str, int, Mark], ...] = ()
    bad: tuple[BadLine, ...] = ()
    #: where the complete lines of each piece end
    ends: tuple[int, ...] = ()


def write_partial(path: Path, pieces: Sequence[Piece]) -> PartialContent:
    """Make a partial store of pieces of shards.

    :raises StoreError: a shard cannot be read, or the file cannot be written.
    """
    marks: list[tuple[str, int, Mark]] = []
    bad: list[BadLine] = []
    ends: list[int] = []
    path.unlink(missing_ok=True)
    with store_errors(path):
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            create_tables(connection)
            rows = AttemptRows(connection)
            with transaction(connection):
                for piece in pieces:
                    data = _read(piece)
                    ends.append(piece.start + len(data))
                    for line in decode_lines(data, Path(piece.shard), piece.start):
                        if isinstance(line, BadLine):
                            bad.append(line)
                        elif line.attempt is not None:
                            rows.add(line.attempt)
                        elif line.baseline is not None:
                            add_baseline(connection, rows.parts, line.baseline)
                        elif line.mark is not None:
                            marks.append((line.mark.session, line.mark.sequence, line.mark.mark))
                rows.sum_up_changed()
        finally:
            connection.close()
    return PartialContent(marks=tuple(marks), bad=tuple(bad), ends=tuple(ends))


def absorb(writer: StoreWriter, path: Path, content: PartialContent) -> Absorbed:
    """Add a partial store to a store; doing it again adds nothing.

    :raises StoreError: the store cannot be written; the next call adds what is missing.
    """
    with store_errors(writer.path), attached(writer.connection, path):
        with writer.transaction() as rows:
            absorbed, changed = copy_rows(writer.connection)
            rows.changed |= changed
            rows.added = rows.added.plus(absorbed.stored)
    if content.marks:
        writer.add_marks(content.marks)
    return absorbed


def _read(piece: Piece) -> bytes:
    try:
        with Path(piece.shard).open("rb") as stream:
            stream.seek(piece.start)
            data = stream.read(piece.end - piece.start)
    except OSError as exc:
        raise StoreError(f"cannot be read: {exc.strerror}", Path(piece.shard)) from None
    # a line that its writer is at, or was killed in, is left to the next piece
    return data[: data.rfind(b"\n") + 1]
