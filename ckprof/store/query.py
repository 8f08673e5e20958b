"""What is asked of a store, and what it answers about measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Status
from ckprof.store.attempt import KernelInfo
from ckprof.store.key import DeviceKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey

if TYPE_CHECKING:
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreQuery:
    """Which attempts are asked for; every condition that is given must hold. Empty: all of them."""

    direction: str | None = None
    #: id of the target
    target: str | None = None
    arch: str | None = None
    dtype: str | None = None
    problem: Problem | None = None
    #: content key of an instance, or its first digits
    instance: str | None = None
    statuses: frozenset[Status] = frozenset()
    #: attempts of sessions with this tag
    tag: str | None = None
    #: uid of a session, or its first digits
    session: str | None = None
    #: seconds since the epoch: attempts that started then or later, and before
    since: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementSummary:
    """Everything that was measured for one key, in one row."""

    key: MeasurementKey
    kernel: KernelInfo
    #: status of the latest attempt
    status: Status
    #: reason of the latest attempt
    reason: str = ""
    attempts: int
    #: verified ``ok`` attempts with a time
    ranked_attempts: int
    #: median over the medians of the ranked attempts, in milliseconds; ``None`` where the measurement may not
    #: be ranked, because there is no such attempt or the latest attempt failed
    median_ms: float | None
    #: least of all medians of the ranked attempts
    min_ms: float | None


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
    """One attempt, as far as a sweep that goes on has to know it."""

    instance: str
    object_digest: str
    split_k: int
    round: int
    #: value of the status
    status: str
    median_ms: float | None
    min_ms: float | None
    spread_ms: float | None
    #: ``None``: the output was not compared
    wrong_elements: int | None
    #: values of the marks, separated by commas; ``None`` without marks
    marks: str | None
    wall_s: float | None
    #: which card it ran on; empty where a sweep used the one device of a machine
    card: str = ""
