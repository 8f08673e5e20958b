"""The tables of a kernel's profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.report.figures import number_column
from ckprof.report.profile.content import TimeShare, time_shares
from ckprof.report.store.svg import tag
from ckprof.report.store.tables import PageTable
from ckprof.report.table import Column, Table
from ckprof.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from ckprof.model.kernel_profile import ExecutedInstruction, KernelProfile
    from ckprof.model.prediction import PredictedTime

#: pixels of the bar beside an instruction, and the cycles that fill it at least
_BAR = 120
_LEAST_CYCLES = 16.0


def parts_table(time: PredictedTime) -> Table[tuple[str, float]]:
    """Return the parts of the predicted time."""
    columns: list[Column[tuple[str, float]]] = [
        Column("part of the time", lambda row: row[0].replace("_", " ")),
        Column("us", lambda row: row[1], form=".2f", align="right"),
    ]
    return Table(columns, [(name, us) for name, us in time.parts.items() if us])


def shares_table(profile: KernelProfile) -> Table[TimeShare]:
    """Return what waves spend their time on."""
    columns: list[Column[TimeShare]] = [
        Column("waves", lambda share: f"{'wait for' if share.waiting else 'issue to'} {share.name}"),
        number_column("of all time", lambda share: share.whole, percent),
        number_column("in the loop", lambda share: share.loop, percent),
    ]
    return Table(columns, time_shares(profile))


def busy_table(time: PredictedTime, profile: KernelProfile) -> Table[tuple[str, float]]:
    """Return how much of the time units work."""
    columns: list[Column[tuple[str, float]]] = [
        Column("unit", lambda row: profile.units.get(row[0], row[0])),
        number_column("busy", lambda row: row[1], percent),
    ]
    return Table(columns, sorted(time.busy.items(), key=lambda row: -row[1]))


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
