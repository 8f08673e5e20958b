"""Where the time of a kernel's waves goes, as a target predicts it: never measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


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
