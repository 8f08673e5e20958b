"""What became of baselines, beside the attempts of the session that measured them: rows of their own kind."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import CkprofError
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.store.attempt import Session
from ckprof.store.errors import UNREADABLE, DamagedRow, StoreError
from ckprof.store.key import DeviceKey, MethodKey, OperationKey
from ckprof.store.row_types import BaselineRow, insertion, read_row, row_digest, selected, typed_row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.store.parts import PartReader, PartWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineAttempt:
    """What became of a baseline on one problem."""

    session: Session
    #: from 0, unique among those of the session
    sequence: int
    #: id of the baseline
    baseline: str
    #: versions and device, in one line
    description: str
    operation: OperationKey
    problem: Problem
    device: DeviceKey
    method: MethodKey
    #: those of the kernels that it is compared with
    dtype: str
    layout: str
    status: Status
    reason: str = ""
    #: ``None`` where it was not timed
    time_ms: float | None = None
    spread_ms: float | None = None
    #: largest error against the reference, and how many elements are wrong; ``None`` without a comparison
    max_error: float | None = None
    wrong_elements: int | None = None
    #: seconds since the epoch
    started: float

    @property
    def verified_ms(self) -> float | None:
        """Its time if it was timed and is right."""
        return self.time_ms if self.status is Status.OK and self.wrong_elements == 0 else None

    @property
    def moment(self) -> tuple[float, str, int]:
        """By which baselines are in order, the latest one last."""
        return self.started, self.session.uid, self.sequence


_TABLE: Final = "baselines"
_INSERT: Final = insertion(_TABLE)


def add_baseline(connection: sqlite3.Connection, parts: PartWriter, one: BaselineAttempt) -> bool:
    """Add what became of a baseline, inside a transaction; say whether it is new.

    :raises StoreError: a figure of it is none that a store may hold.
    """
    session = parts.session(one.session)
    stored = connection.execute(
        f"SELECT 1 FROM {_TABLE} WHERE session_id = ? AND sequence = ?",  # noqa: S608
        (session, one.sequence),
    )
    if stored.fetchone() is not None:
        return False
    (last,) = connection.execute(f"SELECT ifnull(max(id), 0) FROM {_TABLE}").fetchone()  # noqa: S608
    given = (
        last + 1,
        session,
        one.sequence,
        one.baseline,
        parts.text(one.description),
        parts.part("operations", one.operation),
        parts.part("problems", one.problem),
        parts.part("devices", one.device),
        parts.part("methods", one.method),
        one.dtype,
        one.layout,
        one.status.value,
        parts.text(one.reason),
        one.time_ms,
        one.spread_ms,
        one.max_error,
        one.wrong_elements,
        one.started,
    )
    # SQLite makes NULL of NaN
    cells = tuple(None if cell != cell else cell for cell in given)
    try:
        typed_row_of(_TABLE, (*cells, None))
    except DamagedRow as exc:
        raise StoreError(
            f"baseline {one.sequence} of session {one.session.uid} cannot be stored: {exc}"
        ) from None
    connection.execute(_INSERT, (*cells, row_digest(_TABLE, cells)))
    return True


def baseline_of(row: BaselineRow, parts: PartReader) -> BaselineAttempt:
    """Return what a row says.

    :raises DamagedRow: a row that it refers to is not what was stored.
    """
    plain = msgspec.structs.asdict(row)
    own = {name: cell for name, cell in plain.items() if name != "id" and not name.endswith("_id")}
    return BaselineAttempt(
        session=parts.session(row.session_id),
        description=parts.text(row.description_id),
        operation=parts.part("operations", row.operation_id),
        problem=parts.part("problems", row.problem_id),
        device=parts.part("devices", row.device_id),
        method=parts.part("methods", row.method_id),
        reason=parts.text(row.reason_id),
        **own,
    )


def read_baselines(connection: sqlite3.Connection, parts: PartReader) -> Iterator[BaselineAttempt]:
    """Yield what became of baselines, in the order in which it was added.

    :raises DamagedRow: a row, or one that it refers to, is not what was stored.
    """
    for cells in connection.execute(f"SELECT {selected(_TABLE)} FROM {_TABLE} ORDER BY id"):  # noqa: S608
        yield baseline_of(read_row(_TABLE, cells), parts)


def readable_baselines(
    connection: sqlite3.Connection, parts: PartReader, reasons: list[str]
) -> Iterator[BaselineAttempt]:
    """Yield what can be read of a damaged store, one after the other.

    :param reasons: takes why others cannot be.
    """
    try:
        numbers = connection.execute(f"SELECT id FROM {_TABLE} ORDER BY id").fetchall()  # noqa: S608
    except UNREADABLE as exc:
        reasons.append(f"baselines: {exc}")
        return
    statement = f"SELECT {selected(_TABLE)} FROM {_TABLE} WHERE id = ?"  # noqa: S608
    for (number,) in numbers:
        try:
            cells = connection.execute(statement, (number,)).fetchone()
            if cells is not None:
                yield baseline_of(read_row(_TABLE, cells), parts)
        except (*UNREADABLE, CkprofError) as exc:
            reasons.append(f"baseline {number}: {exc}")
