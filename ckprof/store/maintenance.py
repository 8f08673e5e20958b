"""Looking after a store: check it, save what is readable, remove what is not wanted any more."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import CkprofError
from ckprof.store.attempt import Attempt
from ckprof.store.database import open_for_reading, open_for_salvage
from ckprof.store.errors import DamagedStoreError, StoreError, store_errors
from ckprof.store.parts import PartReader
from ckprof.store.query import attempt_conditions, measurement_conditions, status_condition
from ckprof.store.rows import COLUMNS, attempt_of, sum_up, unpack_samples
from ckprof.store.schema import transaction
from ckprof.store.writer import StoreWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.store.query import StoreQuery

#: complaints that a check reports at most
_MOST_FINDINGS: Final = 50
#: a damaged table does not say how many rows it had: each takes at least this many bytes of the file
_LEAST_ROW_BYTES: Final = 16
_BATCH: Final = 1_000


def check(path: Path) -> list[str]:
    """Return what is wrong with a store; empty for a sound one.

    Looked at are the file's structure, references between rows, the figures of every measurement, and whether
    every row and all raw samples can be read.

    :raises StoreError: the file is no store at all, or of another version.
    """
    findings: list[str] = []
    try:
        connection = open_for_reading(path)
    except DamagedStoreError as exc:
        cause = exc.__cause__
        return [f"cannot be opened: {cause or exc}"]
    try:
        for (text,) in connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
            if text != "ok":
                findings.append(text)
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            findings.append(f"{table} row {row} refers to a missing row of {parent}")
        if not findings:
            findings.extend(_content_findings(connection))
    except sqlite3.DatabaseError as exc:
        findings.append(str(exc))
    finally:
        connection.close()
    return findings[:_MOST_FINDINGS]


def _content_findings(connection: sqlite3.Connection) -> Iterator[str]:
    differing = connection.execute(
        "SELECT m.id, m.attempts, count(a.id) FROM measurements m LEFT JOIN attempts a "
        "ON a.measurement_id = m.id GROUP BY m.id HAVING m.attempts <> count(a.id)"
    )
    for number, says, has in differing:
        yield f"measurement {number} says that it has {says} attempts, it has {has}"
    parts = PartReader(connection)
    for number, row in _all_attempts(connection, 0, None):
        if isinstance(_read_attempt(row, parts), str):
            yield f"attempt {number}: {_read_attempt(row, parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverResult:
    """What was saved of a damaged store."""

    #: attempts that are in the new store
    saved: int
    #: attempts that are named somewhere but could not be read, with the reason of the first ones
    lost: int
    reasons: Sequence[str]


def recover(path: Path, target: Path) -> RecoverResult:
    """Read what is readable of a store and write it into a new one. The damaged file stays as it is.

    :param target: must not exist.
    :raises StoreError: nothing can be read, or the new store cannot be written.
    """
    if target.exists():
        raise StoreError("exists already; recover into a new file", target)
    connection = open_for_salvage(path)
    reasons: list[str] = []
    saved = lost = 0
    try:
        parts = PartReader(connection)
        with StoreWriter(target) as writer:
            pending: list[Attempt] = []
            for number, row in _salvaged(connection, path, reasons):
                attempt = _read_attempt(row, parts)
                if isinstance(attempt, str):
                    lost += 1
                    reasons.append(f"attempt {number}: {attempt}")
                    continue
                pending.append(attempt)
                if len(pending) == _BATCH:
                    saved += writer.append_many(pending)
                    pending.clear()
            saved += writer.append_many(pending)
    finally:
        connection.close()
    return RecoverResult(saved=saved, lost=lost, reasons=tuple(reasons[:_MOST_FINDINGS]))


def _read_attempt(row: tuple[Any, ...], parts: PartReader) -> Attempt | str:
    """Return the attempt of a row, or why there is none."""
    measurement, session, samples, *cells = row
    try:
        if samples is not None:
            unpack_samples(samples)
        return attempt_of(measurement, session, tuple(cells), samples, parts)
    except (sqlite3.Error, ValueError, TypeError, msgspec.MsgspecError, CkprofError) as exc:
        return f"{type(exc).__name__}: {exc}"


_SELECT: Final = (
    "SELECT a.id, a.measurement_id, a.session_id, {samples}, "  # noqa: S608
    + ", ".join(f"a.{column}" for column in COLUMNS)
    + " FROM attempts a WHERE a.id >= ? AND a.id <= ? ORDER BY a.id"
)
_SAMPLES: Final = "(SELECT s.data FROM samples s WHERE s.attempt_id = a.id)"


def _all_attempts(
    connection: sqlite3.Connection, first: int, last: int | None, *, samples: bool = True
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    text = _SELECT.format(samples=_SAMPLES if samples else "NULL")
    for row in connection.execute(text, (first, 2**62 if last is None else last)):
        yield row[0], row[1:]


def _salvaged(
    connection: sqlite3.Connection, path: Path, reasons: list[str]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows that can be read: a range that cannot is halved until it is one row, or can."""
    pending = [(1, path.stat().st_size // _LEAST_ROW_BYTES)]
    while pending:
        first, last = pending.pop()
        try:
            rows = list(_all_attempts(connection, first, last)) if last - first < _BATCH else None
        except sqlite3.DatabaseError as exc:
            if first < last:
                middle = (first + last) // 2
                pending += [(middle + 1, last), (first, middle)]
                continue
            rows = _without_samples(connection, first, exc, reasons)
        if rows is None:
            pending += [(start, min(start + _BATCH - 1, last)) for start in _starts_backwards(first, last)]
        else:
            yield from rows


def _starts_backwards(first: int, last: int) -> range:
    """Return the first numbers of ranges of a batch, the last one first: a stack returns them in order."""
    count = -(-(last - first + 1) // _BATCH)
    return range(first + (count - 1) * _BATCH, first - 1, -_BATCH)


def _without_samples(
    connection: sqlite3.Connection, number: int, exc: sqlite3.DatabaseError, reasons: list[str]
) -> list[tuple[int, tuple[Any, ...]]]:
    try:
        rows = list(_all_attempts(connection, number, number, samples=False))
    except sqlite3.DatabaseError:
        return []
    if rows and len(reasons) < _MOST_FINDINGS:
        reasons.append(f"attempt {number}: saved without its raw samples ({exc})")
    return rows


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
        with store_errors(path):
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
    with transaction(connection):
        connection.execute("DELETE FROM samples WHERE attempt_id IN (SELECT id FROM chosen)")
        if not samples_only:
            connection.execute("DELETE FROM attempts WHERE id IN (SELECT id FROM chosen)")
            touched = connection.execute("SELECT DISTINCT measurement_id FROM chosen").fetchall()
            for (measurement,) in touched:
                sum_up(connection, measurement)
    connection.execute("VACUUM")
