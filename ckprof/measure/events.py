"""What a run reports while it goes on, for progress display; none of it changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from ckprof.model.device import DeviceIdentity
    from ckprof.model.outcome import BaselineOutcome, Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady(Event):
    """The library is loaded for the first time."""

    target: str
    #: one line about the device
    device: str
    kernels: int
    #: what really computes; ``None`` where the target does not say
    identity: DeviceIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStarted(Event):
    """The instances are about to be run on a problem."""

    problem_index: int
    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandsReady(Event):
    """Operands and reference are computed for one layout and data type of a problem."""

    problem_index: int
    layout: Layout
    dtype: DataType
    #: instances that will use them
    instances: int
    #: wall seconds that it took
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStarted(Event):
    """One instance is about to be run."""

    key: str
    problem_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimed(Event):
    """What it cost to time one instance."""

    key: str
    problem_index: int
    #: wall seconds of warm-up, flushes and samples
    timing_s: float
    #: seconds of these spent on flushing caches
    flush_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(Event):
    """The kernels of a problem that share operands are about to be run once more, or for the first time."""

    problem_index: int
    #: from 1
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelMeasured(Event):
    """One measurement is over; where there are several rounds, others of the same kernel may follow."""

    #: of this measurement alone
    outcome: Outcome
    #: from 1
    round: int
    #: measurements that may still follow for the kernels that share its operands
    left: int
    #: of these kernels, with their numbers of splits, those whose outcome is not known yet
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLost(Event):
    """The worker process ended or was ended; the next instance gets a new one."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMeasured(Event):
    """A baseline was measured on the operands of some instances."""

    outcome: BaselineOutcome
