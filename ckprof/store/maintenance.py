"""Looking after a store: check it, prune it, save what is readable of a damaged one."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import CkprofError
from ckprof.files import scratch_folder
from ckprof.store.baselines import readable_baselines
from ckprof.store.database import open_for_reading, open_for_salvage, read_log, write_image
from ckprof.store.errors import UNREADABLE, DamagedRow, DamagedStoreError, StoreError, store_errors
from ckprof.store.parts import PartReader
from ckprof.store.plausibility import RELATIVE_ACCURACY, disordered_rows, implausible
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
from ckprof.store.rows import (
    attempt_of,
    attempt_selection,
    decode_requirements,
    figures,
    read_attempt,
    sum_up,
)
from ckprof.store.schema import count_finding, counted, store_count, stored_count, transaction
from ckprof.store.writer import StoreWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.store.attempt import Attempt
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


def _attempts(connection: sqlite3.Connection) -> Iterator[str]:
    """Read every attempt with all that it consists of."""
    parts = PartReader(connection)
    for cells in connection.execute(attempt_selection(samples=True)):
        try:
            number, attempt = read_attempt(cells, parts)
        except (sqlite3.DatabaseError, CkprofError) as exc:
            yield str(exc)
            continue
        if attempt.measurement is not None and (wrong := implausible(number, attempt.measurement)):
            yield str(wrong)


def _sums(connection: sqlite3.Connection) -> Iterator[str]:
    """Compute the figures of every measurement again."""
    parts = PartReader(connection)
    for (number,) in connection.execute("SELECT id FROM measurements").fetchall():
        try:
            row: MeasurementRow = parts.row("measurements", number)
            own = figures(connection, number)
        except sqlite3.DatabaseError as exc:
            yield str(exc)
            continue
        if not own:
            yield str(DamagedRow("measurements", number, "", "has no attempt"))
            continue
        stored = {**msgspec.structs.asdict(row), "status": row.status.value}
        for name, has in own.items():
            says = stored[name]
            if says != has and not (
                isinstance(says, float)
                and isinstance(has, float)
                and math.isclose(says, has, rel_tol=RELATIVE_ACCURACY)
            ):
                what = f"is {says}, by its attempts it is {has}"
                yield str(DamagedRow("measurements", number, name, what))


def _tags(connection: sqlite3.Connection) -> Iterator[str]:
    parts = PartReader(connection)
    for (number,) in connection.execute("SELECT id FROM sessions").fetchall():
        rows = connection.execute("SELECT tag FROM tags WHERE session_id = ?", (number,))
        if {tag for (tag,) in rows} != {*parts.session(number).tags}:
            yield f"table tags: those of session {number} are not what was stored"


#: what a check looks at, in this order
_STEPS: Final[tuple[Callable[[sqlite3.Connection], Iterator[str]], ...]] = (
    _structure,
    _references,
    lambda connection: filter(None, [count_finding(connection)]),
    lambda connection: map(str, damaged_rows(connection)),
    _attempts,
    _sums,
    lambda connection: map(str, disordered_rows(connection)),
    _tags,
)


def prune(
    path: Path, query: StoreQuery, *, samples_only: bool = False, dry_run: bool = True
) -> tuple[int, int, int]:
    """Remove the attempts that a query asks for, or just their raw samples.

    :param samples_only: keep the attempts.
    :param dry_run: only count.
    :returns: how many attempts are removed, how many bytes of raw samples as stored, and by how many bytes
        the file became smaller.
    :raises StoreError: the store cannot be used.
    """
    before = path.stat().st_size if path.exists() else 0
    with StoreWriter(path) as writer:
        connection = writer.connection
        with store_errors(path, connection):
            attempts, size = _select_attempts(connection, query)
            if not dry_run and attempts:
                _remove(connection, samples_only=samples_only)
    return 0 if samples_only else attempts, size, before - path.stat().st_size


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


#: stands for a text that is not what was stored, in an attempt that is saved without it
LOST_TEXT: Final = "(lost: the text was damaged)"
#: columns with texts that only people read; marks and tolerances decide whether a time counts
_FOR_PEOPLE: Final = ("reason_id", "requirements_id", "stopped_by_id")
#: reasons that are kept
_MOST_REASONS: Final = 50
#: a damaged table does not say how many rows it had: each takes at least this many bytes of the file
_LEAST_ROW_BYTES: Final = 16
_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverResult:
    """What was saved of a damaged store."""

    #: attempts that are in the new store
    saved: int
    #: attempts that were stored and are not in the new store
    lost: int
    #: attempts whose raw samples were stored and are not in the new store
    samples_lost: int
    #: attempts that are in the new store with :data:`LOST_TEXT` in place of a reason, of rules, or of what
    #: ended the sampling
    texts_lost: int
    #: why these are only the least numbers; empty where they are the numbers
    uncertain: str
    #: why attempts or samples are lost, the first ones
    reasons: Sequence[str]

    @property
    def complete(self) -> bool:
        """True if nothing is missing."""
        return not (self.lost or self.samples_lost or self.texts_lost or self.uncertain)


def recover(path: Path, target: Path) -> RecoverResult:
    """Read what is readable of a store and write it into a new one. The damaged file stays as it is.

    What is lost is the difference to the number of attempts that the store says it has. That number has a
    digest of its own; where it is damaged, what is lost is at least what was met and is not what was stored.

    :param target: must not exist.
    :raises StoreError: nothing can be read, or the new store cannot be written.
    """
    if target.exists():
        raise StoreError("exists already; recover into a new file", target)
    with scratch_folder() as folder:
        (frames, dropped, cut), source = read_log(path), path
        if dropped:
            source = folder / path.name
            write_image(path, frames, source)
        with closing(open_for_salvage(source)) as connection:
            salvage = _Salvage(connection, source)
            saved = salvage.copy_to(target)
            stored = salvage.stored()
            expected = salvage.least() if stored is None else stored
    uncertain = ""
    if stored is None:
        uncertain = "the cells that say how many attempts there were are damaged"
    elif cut:
        uncertain = "the write-ahead log is cut off: what was stored last may be missing"
    return RecoverResult(
        saved=saved,
        lost=max(0, expected["attempts"] - saved),
        samples_lost=max(0, expected["samples"] - salvage.with_samples),
        texts_lost=salvage.without_text,
        uncertain=uncertain,
        reasons=tuple(salvage.reasons[:_MOST_REASONS]),
    )


class _Salvage:
    """Reading a store that may be damaged anywhere."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._parts = PartReader(connection)
        self.reasons: list[str] = []
        #: attempts that were met, with and without what they consist of
        self._met = self._samples_met = 0
        self.with_samples = self.without_text = 0

    def copy_to(self, target: Path) -> int:
        """Write what can be saved into a new store; return how many attempts that are."""
        with StoreWriter(target) as writer:
            saved = writer.append_many(self.attempts())
            for baseline in readable_baselines(self._connection, self._parts, self.reasons):
                writer.add_baseline(baseline)
        return saved

    def attempts(self) -> Iterator[Attempt]:
        """Yield every attempt that is what was stored, but for its samples and for what only people read."""
        for number, cells in self._ranges():
            self._met += 1
            try:
                row: AttemptRow = read_row("attempts", cells)
                row, lost = self._without_lost_texts(row)
                attempt = attempt_of(row, None, self._parts)
            except (*UNREADABLE, CkprofError) as exc:
                self.reasons.append(str(exc))
                continue
            try:
                samples = self._samples(number)
                attempt = attempt_of(row, samples, self._parts)
                self.with_samples += samples is not None
            except UNREADABLE as exc:
                self._samples_met += 1
                self.reasons.append(f"attempt {number}: saved without its raw samples ({exc})")
            self.without_text += bool(lost)
            yield _with_placeholders(attempt, lost)

    def _without_lost_texts(self, row: AttemptRow) -> tuple[AttemptRow, list[str]]:
        """Return a row without references to texts that are not what was stored, and their columns."""
        lost = []
        for column in _FOR_PEOPLE:
            try:
                self._parts.text(getattr(row, column))
                if column == "requirements_id":
                    self._parts.decoded(row.requirements_id, decode_requirements)
            except UNREADABLE as exc:
                lost.append(column)
                self.reasons.append(f"attempt {row.id}: saved without a text ({exc})")
        return (msgspec.structs.replace(row, **dict.fromkeys(lost)) if lost else row), lost

    def stored(self) -> Counter[str] | None:
        """Return how many attempts were stored; ``None`` where nothing says it any more."""
        try:
            return stored_count(self._connection)
        except UNREADABLE:
            return None

    def least(self) -> Counter[str]:
        """Return how many attempts were met."""
        return Counter(attempts=self._met, samples=self.with_samples + self._samples_met)

    def _samples(self, number: int) -> SamplesRow | None:
        text = f"SELECT {selected('samples')} FROM samples WHERE attempt_id = ?"  # noqa: S608
        cells = self._connection.execute(text, (number,)).fetchone()
        return None if cells is None else read_row("samples", cells)

    def _ranges(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows that can be read: a range that cannot is halved until it is one row, or can."""
        pending = [(1, self._path.stat().st_size // _LEAST_ROW_BYTES)]
        while pending:
            first, last = pending.pop()
            if last - first >= _BATCH:
                pending += [
                    (start, min(start + _BATCH - 1, last)) for start in _starts_backwards(first, last)
                ]
                continue
            try:
                yield from self._range(first, last)
            except UNREADABLE:
                if first < last:
                    middle = (first + last) // 2
                    pending += [(middle + 1, last), (first, middle)]

    def _range(self, first: int, last: int) -> list[tuple[int, tuple[Any, ...]]]:
        text = f"SELECT {selected('attempts')} FROM attempts WHERE id >= ? AND id <= ? ORDER BY id"  # noqa: S608
        return [(cells[0], cells) for cells in self._connection.execute(text, (first, last))]


def _with_placeholders(attempt: Attempt, lost: Sequence[str]) -> Attempt:
    """Return an attempt that says where a text is lost."""
    if "reason_id" in lost:
        attempt = replace(attempt, reason=LOST_TEXT)
    if "requirements_id" in lost:
        attempt = replace(attempt, requirements=(LOST_TEXT,))
    if "stopped_by_id" in lost and attempt.measurement is not None:
        attempt = replace(attempt, measurement=replace(attempt.measurement, stopped_by=LOST_TEXT))
    return attempt


def _starts_backwards(first: int, last: int) -> range:
    """Return the first numbers of ranges of a batch, the last one first: a stack returns them in order."""
    count = -(-(last - first + 1) // _BATCH)
    return range(first + (count - 1) * _BATCH, first - 1, -_BATCH)
