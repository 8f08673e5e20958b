"""What the profile of a kernel says, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.formatting import counted, percent
from ckprof.report.figures import number_column
from ckprof.report.table import Column
from ckprof_plugins.pages.svg import tag
from ckprof_plugins.pages.tables import PageTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from ckprof.model.device import DeviceKernel
    from ckprof_plugins.emulator.kernel_profile import ExecutedInstruction, KernelProfile
    from ckprof_plugins.emulator.predicted_time import PredictedTime


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
        return [*self._facts()]

    def _facts(self) -> Iterator[tuple[str, str]]:
        time, profile, code = self.time, self.profile, self.function
        lanes = " x ".join(str(size) for size in profile.block if size != 1) or "1"
        rounds = -(-time.queue // time.resident) if time.resident else 0
        yield "problem", self.problem + (f", split_k {self.split_k}" if self.split_k != 1 else "")
        yield "device", f"{self.device} ({self.arch}), {self.compiler}"
        yield "launch", f"{counted(time.workgroups, 'workgroup')} of {lanes} work-items"
        yield (
            "occupancy",
            f"{time.resident} at once on a compute unit, limited by {profile.limited_by}; "
            f"{time.queue} on the busiest one, {counted(rounds, 'round')}",
        )
        yield "loop", _loop_text(profile)
        if code is not None:
            spills = code.vgpr_spills + code.sgpr_spills
            yield "registers", f"{code.vgprs} vector (of them {code.agprs} for sums), {code.sgprs} scalar"
            yield (
                "memory",
                f"{code.lds_bytes:,} bytes of LDS, {code.scratch_bytes} bytes of scratch for a lane",
            )
            yield "spills", str(spills) if spills else "none"

        def total(field: str) -> float:
            """Return what a workgroup does."""
            return float(sum(getattr(one, field) * one.executions for one in profile.instructions))

        if lds := total("lds_cycles"):
            conflicts = percent(total("conflict_cycles") / lds)
            yield "LDS", f"{lds:,.0f} cycles of a workgroup, {conflicts} of them bank conflicts"
        if lines := total("lines"):
            asked = sum(one.memory_bytes * one.executions for one in profile.instructions if one.lines)
            yield (
                "global memory",
                f"{lines:,.0f} lines of a workgroup with {asked / lines:.0f} bytes asked of each; "
                f"{percent(total('missed_lines') / lines)} of them beyond the cache",
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


#: pixels of the bar beside an instruction, and the cycles that fill it at least
_BAR = 120
_LEAST_CYCLES = 16.0


def parts_table(time: PredictedTime) -> PageTable[tuple[str, float]]:
    """Return the parts of the predicted time."""
    columns: list[Column[tuple[str, float]]] = [
        Column("part of the time", lambda row: row[0].replace("_", " ")),
        Column("us", lambda row: row[1], form=".2f", align="right"),
    ]
    return PageTable(columns, [(name, us) for name, us in time.parts.items() if us], id="parts-table")


def shares_table(profile: KernelProfile) -> PageTable[TimeShare]:
    """Return what waves spend their time on."""
    columns: list[Column[TimeShare]] = [
        Column("waves", lambda share: f"{'wait for' if share.waiting else 'issue to'} {share.name}"),
        number_column("of all time", lambda share: share.whole, percent),
        number_column("in the loop", lambda share: share.loop, percent),
    ]
    return PageTable(columns, time_shares(profile), id="shares-table")


def busy_table(time: PredictedTime, profile: KernelProfile) -> PageTable[tuple[str, float]]:
    """Return how much of the time units work."""
    columns: list[Column[tuple[str, float]]] = [
        Column("unit", lambda row: profile.units.get(row[0], row[0])),
        number_column("busy", lambda row: row[1], percent),
    ]
    return PageTable(columns, sorted(time.busy.items(), key=lambda row: -row[1]), id="busy-table")


def instruction_columns(
    profile: KernelProfile, instructions: Sequence[ExecutedInstruction]
) -> list[Column[ExecutedInstruction]]:
    """Return the columns of a list of instructions; those that would be empty are left out."""

    def cycles(value: float) -> str:
        return f"{value:.1f}".removesuffix(".0")

    def positive(field: str) -> Any:
        return lambda one: getattr(one, field) or None

    waits: list[Column[ExecutedInstruction]] = [
        number_column(f"for {name}", _wait(cause), cycles, priority=2)
        for cause, name in profile.waits.items()
        if any(one.stall_cycles.get(cause, 0) >= 0.05 for one in instructions)
    ]
    memory: list[Column[ExecutedInstruction]] = [
        number_column(name, positive(field), cycles, priority=1)
        for name, field in (
            ("LDS cycles", "lds_cycles"),
            ("bank conflicts", "conflict_cycles"),
            ("lines", "lines"),
            ("beyond the cache", "missed_lines"),
        )
        if any(getattr(one, field) for one in instructions)
    ]
    source: list[Column[ExecutedInstruction]] = [
        Column(
            "source",
            lambda one: one.source,
            text=lambda one: one.source.rpartition("/")[2],
            hint=lambda one: one.source,
            css_class="line",
            priority=1,
        )
    ]
    return [
        Column("address", lambda one: f"{one.address:#x}", css_class="line"),
        Column("instruction", lambda one: one.text, css_class="code"),
        number_column("waves' time", lambda one: one.share, percent),
        number_column("issue", lambda one: one.issue_cycles, cycles, priority=4),
        *waits,
        *memory,
        Column("unit", lambda one: profile.units.get(one.unit, one.unit), css_class="line", priority=3),
        Column("times", lambda one: one.executions, align="right", priority=3),
        *(source if any(one.source for one in instructions) else []),
    ]


def _wait(cause: str) -> Any:
    def waited(one: ExecutedInstruction) -> float | None:
        cycles = one.stall_cycles.get(cause, 0.0)
        return cycles if cycles >= 0.05 else None

    return waited


def instruction_table(
    profile: KernelProfile, instructions: Sequence[ExecutedInstruction], id_: str
) -> PageTable[ExecutedInstruction]:
    """Return instructions as they stand on the page, with a bar of their cycles."""
    most = max((one.cycles for one in instructions), default=0.0)
    classes = css_classes(profile)
    first, second, *rest = instruction_columns(profile, instructions)
    bar: Column[ExecutedInstruction] = Column(
        "cycles", lambda one: one.cycles, align="right", text=lambda one: _bar(one, classes, most)
    )
    return PageTable(
        [first, second, bar, *rest],
        instructions,
        id=id_,
        filter_hint="instruction, unit or source",
        css_class="scroll tall",
        row_id=lambda one: f"i{one.address:x}",
    )


def css_classes(profile: KernelProfile) -> Mapping[tuple[bool, str], str]:
    """Return (waiting, id) -> class of its colour."""
    return {
        **{(False, id_): f"u{number}" for number, id_ in enumerate(profile.units)},
        **{(True, id_): f"w{number}" for number, id_ in enumerate(profile.waits)},
    }


def _bar(one: ExecutedInstruction, classes: Mapping[tuple[bool, str], str], most: float) -> Markup:
    """Draw the cycles of an instruction: what it waits for, then its issue."""
    scale = _BAR / max(most, _LEAST_CYCLES)
    parts = [((True, cause), cycles) for cause, cycles in one.stall_cycles.items() if cycles]
    parts.append(((False, one.unit), one.issue_cycles))
    drawn, at = [], 0.0
    for which, cycles in parts:
        width = cycles * scale
        drawn.append(
            tag("rect", x=f"{at:.1f}", y=2, width=f"{width:.1f}", height=10, class_=classes.get(which, ""))
        )
        at += width
    said = tag("text", f"{one.cycles:.0f}", x=_BAR + 42, y=11, text_anchor="end", class_="figure")
    return tag(
        "svg",
        *drawn,
        said,
        viewBox=f"0 0 {_BAR + 44} 14",
        width=_BAR + 44,
        height=14,
        class_="spark",
    )
