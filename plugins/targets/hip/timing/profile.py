"""What the emulated device says of single instructions and waves, as a profile of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.model.kernel_profile import ExecutedInstruction, KernelProfile, Span, SpanKind, Timeline

if TYPE_CHECKING:
    from ckprof_plugins.targets.hip.timing.composition import Launch

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
    spans: tuple[tuple[str, str, int, int, float, float], ...]


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
                    kind=SpanKind(kind),
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
