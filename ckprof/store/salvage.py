"""Saving what is readable of a damaged store, and counting what is not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import CkprofError
from ckprof.files import scratch_folder
from ckprof.store.baselines import readable_baselines
from ckprof.store.database import open_for_salvage
from ckprof.store.errors import UNREADABLE, StoreError
from ckprof.store.parts import PartReader
from ckprof.store.row_types import AttemptRow, SamplesRow, read_row, selected
from ckprof.store.rows import attempt_of, decode_requirements
from ckprof.store.schema import Stored, stored_count
from ckprof.store.write_ahead_log import read_log
from ckprof.store.writer import StoreWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.store.attempt import Attempt

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
        log, source = read_log(path), path
        if log is not None and log.dropped:
            source = folder / path.name
            log.write_image(path, source)
        with closing(open_for_salvage(source)) as connection:
            salvage = _Salvage(connection, source)
            saved = salvage.copy_to(target)
            stored = salvage.stored()
            expected = stored or salvage.least()
    uncertain = ""
    if stored is None:
        uncertain = "the cells that say how many attempts there were are damaged"
    elif log is not None and log.cut:
        uncertain = "the write-ahead log is cut off: what was stored last may be missing"
    return RecoverResult(
        saved=saved,
        lost=max(0, expected.attempts - saved),
        samples_lost=max(0, expected.samples - salvage.with_samples),
        texts_lost=salvage.without_text,
        uncertain=uncertain,
        reasons=tuple(salvage.reasons[:_MOST_REASONS]),
    )


@dataclass(slots=True)
class _Salvage:
    """Reading a store that may be damaged anywhere."""

    connection: sqlite3.Connection
    path: Path
    reasons: list[str] = field(default_factory=list)
    #: attempts that were met, with and without what they consist of
    met: int = 0
    with_samples: int = 0
    samples_met: int = 0
    without_text: int = 0
    parts: PartReader = field(init=False)

    def __post_init__(self) -> None:
        self.parts = PartReader(self.connection)

    def copy_to(self, target: Path) -> int:
        """Write what can be saved into a new store; return how many attempts that are."""
        saved = 0
        with StoreWriter(target) as writer:
            pending: list[Attempt] = []
            for attempt in self.attempts():
                pending.append(attempt)
                if len(pending) == _BATCH:
                    saved += writer.append_many(pending)
                    pending.clear()
            saved += writer.append_many(pending)
            for baseline in readable_baselines(self.connection, self.parts, self.reasons):
                writer.add_baseline(baseline)
            return saved

    def attempts(self) -> Iterator[Attempt]:
        """Yield every attempt that is what was stored, but for its samples and for what only people read."""
        for number, cells in self._ranges():
            self.met += 1
            try:
                row = read_row(AttemptRow, "attempts", cells)
                row, lost = self._without_lost_texts(row)
                attempt = attempt_of(row, None, self.parts)
            except (*UNREADABLE, CkprofError) as exc:
                self.reasons.append(str(exc))
                continue
            try:
                samples = self._samples(number)
                attempt = attempt_of(row, samples, self.parts)
                self.with_samples += samples is not None
            except UNREADABLE as exc:
                self.samples_met += 1
                self.reasons.append(f"attempt {number}: saved without its raw samples ({exc})")
            self.without_text += bool(lost)
            yield _with_placeholders(attempt, lost)

    def _without_lost_texts(self, row: AttemptRow) -> tuple[AttemptRow, list[str]]:
        """Return a row without references to texts that are not what was stored, and their columns."""
        lost = []
        for column in _FOR_PEOPLE:
            try:
                self.parts.text(getattr(row, column))
                if column == "requirements_id":
                    self.parts.decoded(row.requirements_id, decode_requirements)
            except UNREADABLE as exc:
                lost.append(column)
                self.reasons.append(f"attempt {row.id}: saved without a text ({exc})")
        return (msgspec.structs.replace(row, **dict.fromkeys(lost)) if lost else row), lost

    def stored(self) -> Stored | None:
        """Return how many attempts were stored; ``None`` where nothing says it any more."""
        try:
            return stored_count(self.connection)
        except UNREADABLE:
            return None

    def least(self) -> Stored:
        """Return how many attempts were met."""
        return Stored(self.met, self.with_samples + self.samples_met)

    def _samples(self, number: int) -> SamplesRow | None:
        text = f"SELECT {selected('samples')} FROM samples WHERE attempt_id = ?"  # noqa: S608
        cells = self.connection.execute(text, (number,)).fetchone()
        return None if cells is None else read_row(SamplesRow, "samples", cells)

    def _ranges(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows that can be read: a range that cannot is halved until it is one row, or can."""
        pending = [(1, self.path.stat().st_size // _LEAST_ROW_BYTES)]
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
        return [(cells[0], cells) for cells in self.connection.execute(text, (first, last))]


def _with_placeholders(attempt: Attempt, lost: Sequence[str]) -> Attempt:
    """Return an attempt that says where a text is lost.

    :param lost: columns of the texts.
    """
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
