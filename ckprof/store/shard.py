"""Shards: what writers append to that must not open the database, and how they are merged into it."""

from __future__ import annotations

import os
import platform
import time
import uuid
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.store.errors import StoreError, StoreFullError
from ckprof.store.lines import BadLine, attempt_line, baseline_line, header_line, mark_line, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.store.attempt import Attempt, Mark
    from ckprof.store.baselines import BaselineAttempt
    from ckprof.store.lines import Line
    from ckprof.store.writer import StoreWriter

SUFFIX: Final = ".ndjson"
#: lines of a merge that are handed over together
_BATCH: Final = 2_000


class ShardWriter:
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
        self._descriptor = -1
        self._sync_s, self._synced, self._behind = sync_s, time.monotonic(), False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except OSError as exc:
            raise StoreError(f"cannot make the shard: {exc.strerror}", self.path) from None
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
        self._write(baseline_line(baseline))
        return True

    def add_marks(self, marks: Iterable[tuple[str, int, Mark]]) -> None:
        """Mark attempts that are written already.

        :param marks: session uid, sequence and mark of each.
        :raises StoreError: as for :meth:`append`.
        """
        lines = b"".join(mark_line(*mark) for mark in marks)
        if lines:
            self._write(lines)

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
            try:
                os.fsync(self._descriptor)
            except OSError as exc:
                raise StoreFullError(f"cannot append to the shard: {exc.strerror}", self.path) from None
            self._synced, self._behind = time.monotonic(), False

    def __enter__(self) -> ShardWriter:
        return self

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge did."""

    files: int
    #: attempts that the store did not have
    added: int
    #: attempts that it had already
    known: int
    #: lines that could not be used; the last line of a shard may be cut where its writer was killed
    bad: Sequence[BadLine]


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


def merge(writer: StoreWriter, paths: Iterable[Path]) -> MergeResult:
    """Add what shards hold to a store; what the store has already is left as it is.

    Merging again, also after an interruption, adds nothing twice. The shards stay as they are.

    :raises StoreError: a shard cannot be read, or the store cannot be written.
    """
    bad: list[BadLine] = []
    files = added = known = 0
    for path in find_shards(paths):
        files += 1
        lines = read_lines(path)
        while batch := list(islice(lines, _BATCH)):
            new, old = add_lines(writer, batch, bad)
            added, known = added + len(new), known + old
    return MergeResult(files=files, added=added, known=known, bad=tuple(bad))


def add_lines(
    writer: StoreWriter, lines: Iterable[Line | BadLine], bad: list[BadLine]
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
