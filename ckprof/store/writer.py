"""Adding to a store: one writer, every outcome on the disk before the next begins."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import system_errors
from ckprof.store.attempt import encode_marks
from ckprof.store.baselines import add_baseline
from ckprof.store.database import check_location, open_for_writing
from ckprof.store.errors import DamagedRow, StoreError, require_one_origin, store_errors
from ckprof.store.parts import PartWriter
from ckprof.store.row_types import cells_of, insertion, row_digest, store_digest, typed_row_of
from ckprof.store.rows import attempt_cells, marks_of, pack_samples, sum_up
from ckprof.store.schema import add_to_count, transaction
from ckprof.store.store import Store
from ckprof.store.writer_lock import WriterLock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.store.attempt import Attempt, Mark
    from ckprof.store.baselines import BaselineAttempt


_INSERT: Final = insertion("attempts")
_INSERT_SAMPLES: Final = insertion("samples")


class AttemptRows:
    """Adds attempts to a database with the tables of a store.

    :param connection: inside a transaction whenever something is called.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.parts = PartWriter(connection)
        #: measurements whose figures are not those of their attempts any more
        self.changed: set[int] = set()
        #: rows that were added and are not counted yet
        self.added: Counter[str] = Counter()

    def add(self, attempt: Attempt) -> bool:
        """Add an attempt; say whether it is new.

        :raises StoreError: a figure of it is none that a store may hold.
        """
        session = self.parts.session(attempt.session)
        stored = self._connection.execute(
            "SELECT 1 FROM attempts WHERE session_id = ? AND sequence = ?", (session, attempt.sequence)
        )
        if stored.fetchone() is not None:
            return False
        measurement = self.parts.measurement(attempt.key, attempt.kernel)
        (last,) = self._connection.execute("SELECT ifnull(max(id), 0) FROM attempts").fetchone()
        given = (last + 1, measurement, session, *attempt_cells(attempt, self.parts.text), None)
        try:
            cells = cells_of(typed_row_of("attempts", given))
        except DamagedRow as exc:
            raise StoreError(
                f"attempt {attempt.sequence} of session {attempt.session.uid} cannot be stored: {exc}"
            ) from None
        self._connection.execute(_INSERT, (*cells, row_digest("attempts", cells)))
        timing = attempt.measurement
        if timing is not None and timing.samples_ms:
            taken = (cells[0], pack_samples(timing.samples_ms))
            self.added["samples"] += 1
            self._connection.execute(_INSERT_SAMPLES, (*taken, row_digest("samples", taken)))
        self.changed.add(measurement)
        self.added["attempts"] += 1
        return True

    def sum_up_changed(self) -> None:
        """Bring figures and counts up to date with what was added."""
        for measurement in self.changed:
            sum_up(self._connection, measurement)
            store_digest(self._connection, "measurements", measurement)
        if self.added:
            add_to_count(self._connection, self.added)
        self.reset()

    def reset(self) -> None:
        """Forget what was added: it is summed up, or was rolled back."""
        self.changed.clear()
        self.added.clear()


#: attempts of an import that are committed together
_BATCH = 5_000


class StoreWriter(AbstractContextManager["StoreWriter"]):
    """Adds attempts to a store, which is made if it does not exist.

    A context manager: leaving it gives the store to the next writer. ``reader`` reads what was added.

    :param path: the store's file.
    :param wait_s: seconds to wait while another process writes; ``None`` as long as it takes.
    :param on_wait: called once with a message that says which process that is.
    :raises StoreError: the store cannot be written; the subclass says why.
    """

    def __init__(
        self, path: Path | str, *, wait_s: float | None = 0, on_wait: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        _make_folder(self.path)
        check_location(self.path)
        self._lock = WriterLock(self.path)
        self._lock.acquire(wait_s=wait_s, on_wait=on_wait)
        is_new = not self.path.exists()
        try:
            #: for maintenance; everything else goes through the methods
            self.connection = open_for_writing(self.path)
        except BaseException:
            if is_new:
                self.path.unlink(missing_ok=True)
            self._lock.release()
            raise
        self._rows = AttemptRows(self.connection)
        #: the same store, for reading
        self.reader = Store(self.path, self.connection)
        self._origins: set[str] = set()

    def close(self) -> None:
        """Close the file and give the lock back; closing twice is fine."""
        try:
            self.connection.close()
        finally:
            self._lock.release()

    def __exit__(self, *error: object) -> None:
        self.close()

    def append(self, attempt: Attempt) -> bool:
        """Add one attempt; it is on the disk when this returns.

        :returns: whether it is new: ``False`` if the store has an attempt of that session and sequence.
        :raises StoreError: it could not be added, e.g. because the disk is full; what was there is kept.
        """
        return bool(self.append_new([attempt]))

    def append_many(self, attempts: Iterable[Attempt]) -> int:
        """Add attempts in few transactions, for imports and merges.

        :returns: how many of them were new.
        :raises StoreError: they could not be added; those of earlier transactions are kept, and the same call
            adds the rest.
        """
        added = 0
        pending: list[Attempt] = []
        for attempt in attempts:
            pending.append(attempt)
            if len(pending) == _BATCH:
                added += len(self.append_new(pending))
                pending.clear()
        return added + len(self.append_new(pending))

    def append_new(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Add attempts in one transaction.

        :returns: those among them that were new.
        :raises StoreError: none of them was added, e.g. since some are predicted and others measured.
        """
        origins = (self._origins or self.reader.origins()) | {attempt.key.origin for attempt in attempts}
        require_one_origin(origins, self.path)
        self._origins = origins
        with self.transaction():
            return [attempt for attempt in attempts if self._rows.add(attempt)]

    def add_baseline(self, baseline: BaselineAttempt) -> bool:
        """Add what became of a baseline; it is on the disk when this returns.

        :returns: whether it is new, as for :meth:`append`.
        :raises StoreError: it could not be added.
        """
        with self.transaction():
            return add_baseline(self.connection, self._rows.parts, baseline)

    def add_marks(self, marks: Iterable[tuple[str, int, Mark]]) -> None:
        """Mark attempts that are stored already.

        :param marks: session uid, sequence and mark of each; attempts that are not there are left out.
        :raises StoreError: the store could not be written.
        """
        with self.transaction():
            for uid, sequence, mark in marks:
                row = self.connection.execute(
                    "SELECT a.id, a.measurement_id, a.marks_id, t.body FROM attempts a "
                    "JOIN sessions s ON s.id = a.session_id "
                    "LEFT JOIN texts t ON t.id = a.marks_id WHERE s.uid = ? AND a.sequence = ?",
                    (uid, sequence),
                ).fetchone()
                if row is not None:
                    self._rows.changed.add(row[1])
                    text = encode_marks((*marks_of(*row[2:]), mark))
                    self.connection.execute(
                        "UPDATE attempts SET marks_id = ? WHERE id = ?", (self._rows.parts.text(text), row[0])
                    )
                    store_digest(self.connection, "attempts", row[0])

    @contextmanager
    def transaction(self) -> Iterator[AttemptRows]:
        """Have rows added inside a block, all of them or none, and the measurements that changed summed up.

        :raises StoreError: none of them was added.
        """
        try:
            with store_errors(self.path, self.connection), transaction(self.connection):
                yield self._rows
                self._rows.sum_up_changed()
        except BaseException:
            self._rows.parts.forget()
            raise
        finally:
            self._rows.reset()


def _make_folder(path: Path) -> None:
    with system_errors(StoreError, "cannot make the folder of the store", path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise StoreError("this is a folder, expected the file of a store", path)
