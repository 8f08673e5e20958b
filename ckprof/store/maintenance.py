"""Looking after a store: check it, remove what is not wanted any more."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError
from ckprof.store.database import open_for_reading
from ckprof.store.errors import UNREADABLE, DamagedRow, DamagedStoreError, store_errors
from ckprof.store.order import disordered_rows
from ckprof.store.parts import PartReader
from ckprof.store.plausibility import RELATIVE_ACCURACY, implausible
from ckprof.store.query import attempt_conditions, measurement_conditions, status_condition
from ckprof.store.row_types import (
    AttemptRow,
    MeasurementRow,
    SamplesRow,
    damaged_rows,
    read_row,
    selected,
    store_digest,
)
from ckprof.store.rows import attempt_of, figures, sum_up
from ckprof.store.schema import count_finding, counted, store_count, stored_count, transaction
from ckprof.store.writer import StoreWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckprof.store.query import StoreQuery

#: complaints that a check reports at most
_MOST_FINDINGS: Final = 50


def check(path: Path) -> list[str]:
    """Return what is wrong with a store; empty for a sound one.

    Looked at are the file's structure, references between rows, whether attempts are missing, whether every
    row is the one that was stored and can be read, whether times agree with their raw samples and the figures
    of every measurement with its attempts, and whether the rounds of a session can be as they are said to be.

    :raises StoreError: the file is no store at all, or of another version.
    """
    try:
        connection = open_for_reading(path)
    except DamagedStoreError as exc:
        return [f"cannot be opened: {exc.__cause__ or exc.message}"]
    with closing(connection):
        found = (text for step in _STEPS for text in _findings(step, connection))
        return list(islice(dict.fromkeys(islice(found, 2 * _MOST_FINDINGS)), _MOST_FINDINGS))


def _findings(
    step: Callable[[sqlite3.Connection], Iterator[str]], connection: sqlite3.Connection
) -> Iterator[str]:
    """Yield what a step finds; where a part of the file cannot be read, that is what it finds."""
    try:
        yield from step(connection)
    except UNREADABLE as exc:
        yield str(exc)


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    for (text,) in connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
        if text != "ok":
            yield text


def _references(connection: sqlite3.Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table} row {row} refers to a missing row of {parent}"


def _count(connection: sqlite3.Connection) -> Iterator[str]:
    finding = count_finding(connection)
    if finding:
        yield finding


def _rows(connection: sqlite3.Connection) -> Iterator[str]:
    yield from map(str, damaged_rows(connection))


def _attempts(connection: sqlite3.Connection) -> Iterator[str]:
    """Read every attempt with all that it consists of."""
    parts = PartReader(connection)
    columns = selected("attempts", "a"), selected("samples", "s")
    width = columns[0].count(",") + 1
    for cells in connection.execute(
        f"SELECT {', '.join(columns)} FROM attempts a LEFT JOIN samples s ON s.attempt_id = a.id"  # noqa: S608
    ):
        try:
            row = read_row(AttemptRow, "attempts", cells[:width])
            samples = None if cells[width] is None else read_row(SamplesRow, "samples", cells[width:])
            timing = attempt_of(row, samples, parts).measurement
        except (sqlite3.DatabaseError, CkprofError) as exc:
            yield str(exc)
            continue
        if timing is not None and (wrong := implausible(row.id, timing)):
            yield str(wrong)


def _sums(connection: sqlite3.Connection) -> Iterator[str]:
    """Compute the figures of every measurement again."""
    parts = PartReader(connection)
    for (number,) in connection.execute("SELECT id FROM measurements").fetchall():
        try:
            row, own = parts.row(MeasurementRow, "measurements", number), figures(connection, number)
        except sqlite3.DatabaseError as exc:
            yield str(exc)
            continue
        if own is None:
            yield str(DamagedRow("measurements", number, "", "has no attempt"))
            continue
        stored = (row.status.value, row.attempts, row.ranked, row.median_ms, row.min_ms)
        for name, says, has in zip(own._fields, stored, own, strict=True):
            if says != has and not (
                isinstance(says, float)
                and isinstance(has, float)
                and math.isclose(says, has, rel_tol=RELATIVE_ACCURACY)
            ):
                what = f"is {says}, by its attempts it is {has}"
                yield str(DamagedRow("measurements", number, name, what))


def _order(connection: sqlite3.Connection) -> Iterator[str]:
    yield from map(str, disordered_rows(connection))


def _tags(connection: sqlite3.Connection) -> Iterator[str]:
    parts = PartReader(connection)
    for (number,) in connection.execute("SELECT id FROM sessions").fetchall():
        rows = connection.execute("SELECT tag FROM tags WHERE session_id = ?", (number,))
        if {tag for (tag,) in rows} != {*parts.session(number).tags}:
            yield f"table tags: those of session {number} are not what was stored"


#: what a check looks at, in this order
_STEPS: Final = (_structure, _references, _count, _rows, _attempts, _sums, _order, _tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """What pruning removes."""

    attempts: int
    #: raw samples, in bytes as stored
    samples_bytes: int
    #: size of the file before and after; the same for a dry run
    bytes_before: int
    bytes_after: int


def prune(path: Path, query: StoreQuery, *, samples_only: bool = False, dry_run: bool = True) -> PruneResult:
    """Remove the attempts that a query asks for, or just their raw samples.

    :param samples_only: keep the attempts.
    :param dry_run: only count.
    :raises StoreError: the store cannot be used.
    """
    before = path.stat().st_size if path.exists() else 0
    with StoreWriter(path) as writer:
        connection = writer.connection
        with store_errors(path, connection):
            attempts, size = _select_attempts(connection, query)
            if not dry_run and attempts:
                _remove(connection, samples_only=samples_only)
    after = path.stat().st_size
    return PruneResult(
        attempts=0 if samples_only else attempts, samples_bytes=size, bytes_before=before, bytes_after=after
    )


def _select_attempts(connection: sqlite3.Connection, query: StoreQuery) -> tuple[int, int]:
    """Note the attempts in a temporary table; return how many they are, and the bytes of their samples."""
    conditions = measurement_conditions(query)
    of_attempts = attempt_conditions(query)
    status_condition(query, "a.status", of_attempts)
    where = " AND ".join(["1", *conditions.texts, *of_attempts.texts])
    connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY, measurement_id INTEGER)")
    connection.execute(
        "INSERT INTO chosen SELECT a.id, a.measurement_id FROM attempts a JOIN measurements m "  # noqa: S608
        f"ON m.id = a.measurement_id WHERE {where}",
        (*conditions.values, *of_attempts.values),
    )
    (count,) = connection.execute("SELECT count(*) FROM chosen").fetchone()
    (size,) = connection.execute(
        "SELECT coalesce(sum(length(data)), 0) FROM samples WHERE attempt_id IN (SELECT id FROM chosen)"
    ).fetchone()
    return int(count), int(size)


def _remove(connection: sqlite3.Connection, *, samples_only: bool) -> None:
    # what is missing stays counted as such
    sound = stored_count(connection) == counted(connection)
    with transaction(connection):
        connection.execute("DELETE FROM samples WHERE attempt_id IN (SELECT id FROM chosen)")
        if not samples_only:
            connection.execute("DELETE FROM attempts WHERE id IN (SELECT id FROM chosen)")
            # baselines go with the last attempt of their session
            connection.execute(
                "DELETE FROM baselines WHERE session_id NOT IN (SELECT session_id FROM attempts)"
            )
            touched = connection.execute("SELECT DISTINCT measurement_id FROM chosen").fetchall()
            for (measurement,) in touched:
                sum_up(connection, measurement)
                store_digest(connection, "measurements", measurement)
        if sound:
            store_count(connection, counted(connection))
    connection.execute("VACUUM")
