"""The figures of a measurement: its attempts summed up in one row, so that rankings need not read these."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status

if TYPE_CHECKING:
    import sqlite3


def sum_up(connection: sqlite3.Connection, measurement: int) -> None:
    """Bring the figures of a measurement up to date with its attempts.

    Its time is the median over the medians of the verified attempts. A kernel whose latest attempt failed has
    none: it is not ranked by the times that it once had.

    :param measurement: its number; a measurement without attempts is removed.
    """
    rows = connection.execute(
        "SELECT status, CASE WHEN status = ? AND wrong_elements = 0 THEN median_ms END FROM attempts "
        "WHERE measurement_id = ? ORDER BY id",
        (Status.OK.value, measurement),
    ).fetchall()
    if not rows:
        connection.execute("DELETE FROM measurements WHERE id = ?", (measurement,))
        return
    status = rows[-1][0]
    times = [time for _, time in rows if time is not None]
    shown = times if times and not Status(status).is_failure else None
    connection.execute(
        "UPDATE measurements SET status = ?, attempts = ?, ranked = ?, median_ms = ?, min_ms = ? "
        "WHERE id = ?",
        (
            status,
            len(rows),
            len(times),
            median(shown) if shown else None,
            min(shown) if shown else None,
            measurement,
        ),
    )
