"""What the profile of a kernel says, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.device import DeviceKernel
    from ckprof.model.kernel_profile import ExecutedInstruction, KernelProfile
    from ckprof.model.prediction import PredictedTime

#: said wherever a figure of a profile is shown
PREDICTED = "predicted from machine code, not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileContent:
    """A kernel on a problem."""

    kernel: str
    split_k: int
    problem: str
    #: product, architecture and compiler
    device: str
    arch: str
    compiler: str
    time: PredictedTime
    profile: KernelProfile
    #: the device function, if the code object's figures are known
    function: DeviceKernel | None = None

    @property
    def facts(self) -> Sequence[tuple[str, str]]:
        """What is known of the launch, in words."""
        time, profile = self.time, self.profile
        lanes = " x ".join(str(size) for size in profile.block if size != 1) or "1"
        rounds = -(-time.queue // time.resident) if time.resident else 0
        return (
            ("problem", self.problem + (f", split_k {self.split_k}" if self.split_k != 1 else "")),
            ("device", f"{self.device} ({self.arch}), {self.compiler}"),
            ("launch", f"{counted(time.workgroups, 'workgroup')} of {lanes} work-items"),
            (
                "occupancy",
                f"{time.resident} at once on a compute unit, limited by {profile.limited_by}; "
                f"{time.queue} on the busiest one, {counted(rounds, 'round')}",
            ),
            ("loop", _loop_text(profile)),
            *self._resources,
            *_memory_facts(profile.instructions),
        )

    @property
    def _resources(self) -> Sequence[tuple[str, str]]:
        code = self.function
        if code is None:
            return ()
        spills = code.vgpr_spills + code.sgpr_spills
        return (
            ("registers", f"{code.vgprs} vector (of them {code.agprs} for sums), {code.sgprs} scalar"),
            ("memory", f"{code.lds_bytes:,} bytes of LDS, {code.scratch_bytes} bytes of scratch for a lane"),
            ("spills", str(spills) if spills else "none"),
        )


def _loop_text(profile: KernelProfile) -> str:
    if not profile.iterations:
        return "none that is executed often"
    loop = profile.loop
    share = sum(one.share for one in loop)
    return (
        f"{counted(len(loop), 'instruction')}, {counted(profile.iterations, 'iteration')}, "
        f"{profile.timeline.cycles:,.0f} cycles each; {percent(share)} of the waves' time"
    )


def _memory_facts(instructions: Iterable[ExecutedInstruction]) -> Sequence[tuple[str, str]]:
    """Return what a workgroup does to LDS and to global memory."""
    all_of = [*instructions]

    def total(field: str) -> float:
        return float(sum(getattr(one, field) * one.executions for one in all_of))

    facts = []
    if lds := total("lds_cycles"):
        conflicts = total("conflict_cycles") / lds
        facts.append(
            ("LDS", f"{lds:,.0f} cycles of a workgroup, {percent(conflicts)} of them bank conflicts")
        )
    if lines := total("lines"):
        asked = sum(one.memory_bytes * one.executions for one in all_of if one.lines)
        missed = total("missed_lines")
        facts.append(
            (
                "global memory",
                f"{lines:,.0f} lines of a workgroup with {asked / lines:.0f} bytes asked of each; "
                f"{percent(missed / lines)} of them beyond the cache",
            )
        )
    return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShare:
    """A part of the waves' time."""

    #: id of a unit or of what waves wait for, and what it is called
    id: str
    name: str
    waiting: bool
    #: of all waves' time, and of that in the loop; ``None`` without a loop
    whole: float
    loop: float | None


def time_shares(profile: KernelProfile) -> list[TimeShare]:
    """Return what waves do: issue instructions to units, and wait; what nothing is spent on is left out."""
    whole, loop = _cycles(profile.instructions), _cycles(profile.loop)
    sums = [sum(found.values()) for found in (whole, loop)]
    names = [(False, profile.units), (True, profile.waits)]
    return [
        TimeShare(
            id=id_,
            name=name,
            waiting=waiting,
            whole=whole[waiting, id_] / sums[0],
            loop=loop.get((waiting, id_), 0.0) / sums[1] if sums[1] else None,
        )
        for waiting, called in names
        for id_, name in called.items()
        if whole.get((waiting, id_))
    ]


def _cycles(instructions: Iterable[ExecutedInstruction]) -> dict[tuple[bool, str], float]:
    """Return (waiting, id) -> cycles of the waves of a workgroup."""
    found: dict[tuple[bool, str], float] = {}
    for one in instructions:
        found[False, one.unit] = found.get((False, one.unit), 0.0) + one.issue_cycles * one.executions
        for cause, cycles in one.stall_cycles.items():
            found[True, cause] = found.get((True, cause), 0.0) + cycles * one.executions
    return found
