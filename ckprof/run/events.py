"""What a run reports while it goes on, for progress display; none of it changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.baseline import BaselineOutcome
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem
    from ckprof.run.messages import DeviceProperties


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady:
    """The library is loaded for the first time."""

    target: str
    #: one line about the device
    device: str
    kernels: int
    #: what really computes; ``None`` where the target does not say
    properties: DeviceProperties | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForDevice:
    """Another run is measuring on the same device; this one goes on when it is over."""

    target: str
    device: int
    lock: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStarted:
    """The instances are about to be run on a problem."""

    problem_index: int
    problem: ConvProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandsReady:
    """Operands and reference are computed for one layout and data type of a problem."""

    problem_index: int
    layout: ConvLayout
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
    | FlushReduced
    | WorkerLost
    | BaselineMeasured
)


def ignore_event(_: RunEvent) -> None:
    """Do nothing: for callers that show no progress."""
