"""What a run reports while it goes on, for progress display; none of it changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.baseline import BaselineOutcome
    from ckprof.model.device import DeviceIdentity
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.rounds.visit import RoundReport
    from ckprof.run.rounds import RunCell


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady:
    """The library is loaded for the first time."""

    target: str
    #: one line about the device
    device: str
    kernels: int
    #: what really computes; ``None`` where the target does not say
    identity: DeviceIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForDevice:
    """Another run is measuring on the same device; this one goes on when it is over."""

    target: str
    device: int | str
    lock: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStarted:
    """The instances are about to be run on a problem."""

    problem_index: int
    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandsReady:
    """Operands and reference are computed for one layout and data type of a problem."""

    problem_index: int
    layout: Layout
    dtype: DataType
    #: instances that will use them
    instances: int
    #: wall seconds that it took
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStarted:
    """One instance is about to be run."""

    key: str
    problem_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimed:
    """What it cost to time one instance."""

    key: str
    problem_index: int
    #: wall seconds of warm-up, flushes and samples
    timing_s: float
    #: seconds of these spent on flushing caches
    flush_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """The kernels of a problem that share operands are about to be run once more, or for the first time."""

    problem_index: int
    #: from 1
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelMeasured:
    """One measurement is over; where there are several rounds, others of the same kernel may follow."""

    #: of this measurement alone
    outcome: Outcome
    #: from 1
    round: int
    #: position within the round
    order: int
    #: the kernel runs twice in each round to show whether the machine drifts
    reference: bool
    #: measurements that may still follow for the kernels that share its operands
    left: int
    #: of these kernels, with their numbers of splits, those whose outcome is not known yet
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """A round is over; what it changed."""

    problem_index: int
    report: RoundReport[RunCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsAbandoned:
    """The rounds on a problem have ended before their time; what they gave until then.

    Some of the outcomes may have been yielded as well.
    """

    problem_index: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushReduced:
    """Memory is short: less of it than intended is touched to flush the caches. Reported once per size."""

    wanted_bytes: int
    #: 0 if the caches are not flushed at all
    used_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLost:
    """The worker process ended or was ended; the next instance gets a new one."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMeasured:
    """A baseline was measured on the operands of some instances."""

    outcome: BaselineOutcome


RunEvent = (
    WorkerReady
    | WaitingForDevice
    | ProblemStarted
    | OperandsReady
    | KernelStarted
    | KernelTimed
    | RoundStarted
    | KernelMeasured
    | RoundEnded
    | RoundsAbandoned
    | FlushReduced
    | WorkerLost
    | BaselineMeasured
)


def ignore_event(_: RunEvent) -> None:
    """Do nothing: for callers that show no progress."""
