"""What the attempts of a session say of the order in which they ran, and whether that can be true.

A session measures kernels in rounds: of one ranking, rounds and positions grow until a round begins at
position 0 again, the rounds of a kernel never go down, and no kernel has two attempts in a round. Attempts
may have been removed, so only those with consecutive numbers are neighbours. A device of a larger sweep may
be given a problem a second time and begins anew then; what was imported without rounds has round 0.
"""

from __future__ import annotations

import math
import sqlite3
from typing import TYPE_CHECKING, Final

from ckprof.store.errors import DamagedRow
from ckprof.store.parts import PartReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.outcome import Measurement


_SELECT: Final = (
    "SELECT a.id, a.session_id, a.sequence, a.measurement_id, m.context_id, m.problem_id, a.round, "
    "a.position, a.started FROM attempts a JOIN measurements m ON m.id = a.measurement_id "
    "ORDER BY a.session_id, a.sequence"
)
#: two attempts that ran one after the other compete if these are the same
_RANKING: Final = ("context_id", "problem_id")


def disordered_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the attempts that cannot have run in the order that the store says.

    Cells of wrong types are left to those who look at rows one by one.
    """
    before: sqlite3.Row | None = None
    latest: dict[int, sqlite3.Row] = {}
    restarts = False
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    for visit in cursor.execute(_SELECT):
        numbers = (visit[name] for name in ("sequence", "round", "position", "started"))
        if not all(isinstance(number, (int, float)) for number in numbers):
            before = None
            continue
        if before is None or before["session_id"] != visit["session_id"]:
            before, latest = None, {}
            restarts = _restarts(connection, visit["session_id"])
        own = latest.get(visit["measurement_id"])
        wrong = _against_neighbour(visit, before) if before is not None else None
        if wrong is None and own is not None:
            wrong = _against_kernel(visit, own, restarts=restarts)
        if wrong is not None:
            yield DamagedRow("attempts", visit["id"], *wrong)
        before = latest[visit["measurement_id"]] = visit


def _restarts(connection: sqlite3.Connection, session: int) -> bool:
    """Say whether a session is that of a worker's device, which may begin a problem anew."""
    try:
        return bool(PartReader(connection).session(session).device_id)
    except DamagedRow:
        return True


def _against_neighbour(visit: sqlite3.Row, before: sqlite3.Row) -> tuple[str, str] | None:
    """Return column and reason if an attempt cannot have followed the one before."""
    number, position = visit["round"], visit["position"]
    if visit["sequence"] != before["sequence"] + 1 or any(visit[name] != before[name] for name in _RANKING):
        return None
    if not position or not number:
        return None
    if number < before["round"]:
        return "round", (
            f"is {number} after round {before['round']} of attempt {before['id']}, but at position "
            f"{position}: what begins anew begins at position 0"
        )
    if position <= before["position"]:
        return "position", (
            f"is {position} in round {number}, after {before['position']} in round {before['round']} of "
            f"attempt {before['id']}"
        )
    return None


def _against_kernel(visit: sqlite3.Row, before: sqlite3.Row, *, restarts: bool) -> tuple[str, str] | None:
    """Return column and reason if an attempt cannot have followed the latest one of its kernel."""
    number, of_attempt = visit["round"], f"of attempt {before['id']}"
    if number == before["round"] and number:
        if all(visit[name] == before[name] for name in ("position", "started")):
            return "round", f"is the same as attempt {before['id']}: round {number} at the same moment"
        if not restarts:
            return "round", f"is {number}, the round {of_attempt} of the same kernel"
    if number < before["round"] and not restarts:
        return "round", f"is {number} after round {before['round']} {of_attempt}, the same kernel's"
    return None


#: figures are computed again with the same steps, on another machine with another library of mathematics
RELATIVE_ACCURACY: Final = 1e-9


def implausible(number: int, timing: Measurement) -> DamagedRow | None:
    """Return why the figures of an attempt cannot be those of its samples, if they cannot.

    :param number: of the attempt.
    """
    slack = 1 + RELATIVE_ACCURACY
    if timing.min_ms > timing.time_ms * slack:
        what = f"{timing.min_ms:g} ms is above its median, {timing.time_ms:g} ms"
        return DamagedRow("attempts", number, "min_ms", what)
    samples = timing.samples_ms
    if not samples:
        return None
    for place, sample in enumerate(samples):
        if not (math.isfinite(sample) and sample > 0):
            what = f"sample {place} is {sample:g} ms, expected a finite and positive time"
            return DamagedRow("samples", number, "data", what)
    least, most = min(samples), max(samples)
    for column in ("time_ms", "mean_ms", "min_ms"):
        figure = getattr(timing, column)
        if not least / slack <= figure <= most * slack:
            what = f"{figure:g} ms is outside of its raw samples, {least:g} to {most:g} ms"
            return DamagedRow("attempts", number, column, what)
    return None
