"""What the attempts of a session say of the order in which they ran, and whether that can be true.

A session visits kernels in rounds: of one ranking, rounds and positions grow until a round begins at
position 0 again, and the rounds of a kernel never go down. Attempts may have been removed, so only those with
consecutive numbers are neighbours. A card of a larger sweep may be given a problem a second time and begins
anew then; what was imported without rounds has round 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ckprof.store.errors import DamagedRow
from ckprof.store.parts import PartReader

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


class _Visit(NamedTuple):
    id: int
    session: int
    sequence: int
    measurement: int
    #: what competes: numbers of context and problem
    ranking: tuple[int, int]
    round: int
    position: int
    started: float


_SELECT = (
    "SELECT a.id, a.session_id, a.sequence, a.measurement_id, m.context_id, m.problem_id, a.round, "
    "a.position, a.started FROM attempts a JOIN measurements m ON m.id = a.measurement_id "
    "ORDER BY a.session_id, a.sequence"
)


def disordered_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the attempts that cannot have run in the order that the store says.

    Cells of wrong types are left to those who look at rows one by one.
    """
    before: _Visit | None = None
    latest: dict[int, _Visit] = {}
    restarts = False
    for id_, session, sequence, measurement, context, problem, *seen in connection.execute(_SELECT):
        if not all(isinstance(cell, (int, float)) for cell in (sequence, *seen)):
            before = None
            continue
        visit = _Visit(id_, session, sequence, measurement, (context, problem), *seen)
        if before is None or before.session != session:
            before, latest = None, {}
            restarts = _restarts(connection, session)
        wrong = _against_neighbour(visit, before) or _against_kernel(visit, latest.get(measurement), restarts)
        if wrong is not None:
            yield DamagedRow("attempts", id_, *wrong)
        before = latest[measurement] = visit


def _restarts(connection: sqlite3.Connection, session: int) -> bool:
    """Say whether a session is that of a card, which may begin a problem anew."""
    try:
        return bool(PartReader(connection).session(session).card)
    except DamagedRow:
        return True


def _against_neighbour(visit: _Visit, before: _Visit | None) -> tuple[str, str] | None:
    """Return column and reason if a visit cannot have followed the one before."""
    if before is None or visit.sequence != before.sequence + 1 or visit.ranking != before.ranking:
        return None
    if not visit.position or not visit.round:
        return None
    if visit.round < before.round:
        return "round", (
            f"is {visit.round} after round {before.round} of attempt {before.id}, but at position "
            f"{visit.position}: what begins anew begins at position 0"
        )
    if visit.position <= before.position:
        return "position", (
            f"is {visit.position} in round {visit.round}, after {before.position} in round {before.round} of "
            f"attempt {before.id}"
        )
    return None


def _against_kernel(visit: _Visit, before: _Visit | None, restarts: bool) -> tuple[str, str] | None:
    """Return column and reason if a visit cannot have followed the latest one of its kernel."""
    if before is None:
        return None
    if visit[5:] == before[5:] and visit.round:
        return "round", f"is the same visit as attempt {before.id}: round {visit.round} at the same moment"
    if visit.round < before.round and not restarts:
        return (
            "round",
            f"is {visit.round} after round {before.round} of attempt {before.id}, the same kernel's",
        )
    return None
