"""The profile of a kernel as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.kernel_profile import SpanKind
from ckprof.report.document import Block, Document, Heading, Items
from ckprof.report.profile.content import PREDICTED
from ckprof.report.profile.tables import busy_table, instruction_columns, parts_table, shares_table
from ckprof.report.profile.timeline_chart import lanes
from ckprof.report.table import Table
from ckprof.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.kernel_profile import KernelProfile, Span
    from ckprof.report.profile.content import ProfileContent

#: characters of the timeline
_COLUMNS: Final = 84
#: what stands for the causes that waves wait for, in their order
_WAITS: Final = ".-~:=+"
#: instructions that are listed where there is no loop
_HOTTEST: Final = 40


def profile_document(content: ProfileContent) -> Document:
    """Return the profile as a document."""
    time, profile = content.time, content.profile
    listed = profile.loop or profile.hottest(_HOTTEST)
    title = "The loop" if profile.loop else "Where waves spend most of their time"
    return Document(
        [
            Heading(content.kernel, 2),
            f"{time.time_us:.2f} us, {PREDICTED}; {percent(time.roof_share)} of the roof; "
            f"bound by {time.limit}",
            Items(tuple(f"{name}: {text}" for name, text in content.facts)),
            parts_table(time),
            Heading("What waves do"),
            shares_table(profile),
            Heading("How much units work"),
            busy_table(time, profile),
            Heading("Timeline"),
            Block(tuple(timeline_lines(profile))),
            Heading(title),
            "Cycles of one execution, on average.",
            Table(
                instruction_columns(profile, listed),
                listed,
                elsewhere="--format json and --page FILE.html have every figure",
            ),
        ]
    )


def timeline_lines(profile: KernelProfile) -> list[str]:
    """Draw the timeline with a character for what most of some cycles are spent on; a legend below."""
    cycles = profile.timeline.cycles
    if not cycles:
        return []
    signs = _signs(profile)
    rows = lanes(profile)
    width = max(len(lane.name) for lane in rows) if rows else 0
    step = cycles / _COLUMNS
    lines = []
    for lane in rows:
        drawn = "".join(_sign(lane.spans, number * step, step, signs) for number in range(_COLUMNS))
        lines.append(f"{lane.name:>{width}} |{drawn}| {lane.note}")
    used = {sign for line in lines for sign in line.partition("|")[2].rpartition("|")[0]}
    names = {**{(False, id_): name for id_, name in profile.units.items()}}
    names |= {(True, id_): f"waits for {name}" for id_, name in profile.waits.items()}
    legend = ", ".join(f"{sign} {names[which]}" for which, sign in signs.items() if sign in used)
    return [*lines, "", f"{cycles:,.0f} cycles, {step:.1f} a character: {legend}"]


def _signs(profile: KernelProfile) -> Mapping[tuple[bool, str], str]:
    """Return (waiting, id) -> a sign: letters for units."""
    signs: dict[tuple[bool, str], str] = {}
    for id_, name in profile.units.items():
        free = (
            letter.upper() for letter in name if letter.isalpha() and letter.upper() not in signs.values()
        )
        signs[False, id_] = next(free, "?")
    return signs | {(True, id_): sign for id_, sign in zip(profile.waits, _WAITS, strict=False)}


def _sign(spans: Sequence[Span], begin: float, step: float, signs: Mapping[tuple[bool, str], str]) -> str:
    covered: dict[tuple[bool, str], float] = {}
    for span in spans:
        if span.kind is SpanKind.FLIGHT:
            continue
        overlap = min(span.end, begin + step) - max(span.begin, begin)
        if overlap > 0:
            which = (span.kind is SpanKind.WAIT, span.what)
            covered[which] = covered.get(which, 0.0) + overlap
    if not covered or sum(covered.values()) < step / 2:
        return " "
    return signs.get(max(covered, key=lambda which: covered[which]), "?")
