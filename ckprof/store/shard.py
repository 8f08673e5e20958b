"""Attempts as lines of JSON: NDJSON exports, and shards, which are merged into a store.

A shard belongs to a writer that must not open the database.
"""

from __future__ import annotations

import os
import platform
import time
import uuid
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, system_errors
from ckprof.files import write_output
from ckprof.model.problem_types import decode_problem
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ExportResult, ImportHints
from ckprof.store.attempt import Attempt, Mark
from ckprof.store.baselines import BaselineAttempt
from ckprof.store.errors import NewerStoreError, NotAStoreError, StoreError, StoreFullError
from ckprof.store.rows import unstorable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store
    from ckprof.store.writer import StoreWriter


SCHEMA: Final = "ckprof.attempts"
#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1


class LateMark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on an attempt that was written before."""

    session: str
    sequence: int
    mark: Mark


class ShardLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Any other line: one of these."""

    attempt: Attempt | None = None
    baseline: BaselineAttempt | None = None
    mark: LateMark | None = None


class BadLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that cannot be used."""

    path: str
    #: one-based
    line: int
    reason: str
    #: the last line, which its writer did not finish: what it was adding was not stored
    torn: bool = False


_LINES: Final = msgspec.json.Decoder(ShardLine, dec_hook=decode_problem)
_NOTHING: Final = "the line holds no attempt, no baseline and no mark"
HEADER_START: Final = b'{"schema"'


def header_line() -> bytes:
    """Return the first line of a file."""
    return msgspec.json.encode({"schema": SCHEMA, "version": VERSION}) + b"\n"


def attempt_line(attempt: Attempt) -> bytes:
    """Return the line of an attempt."""
    return msgspec.json.encode(ShardLine(attempt=attempt)) + b"\n"


def read_lines(path: Path) -> Iterator[ShardLine | BadLine]:
    """Yield what a file holds; lines that cannot be used are yielded as such.

    :raises StoreError: the file cannot be read, holds something else, or is newer than this program.
    """
    with system_errors(StoreError, "cannot be read", path):
        with path.open("rb") as stream:
            first = stream.readline()
            if first != header_line() and header_line().startswith(first):
                # ended while it was made: nothing was measured
                return
            _check_header(first, path)
            for number, line in enumerate(stream, 2):
                yield decode_line(line, number, path)


def _check_header(line: bytes, path: Path) -> None:
    try:
        header = msgspec.json.decode(line, type=dict[str, str | int])
    except msgspec.MsgspecError:
        header = {}
    version = header.get("version")
    if header.get("schema") != SCHEMA or not isinstance(version, int):
        raise NotAStoreError("this is not a shard; 'ckprof results export' makes one of a store", path, 1)
    if version > VERSION:
        raise NewerStoreError(
            f"the file has version {version}, this ckprof knows up to version {VERSION}; update ckprof",
            path,
        )


def decode_line(line: bytes, number: int, path: Path) -> ShardLine | BadLine:
    """Return what a line holds.

    :param path: for messages.
    """
    if not line.endswith(b"\n"):
        return BadLine(
            path=str(path), line=number, reason="incomplete: its writer ended while it was written", torn=True
        )
    try:
        decoded = _LINES.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, InputError) as exc:
        return BadLine(path=str(path), line=number, reason=str(exc))
    wrong = unstorable(decoded.attempt) if decoded.attempt else _NOTHING if decoded == ShardLine() else ""
    return BadLine(path=str(path), line=number, reason=wrong) if wrong else decoded


def decode_attempt(record: object, samples_ms: Sequence[float] = ()) -> Attempt:
    """Return the attempt of a record that came from JSON.

    :param samples_ms: raw samples that were kept apart from it.
    :raises msgspec.MsgspecError: it is none.
    """
    attempt = msgspec.convert(record, Attempt, dec_hook=decode_problem)
    if samples_ms and attempt.measurement is not None:
        return replace(attempt, measurement=replace(attempt.measurement, samples_ms=tuple(samples_ms)))
    return attempt


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file.

    :raises InputError: a line cannot be used; ``ckprof results merge`` goes on after such lines.
    """
    for line in read_lines(path):
        if isinstance(line, BadLine):
            error = InputError(line.reason, path, line.line)
            if hints.on_wrong is None:
                raise error
            hints.on_wrong(error)
        elif line.attempt is not None:
            yield line.attempt


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write every attempt with everything that is known of it."""
    result = ExportResult()

    def lines() -> Iterator[bytes]:
        yield header_line()
        for attempt in store.attempts(query):
            yield attempt_line(attempt)
            result.rows += 1

    write_output(path, lines())
    return result


FORMAT = StoreFormat(
    id="ndjson",
    label="one JSON object per attempt and line, with everything that is known of it",
    suffixes=(".ndjson", ".jsonl"),
    read=read,
    write=write,
    recognises=lambda head: f'"{SCHEMA}"'.encode() in head.partition(b"\n")[0],
)


SUFFIX: Final = ".ndjson"
#: lines of a merge that are handed over together
_BATCH: Final = 2_000


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """Appends attempts to a file of its own, each of them written before the next begins.

    A context manager. Any number of processes on any machines write into one folder at once.

    :param folder: made if missing; may lie on a network file system.
    :param sync_s: seconds after which what was written is on the disk at the latest, if more is written then,
        or :meth:`sync` is called; 0: when it was written. A process that is killed loses nothing either way.
    :raises StoreError: the file cannot be made.
    """

    def __init__(self, folder: Path, *, sync_s: float = 0.0) -> None:
        name = f"{platform.node() or 'host'}-{os.getpid()}-{uuid.uuid4().hex[:8]}{SUFFIX}"
        #: the shard
        self.path = folder / name
        self._sync_s, self._synced, self._behind = sync_s, time.monotonic(), False
        with system_errors(StoreError, "cannot make the shard", self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        self._write(header_line())

    def append(self, attempt: Attempt) -> bool:
        """Add one attempt.

        :returns: true: a shard does not look at what it holds.
        :raises StoreError: it could not be added; the shard ends where it ended before.
        """
        self._write(attempt_line(attempt))
        return True

    def add_baseline(self, baseline: BaselineAttempt) -> bool:
        """Add what became of a baseline.

        :returns: true, as for :meth:`append`.
        :raises StoreError: as for :meth:`append`.
        """
        self._write(msgspec.json.encode(ShardLine(baseline=baseline)) + b"\n")
        return True

    def add_marks(self, marks: Iterable[tuple[str, int, Mark]]) -> None:
        """Mark attempts that are written already.

        :param marks: session uid, sequence and mark of each.
        :raises StoreError: as for :meth:`append`.
        """
        late = [LateMark(session=session, sequence=sequence, mark=mark) for session, sequence, mark in marks]
        if late:
            self._write(b"".join(msgspec.json.encode(ShardLine(mark=mark)) + b"\n" for mark in late))

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._descriptor >= 0:
            self.sync()
            os.close(self._descriptor)
            self._descriptor = -1

    def sync(self) -> None:
        """Have on the disk what was written.

        :raises StoreError: it cannot be.
        """
        if self._behind:
            with system_errors(StoreFullError, "cannot append to the shard", self.path):
                os.fsync(self._descriptor)
            self._synced, self._behind = time.monotonic(), False

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, data: bytes) -> None:
        end = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, data)
            if written < len(data):
                # the rest did not fit: a second attempt names the reason
                os.write(self._descriptor, data[written:])
            if time.monotonic() - self._synced >= self._sync_s:
                os.fsync(self._descriptor)
                self._synced, self._behind = time.monotonic(), False
            else:
                self._behind = True
        except OSError as exc:
            os.ftruncate(self._descriptor, end)
            raise StoreFullError(f"cannot append to the shard: {exc.strerror}", self.path) from None


def find_shards(paths: Iterable[Path]) -> list[Path]:
    """Return the shards that files and folders name, each once, in a fixed order.

    :raises StoreError: a path does not exist, or a folder holds no shard.
    """
    shards: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob(f"*{SUFFIX}"))
            if not inside:
                raise StoreError(f"the folder holds no shard (*{SUFFIX})", path)
            shards.update(dict.fromkeys(inside))
        elif path.exists():
            shards[path] = None
        else:
            raise StoreError("no such shard", path)
    return list(shards)


def merge(writer: StoreWriter, paths: Iterable[Path]) -> tuple[int, int, list[BadLine]]:
    """Add what shards hold to a store; what the store has already is left as it is.

    Merging again, also after an interruption, adds nothing twice. The shards stay as they are.

    :returns: how many attempts the store did not have, how many it had, and the lines that could not be used;
        the last line of a shard may be cut where its writer was killed.
    :raises StoreError: a shard cannot be read, or the store cannot be written.
    """
    bad: list[BadLine] = []
    added = known = 0
    for path in find_shards(paths):
        lines = read_lines(path)
        while batch := list(islice(lines, _BATCH)):
            new, old = add_lines(writer, batch, bad)
            added, known = added + len(new), known + old
    return added, known, bad


def add_lines(
    writer: StoreWriter, lines: Iterable[ShardLine | BadLine], bad: list[BadLine]
) -> tuple[list[Attempt], int]:
    """Add what lines of a shard hold to a store.

    :param bad: takes those that cannot be used.
    :returns: the attempts that the store did not have, and how many it had.
    :raises StoreError: the store cannot be written.
    """
    attempts: list[Attempt] = []
    marks: list[tuple[str, int, Mark]] = []
    for line in lines:
        if isinstance(line, BadLine):
            bad.append(line)
        elif line.attempt is not None:
            attempts.append(line.attempt)
        elif line.mark is not None:
            marks.append((line.mark.session, line.mark.sequence, line.mark.mark))
        elif line.baseline is not None:
            writer.add_baseline(line.baseline)
    new = writer.append_new(attempts)
    if marks:
        writer.add_marks(marks)
    return new, len(attempts) - len(new)
