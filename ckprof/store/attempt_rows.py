"""Attempts as rows of a database, inside the transactions of whoever writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.store.parts import PartWriter
from ckprof.store.rows import COLUMNS, attempt_cells, pack_samples, sum_up

if TYPE_CHECKING:
    import sqlite3

    from ckprof.store.attempt import Attempt

_INSERT: Final = (
    f"INSERT INTO attempts (measurement_id, session_id, {', '.join(COLUMNS)}) "  # noqa: S608
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)


class AttemptRows:
    """Adds attempts to a database with the tables of a store.

    :param connection: inside a transaction whenever something is called.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.parts = PartWriter(connection)
        #: measurements whose figures are not those of their attempts any more
        self.changed: set[int] = set()

    def add(self, attempt: Attempt) -> bool:
        """Add an attempt; say whether it is new."""
        session = self.parts.session(attempt.session)
        stored = self._connection.execute(
            "SELECT 1 FROM attempts WHERE session_id = ? AND sequence = ?", (session, attempt.sequence)
        )
        if stored.fetchone() is not None:
            return False
        measurement = self.parts.measurement(attempt.key, attempt.kernel)
        cells = attempt_cells(attempt, self.parts)
        cursor = self._connection.execute(_INSERT, (measurement, session, *cells))
        timing = attempt.measurement
        if timing is not None and timing.samples_ms:
            self._connection.execute(
                "INSERT INTO samples (attempt_id, data) VALUES (?, ?)",
                (cursor.lastrowid, pack_samples(timing.samples_ms)),
            )
        self.changed.add(measurement)
        return True

    def sum_up_changed(self) -> None:
        """Bring figures up to date with what was added."""
        for measurement in self.changed:
            sum_up(self._connection, measurement)
        self.changed.clear()
