"""Attempts as rows of a database, inside the transactions of whoever writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.store.errors import DamagedRow, StoreError
from ckprof.store.parts import PartWriter
from ckprof.store.raw_samples import pack_samples
from ckprof.store.row_types import AttemptRow, cells_of, columns_of, row_digest, store_digest, typed_row_of
from ckprof.store.rows import attempt_cells, sum_up
from ckprof.store.schema import Stored, add_to_count

if TYPE_CHECKING:
    import sqlite3

    from ckprof.store.attempt import Attempt


def _insertion(table: str) -> str:
    names = (*columns_of(table), "digest")
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608


_INSERT: Final = _insertion("attempts")
_INSERT_SAMPLES: Final = _insertion("samples")


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
        self.added = Stored(0, 0)

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
        given = (last + 1, measurement, session, *attempt_cells(attempt, self.parts), None)
        try:
            cells = cells_of(typed_row_of(AttemptRow, "attempts", given))
        except DamagedRow as exc:
            raise StoreError(
                f"attempt {attempt.sequence} of session {attempt.session.uid} cannot be stored: {exc}"
            ) from None
        self._connection.execute(_INSERT, (*cells, row_digest("attempts", cells)))
        timing, sampled = attempt.measurement, 0
        if timing is not None and timing.samples_ms:
            taken, sampled = (cells[0], pack_samples(timing.samples_ms)), 1
            self._connection.execute(_INSERT_SAMPLES, (*taken, row_digest("samples", taken)))
        self.changed.add(measurement)
        self.added = self.added.plus(Stored(1, sampled))
        return True

    def sum_up_changed(self) -> None:
        """Bring figures and counts up to date with what was added."""
        for measurement in self.changed:
            sum_up(self._connection, measurement)
            store_digest(self._connection, "measurements", measurement)
        if self.added.attempts:
            add_to_count(self._connection, self.added)
        self.reset()

    def reset(self) -> None:
        """Forget what was added: it is summed up, or was rolled back."""
        self.changed.clear()
        self.added = Stored(0, 0)
