"""Times that were predicted from machine code: never measured, and never stored among what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedInstruction:
    """An instruction that waves execute; cycles and memory are means over its executions."""

    #: bytes from the begin of the code
    address: int
    text: str
    #: ``file:line``; empty where the code object does not say it
    source: str
    #: id of the unit that executes it
    unit: str
    #: part of the loop that most of the executed instructions belong to
    in_loop: bool
    #: how often the waves of a workgroup execute it
    executions: int
    #: share of all waves' time
    share: float
    #: from its issue until the next one could be issued
    issue_cycles: float
    #: id of what its wave waits for before its issue -> cycles
    stall_cycles: Mapping[str, float]
    #: cycles that it keeps LDS busy, and those of them that its bank conflicts cost
    lds_cycles: float = 0.0
    conflict_cycles: float = 0.0
    #: distinct lines of global memory that its lanes touch, and those of them that the cache does not hold
    lines: float = 0.0
    missed_lines: float = 0.0
    #: bytes that its lanes ask for
    memory_bytes: float = 0.0

    @property
    def cycles(self) -> float:
        """What a wave spends at it, waiting included."""
        return self.issue_cycles + sum(self.stall_cycles.values())


class SpanKind(Enum):
    """What goes on for a while."""

    WAIT = "wait"
    ISSUE = "issue"
    WORK = "work"
    FLIGHT = "flight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that a wave or a unit does between two cycles of a timeline."""

    kind: SpanKind
    #: id of what a wave waits for; otherwise of a unit
    what: str
    #: index of the wave in the timeline; ``None`` for one of another SIMD
    wave: int | None
    #: of the instruction
    address: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The waves of one SIMD, and the units that they use, while the first of them runs through its loop once.

    Cycles count from where it begins; spans that began before have negative ones.
    """

    cycles: float
    #: number of the workgroup and of the wave in it, of each wave
    waves: tuple[tuple[int, int], ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """What the waves of a kernel do."""

    #: the linker's name of the device function
    symbol: str
    #: workgroups, and work-items of one
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    #: iterations of the loop; 0 without one
    iterations: int
    #: what allows no more workgroups on a compute unit
    limited_by: str
    instructions: tuple[ExecutedInstruction, ...]
    timeline: Timeline
    #: id -> what it is called: units, and what waves wait for
    units: Mapping[str, str] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)

    @property
    def loop(self) -> tuple[ExecutedInstruction, ...]:
        """The instructions of the loop, by address."""
        return tuple(one for one in self.instructions if one.in_loop)

    def hottest(self, count: int) -> tuple[ExecutedInstruction, ...]:
        """Return so many instructions at which waves spend most of their time, by address."""
        most = sorted(self.instructions, key=lambda one: -one.share)[:count]
        return tuple(sorted(most, key=lambda one: one.address))


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedDevice:
    """The product whose times are predicted."""

    name: str
    compute_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeQuestion:
    """How long does a kernel take for a problem?"""

    #: content key of the kernel's instance
    key: str
    problem: Problem
    #: splits of the reduction; -1 leaves them to the kernel
    split_k: int
    #: bytes of each tensor, in the operation's order
    tensor_bytes: tuple[int, ...]
    #: operations and bytes that the problem needs at least
    flop: int
    traffic_bytes: int
    #: name of the type that is multiplied
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """Questions to the kernels of one library, which was built for the target's device for predictions."""

    library: Path
    arch: str
    #: name of the product; empty for the usual one of the architecture
    model: str
    questions: tuple[TimeQuestion, ...]
    #: what the waves of each kernel do is wanted, too
    profile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTime:
    """What was predicted of a kernel on a problem."""

    time_us: float
    #: by how much loops that were not simulated to their end may change it; not the error of the model
    extrapolation_us: float
    #: what the time is spent on most, a word or a few
    limit: str
    #: least time that the device's peak rates allow, divided by the predicted one
    roof_share: float
    #: workgroups of all launches, those that share a compute unit, and of the unit that gets most
    workgroups: int
    resident: int
    queue: int
    #: parts of the time in microseconds, of which some go on at once
    parts: Mapping[str, float] = field(default_factory=dict)
    #: unit -> share of the time that it works, 1 for one that never rests
    busy: Mapping[str, float] = field(default_factory=dict)
    #: what waves wait for -> share of their time
    stalls: Mapping[str, float] = field(default_factory=dict)
    #: of the launch that takes most time, if it was asked for
    profile: KernelProfile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAnswer:
    """The answer to a question: a time, or why there is none."""

    time: PredictedTime | None = None
    #: the kernel does not support the problem
    unsupported: bool = False
    reason: str = ""
