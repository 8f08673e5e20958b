"""What is asked of a store, also as conditions of SQL, and what it answers about measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ckprof.errors import UsageError
from ckprof.measure.rounds import KernelConfiguration
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import SECOND, RoundTime, Status
from ckprof.model.types import DataType
from ckprof.option import settable
from ckprof.store.attempt import (
    PROCESS,
    SCALE,
    Mark,
    decode_marks,
    encode_marks,
    marked_round_time,
)
from ckprof.store.key import DeviceKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey, canonical

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Attempt


def _read_dtype(text: str) -> str:
    return DataType.parse(text).value


def _read_date(text: str) -> float:
    """Return the seconds since the epoch of an ISO date or time, which is local unless it says otherwise."""
    import datetime

    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"expected a date such as 2026-01-31, got {text!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreQuery:
    """Which attempts are asked for; every condition that is given must hold. Empty: all of them."""

    direction: str | None = settable(None, "only of this direction", metavar="NAME")
    #: id of the target
    target: str | None = settable(None, "only of this target", metavar="NAME")
    arch: str | None = settable(None, "only of this architecture", metavar="NAME")
    dtype: str | None = settable(None, "only of this data type", metavar="NAME", parse=_read_dtype)
    problem: Problem | None = None
    #: content key of an instance, or its first digits
    instance: str | None = settable(
        None, "only of this instance: the beginning of its key", flag="--instance-key", metavar="KEY"
    )
    statuses: frozenset[Status] = settable(
        frozenset(),
        "only with this status (repeatable)",
        flag="--status",
        metavar="NAME",
        parse=str,
        choices=tuple(status.value for status in Status),
    )
    #: attempts of sessions with this tag
    tag: str | None = None
    #: uid of a session, or its first digits
    session: str | None = settable(None, "only of this session: the beginning of its uid", metavar="UID")
    #: seconds since the epoch: attempts that started then or later, and before
    since: float | None = settable(
        None, "only from this date or time on, e.g. 2026-01-31", metavar="DATE", parse=_read_date
    )
    before: float | None = settable(None, "only before this date or time", metavar="DATE", parse=_read_date)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementSummary:
    """Everything that was measured for one key, in one row."""

    key: MeasurementKey
    kernel: KernelRef
    #: status of the latest attempt
    status: Status
    #: reason of the latest attempt
    reason: str = ""
    attempts: int
    #: verified ``ok`` attempts with a time
    ranked_attempts: int
    #: the kernel's time in milliseconds, see :mod:`ckprof.model.ranking`; ``None`` where the measurement may
    #: not be ranked, because there is no such attempt or the latest attempt failed
    time_ms: float | None
    #: limits that hold it at 95 %
    low_ms: float | None
    high_ms: float | None
    #: time of the fastest round that counts
    min_ms: float | None
    #: times that the device failed beside the kernel, where there is no outcome of it
    devices_lost: int = 0
    #: launches of all attempts, and those of them whose results were found right; 0 where that is not known
    launches: int = 0
    checked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedKey:
    """What all kernels that compete on a problem have in common."""

    operation: OperationKey
    device: DeviceKey
    toolchain: ToolchainKey
    method: MethodKey
    dtype: DataType | None = None
    layout: str = ""


class PastVisit(NamedTuple):
    """One attempt, as far as a sweep that resumes has to know it."""

    instance: str
    object_digest: str
    split_k: int
    round: int
    #: value of the status
    status: str
    time_ms: float | None
    spread_ms: float | None
    #: ``None``: the output was not compared
    wrong_elements: int | None
    #: values of the marks, separated by commas; ``None`` without marks
    marks: str | None
    wall_s: float | None
    #: number of the worker process within the session
    process: int = 0
    #: see :data:`~ckprof.store.attempt.SCALE`; ``None`` without
    scale: float | None = None
    #: which device it ran on; empty where a sweep used the one device of a machine
    device_id: str = ""
    #: uid of the session
    session: str = ""
    #: the device was lost beside the kernel
    device_lost: bool = False
    #: see :attr:`~ckprof.model.outcome.Outcome.second`
    second: str = ""

    @classmethod
    def of(cls, attempt: Attempt) -> PastVisit:
        """Return what there is to know of an attempt that was made just now."""
        timing, check, seen = attempt.measurement, attempt.verification, attempt.conditions
        scale, process = seen.extra.get(SCALE), seen.extra.get(PROCESS)
        return cls(
            instance=attempt.key.kernel.instance,
            object_digest=attempt.key.kernel.object_digest,
            split_k=attempt.key.split_k,
            round=seen.round,
            status=attempt.status.value,
            time_ms=timing.time_ms if timing is not None else None,
            spread_ms=timing.spread_ms if timing is not None else None,
            wrong_elements=check.wrong_elements if check is not None else None,
            marks=encode_marks(attempt.marks) or None,
            wall_s=seen.wall_s,
            process=process if isinstance(process, int) else 0,
            scale=scale if isinstance(scale, float) else None,
            device_id=attempt.session.device_id,
            session=attempt.session.uid,
            device_lost=attempt.lost_device,
            second=str(seen.extra.get(SECOND, "")),
        )

    def marked(self, mark: Mark) -> PastVisit:
        """Return the attempt with a further mark."""
        return self._replace(marks=encode_marks((*self.all_marks, mark)))

    @property
    def cell(self) -> KernelConfiguration:
        """What competed."""
        return KernelConfiguration(self.instance, self.split_k)

    @property
    def round_time(self) -> RoundTime | None:
        """What the attempt says of its kernel's time; ``None`` unless it may be ranked."""
        if self.status != Status.OK.value or not self.time_ms or self.wrong_elements != 0:
            return None
        return marked_round_time(
            self.time_ms,
            self.spread_ms or 0.0,
            self.session,
            self.round,
            0.0,
            self.all_marks,
            self.process,
            self.scale,
        )

    @property
    def all_marks(self) -> tuple[Mark, ...]:
        """The marks themselves."""
        return decode_marks(self.marks) if self.marks else ()


