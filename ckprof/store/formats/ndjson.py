"""Attempts line by line: the complete record, and what shards hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.store.export_file import export_stream
from ckprof.store.format import ExportResult, ImportHints, StoreFormat
from ckprof.store.lines import SCHEMA, BadLine, attempt_line, header_line, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.store.attempt import Attempt
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file.

    :raises InputError: a line cannot be used; ``ckprof results merge`` goes on behind such lines.
    """
    del hints
    for line in read_lines(path):
        if isinstance(line, BadLine):
            raise InputError(f"{line.reason}; 'ckprof results merge' uses the other lines", path, line.line)
        if line.attempt is not None:
            yield line.attempt


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write every attempt with everything that is known of it."""
    result = ExportResult()
    with export_stream(path) as stream:
        stream.write(header_line())
        for attempt in store.attempts(query):
            stream.write(attempt_line(attempt))
            result.rows += 1
    return result


FORMAT = StoreFormat(
    id="ndjson",
    label="one JSON object per attempt and line, with everything that is known of it",
    suffixes=(".ndjson", ".jsonl"),
    read=read,
    write=write,
    recognises=lambda head: f'"{SCHEMA}"'.encode() in head.partition(b"\n")[0],
)
