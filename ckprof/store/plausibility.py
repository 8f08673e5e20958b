"""What the attempts of a session say of the order in which they ran, and whether that can be true.

A session visits kernels in rounds: of one ranking, rounds and positions grow until a round begins at
position 0 again, the rounds of a kernel never go down, and only the reference kernel is visited more than
once in a round. Attempts may have been removed, so only those with consecutive numbers are neighbours. A
device of a larger sweep may be given a problem a second time and begins anew then; what was imported without
rounds has round 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ckprof.store.attempt import Mark
from ckprof.store.errors import DamagedRow
from ckprof.store.parts import PartReader
from ckprof.store.rows import marks_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from ckprof.model.outcome import Measurement


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
    #: the kernel runs more than once in a round, so that drift shows
    reference: bool


_SELECT = (
    "SELECT a.marks_id, t.body, a.id, a.session_id, a.sequence, a.measurement_id, m.context_id, "
    "m.problem_id, a.round, a.position, a.started FROM attempts a "
    "JOIN measurements m ON m.id = a.measurement_id LEFT JOIN texts t ON t.id = a.marks_id "
    "ORDER BY a.session_id, a.sequence"
)


def disordered_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the attempts that cannot have run in the order that the store says.

    Cells of wrong types are left to those who look at rows one by one.
    """
    before: _Visit | None = None
    latest: dict[int, _Visit] = {}
    restarts = False
    for marks_id, text, *cells in connection.execute(_SELECT):
        visit = _visit(marks_id, text, *cells)
        if visit is None:
            before = None
            continue
        if before is None or before.session != visit.session:
            before, latest = None, {}
            restarts = _restarts(connection, visit.session)
        wrong = _against_neighbour(visit, before) or _against_kernel(
            visit, latest.get(visit.measurement), restarts
        )
        if wrong is not None:
            yield DamagedRow("attempts", visit.id, *wrong)
        before = latest[visit.measurement] = visit


def _visit(marks_id: int | None, marks: str | None, *cells: Any) -> _Visit | None:
    """Return what a row says of a visit; ``None`` where cells are not what they should be."""
    id_, session, sequence, measurement, context, problem, number, position, started = cells
    if not all(isinstance(cell, (int, float)) for cell in (sequence, number, position, started)):
        return None
    try:
        reference = Mark.REFERENCE in marks_of(marks_id or 0, marks)
    except DamagedRow:
        return None
    return _Visit(
        id_, session, sequence, measurement, (context, problem), number, position, started, reference
    )


def _restarts(connection: sqlite3.Connection, session: int) -> bool:
    """Say whether a session is that of a worker's device, which may begin a problem anew."""
    try:
        return bool(PartReader(connection).session(session).device_id)
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
    if visit.round == before.round and visit.round:
        if (visit.position, visit.started) == (before.position, before.started):
            return (
                "round",
                f"is the same visit as attempt {before.id}: round {visit.round} at the same moment",
            )
        if not restarts and not visit.reference:
            return "round", (
                f"is {visit.round}, the round of attempt {before.id} of the same kernel: only the reference "
                "kernel is visited more than once in a round"
            )
    if visit.round < before.round and not restarts:
        return (
            "round",
            f"is {visit.round} after round {before.round} of attempt {before.id}, the same kernel's",
        )
    return None


#: figures are computed again with the same steps, on another machine with another library of mathematics
RELATIVE_ACCURACY: Final = 1e-9


def implausible(number: int, timing: Measurement) -> DamagedRow | None:
    """Return why the figures of an attempt cannot be those of its samples, if they cannot.

    :param number: of the attempt.
    """
    slack = 1 + RELATIVE_ACCURACY
    if timing.min_ms > timing.median_ms * slack:
        what = f"{timing.min_ms:g} ms is above its median, {timing.median_ms:g} ms"
        return DamagedRow("attempts", number, "min_ms", what)
    samples = timing.samples_ms
    if not samples:
        return None
    for place, sample in enumerate(samples):
        if not (math.isfinite(sample) and sample > 0):
            what = f"sample {place} is {sample:g} ms, expected a finite and positive time"
            return DamagedRow("samples", number, "data", what)
    least, most = min(samples), max(samples)
    for column in ("median_ms", "mean_ms", "min_ms"):
        figure = getattr(timing, column)
        if not least / slack <= figure <= most * slack:
            what = f"{figure:g} ms is outside of its raw samples, {least:g} to {most:g} ms"
            return DamagedRow("attempts", number, column, what)
    return None