class SqlConditions:
    """SqlConditions that all must hold, with their values."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.values: list[object] = []

    def add(self, text: str, *values: object) -> None:
        """Add one condition."""
        self.texts.append(text)
        self.values.extend(values)

    def add_given(self, text: str, value: object) -> None:
        """Add one condition, unless its value is ``None``."""
        if value is not None:
            self.add(text, value)

    def where(self) -> str:
        """Return the ``WHERE`` clause, empty without conditions."""
        return f" WHERE {' AND '.join(self.texts)}" if self.texts else ""


def measurement_conditions(query: StoreQuery) -> SqlConditions:
    """Return what a query asks of rows of ``measurements m``, but for their status."""
    conditions = SqlConditions()
    contexts = SqlConditions()
    contexts.add_given("json_extract(o.body, '$.direction') = ?", query.direction)
    contexts.add_given("json_extract(d.body, '$.target') = ?", query.target)
    contexts.add_given("json_extract(d.body, '$.arch') = ?", query.arch)
    contexts.add_given("c.dtype = ?", query.dtype)
    if contexts.texts:
        conditions.add(
            "m.context_id IN (SELECT c.id FROM contexts c JOIN operations o ON o.id = c.operation_id "  # noqa: S608
            f"JOIN devices d ON d.id = c.device_id{contexts.where()})",
            *contexts.values,
        )
    if query.problem is not None:
        body = canonical(query.problem).decode()
        conditions.add("m.problem_id IN (SELECT id FROM problems WHERE body = ?)", body)
    of_instance = (
        "SELECT k.id FROM kernels k JOIN instances i ON i.id = k.instance_id WHERE instr(i.key, ?) = 1"
    )
    conditions.add_given(f"m.kernel_id IN ({of_instance})", query.instance)
    return conditions


def attempt_conditions(query: StoreQuery) -> SqlConditions:
    """Return what a query asks of rows of ``attempts a`` alone, but for their status."""
    conditions = SqlConditions()
    conditions.add_given("a.session_id IN (SELECT session_id FROM tags WHERE tag = ?)", query.tag)
    conditions.add_given("a.session_id IN (SELECT id FROM sessions WHERE instr(uid, ?) = 1)", query.session)
    conditions.add_given("a.started >= ?", query.since)
    conditions.add_given("a.started < ?", query.before)
    return conditions


def status_condition(query: StoreQuery, column: str, conditions: SqlConditions) -> None:
    """Add what a query asks of a status in ``column``."""
    if query.statuses:
        marks = ", ".join("?" * len(query.statuses))
        conditions.add(f"{column} IN ({marks})", *sorted(status.value for status in query.statuses))


def add_attempt_existence(query: StoreQuery, conditions: SqlConditions) -> None:
    """Add that a measurement has an attempt that meets the conditions of a query on attempts."""
    of_attempts = attempt_conditions(query)
    if of_attempts.texts:
        conditions.add(
            "EXISTS (SELECT 1 FROM attempts a WHERE a.measurement_id = m.id "  # noqa: S608
            f"AND {' AND '.join(of_attempts.texts)})",
            *of_attempts.values,
        )
