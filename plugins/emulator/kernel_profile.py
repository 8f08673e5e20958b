"""What the waves of a kernel do: instructions and a timeline, as the emulated device counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from ckprof_plugins.emulator.predicted_time import Launch


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


#: what goes on for a while
SpanKind = Literal["wait", "issue", "work", "flight"]


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


#: unit -> what it is called
UNITS: Final = {
    "matrix": "matrix unit",
    "vector": "vector unit",
    "lds": "LDS",
    "memory": "global memory",
    "scalar": "scalar unit",
    "branch": "branches",
    "message": "scalar loads",
    "control": "waits and barriers",
}
#: what waves wait for -> what it is called
WAITS: Final = {
    "unit": "a busy unit",
    "result": "a result",
    "memory": "global memory",
    "local": "LDS or scalar loads",
    "barrier": "other waves at a barrier",
    "code": "its code",
}


class Executed(msgspec.Struct, frozen=True):
    """An instruction: sums over all executions that were simulated, and over those of one workgroup."""

    address: int
    text: str
    source: str
    unit: str
    in_loop: bool
    #: by the waves of one workgroup; of it are LDS cycles, lines and bytes
    executions: float
    #: in the simulation, loops perhaps shortened; of these are the cycles of issue and stalls
    simulated: float
    issue: float
    stalled: dict[str, float]
    lds_cycles: float
    conflict_cycles: float
    lines: float
    missed_lines: float
    bytes: float


class Watched(msgspec.Struct, frozen=True):
    """Waves of one SIMD for a while."""

    cycles: float
    waves: tuple[tuple[int, int], ...]
    #: kind, what, wave, address, begin, end
    spans: tuple[tuple[SpanKind, str, int, int, float, float], ...]


def profile_of(launch: Launch) -> KernelProfile | None:
    """Return the profile of a launch, if the device was asked for it."""
    watched = launch.timeline
    if watched is None:
        return None
    found = [(one, _mean_cycles(one)) for one in launch.executed]
    all_cycles = sum(cycles * one.executions for one, cycles in found) or 1.0
    return KernelProfile(
        symbol=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        iterations=launch.iterations,
        limited_by=launch.limited_by,
        instructions=tuple(_instruction(one, cycles * one.executions / all_cycles) for one, cycles in found),
        timeline=Timeline(
            cycles=watched.cycles,
            waves=watched.waves,
            spans=tuple(
                Span(
                    kind=kind,
                    what=what,
                    wave=wave if wave < len(watched.waves) else None,
                    address=address,
                    begin=begin,
                    end=end,
                )
                for kind, what, wave, address, begin, end in watched.spans
            ),
        ),
        units=UNITS,
        waits=WAITS,
    )


def _mean_cycles(one: Executed) -> float:
    """Return what a wave spends at an instruction, on average."""
    return (one.issue + sum(one.stalled.values())) / (one.simulated or 1.0)


def _instruction(one: Executed, share: float) -> ExecutedInstruction:
    simulated, executions = one.simulated or 1.0, one.executions or 1.0
    return ExecutedInstruction(
        address=one.address,
        text=one.text,
        source=one.source,
        unit=one.unit,
        in_loop=one.in_loop,
        executions=round(one.executions),
        share=share,
        issue_cycles=one.issue / simulated,
        stall_cycles={cause: cycles / simulated for cause, cycles in one.stalled.items()},
        lds_cycles=one.lds_cycles / executions,
        conflict_cycles=one.conflict_cycles / executions,
        lines=one.lines / executions,
        missed_lines=one.missed_lines / executions,
        memory_bytes=one.bytes / executions,
    )
