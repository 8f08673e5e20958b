"""Comparisons for people: as text and as Markdown for pull requests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from ckprof.compare.change import ENOUGH_VISITS, MOST_PASSES, Verdict
from ckprof.formatting import agreeing, change, counted, percent
from ckprof.model.outcome import Status
from ckprof.option import Limits, limits_text
from ckprof.report.document import Document, Heading
from ckprof.report.figures import checked_text, display_name, name_column, number_column, problem_column
from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof.report.table import Column, RowT, Table
from ckprof.report.text_width import shortened
from ckprof.report.unserved import compared_unserved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.compare.change import Change
    from ckprof.compare.compare import ComparedProblem, ComparedRow, Comparison, PartChange
    from ckprof.compare.side import ProblemKey
    from ckprof.report.unserved import Unserved


#: verdicts with a table of their own, the most urgent first
URGENCY: Final = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCLEAR)


def summary_lines(comparison: Comparison) -> list[str]:
    """Return counts, what all rows share, and what limits the verdicts."""
    lines = [f"{comparison.old_label} (old) against {comparison.new_label} (new)"]
    verdicts = comparison.verdicts
    judged = sum(verdicts.values())
    counts = ", ".join(f"{verdicts[verdict]} {verdict.value.upper()}" for verdict in (*URGENCY, Verdict.SAME))
    lines.append(f"{counted(judged, 'row')} with times on both sides: {counts}")
    lines += shift_lines(comparison)
    if comparison.geometric_mean:
        mean, low, high = map(change, comparison.geometric_mean)
        lines.append(
            f"best against best over {counted(len(comparison.problems), 'problem')}, geometric mean of the "
            f"times: {mean} ({low} to {high})"
        )
    for count, what in (
        *_untimed(comparison),
        (len(comparison.only_old), f"only in {comparison.old_label}"),
        (len(comparison.only_new), f"only in {comparison.new_label}"),
        (comparison.settled, "measured again, interleaved, in pairs of new processes"),
    ):
        if count:
            lines.append(f"{counted(count, 'row')} {what}")
    if comparison.superseded:
        older = counted(comparison.superseded, "older measurement")
        lines.append(f"{older} with another device, toolchain or method, not compared")
    lines += _checked_lines(comparison)
    lines += _condition_lines(comparison)
    for part in comparison.what_changed:
        if part.incomparable:
            lines.append(f"warning: {part.name} differs: times that were taken differently are compared")
    lines += _evidence_lines(comparison)
    return lines


def verdict_line(failures: Sequence[str], fail_on: Limits[Any]) -> str:
    """Say whether a comparison fails, by what, and what was asked for."""
    asked = ",".join(limits_text(fail_on)) or "none"
    return f"failed: {', '.join(failures)} (--fail-on {asked})" if failures else f"passed (--fail-on {asked})"


def _checked_lines(comparison: Comparison) -> Iterator[str]:
    """Say how many launches were checked on each side, where that is known."""
    rows = comparison.rows
    old, new = checked_text(row.old for row in rows), checked_text(row.new for row in rows)
    if old or new:
        yield f"verified: {old or 'not known'} (old), {new or 'not known'} (new)"


def _untimed(comparison: Comparison) -> Iterator[tuple[int, str]]:
    """Yield how many rows have no verified time on one side or both."""
    untimed = [row for row in comparison.rows if row.change is None]
    unsupported = [row for row in untimed if row.old.status is row.new.status is Status.UNSUPPORTED]
    neither = [row for row in untimed if not row.old.ranked and not row.new.ranked]
    yield len(unsupported), "unsupported on both sides"
    yield len(neither) - len(unsupported), "without a verified time on either side"
    yield len(untimed) - len(neither), "with a verified time on one side alone"


def shift_lines(comparison: Comparison) -> Iterator[str]:
    """Say what all rows share where machine and code cannot be distinguished; what lacks without canaries."""
    if comparison.shift is None:
        return
    if comparison.shifted:
        why = "clock or power limit differ" if comparison.canaries else "there are no canaries to compare"
        yield (
            f"SHIFTED: all rows changed by {change(comparison.shift.ratio)}, and {why}: this may be the "
            "machine or the code; rows are judged beyond it"
        )
    elif not comparison.canaries:
        yield (
            "no canaries to compare (the same target and device on both sides have them): a change that all "
            "rows share is not judged as a change of the code"
        )


def _condition_lines(comparison: Comparison) -> Iterator[str]:
    old, new = comparison.states
    parts = [
        f"{name} {before:.{digits}f} \N{RIGHTWARDS ARROW} {after:.{digits}f}{unit}"
        for name, before, after, digits, unit in (
            ("load", old.load, new.load, 1, ""),
            ("clock", old.clock_mhz, new.clock_mhz, 0, " MHz"),
            ("power limit", old.power_limit_w, new.power_limit_w, 0, " W"),
            ("temperature", old.temperature_c, new.temperature_c, 0, " °C"),
        )
        if before is not None and after is not None
    ]
    if parts:
        yield f"conditions (medians): {', '.join(parts)}"
    for side, state in (("old", old), ("new", new)):
        marks = [
            f"{percent(share, 0)} of its measurements are marked {mark.value}"
            for mark, share in state.contended.items()
        ]
        if marks:
            yield f"warning: {side} side: {', '.join(marks)}; they are used where there are no others"


def _evidence_lines(comparison: Comparison) -> Iterator[str]:
    """Say which rows cannot have a verdict, and what would settle unclear ones."""
    changes = [row.change for row in comparison.rows if row.change]
    few = sum(change.visits < ENOUGH_VISITS for change in changes)
    if few:
        yield (
            f"{counted(few, 'row')} {agreeing(few, 'was', 'were')} measured in one pass on a side, which "
            f"shows no scatter between passes: no verdict; measure {ENOUGH_VISITS} or more, with --passes"
        )
    judged = [row.change for row in comparison.with_verdict(Verdict.UNCLEAR) if row.change]
    if comparison.old_label == comparison.new_label:
        yield "both sides are the same measurements: name another file, or a tag of it (FILE@TAG)"
    elif judged:
        judged.sort(key=lambda one: one.passes_needed or MOST_PASSES + 1)
        yield f"{settling_text(judged[len(judged) // 2])} would resolve half of the UNCLEAR rows, or --settle"


def settling_text(judged: Change) -> str:
    """Say what would settle an unclear row."""
    needed = judged.passes_needed
    return f"{f'about {needed}' if needed else f'more than {MOST_PASSES}'} passes per side"


#: rows of a table; the rest is counted. JSON and CSV have all of them
MOST_ROWS: Final = 40
#: characters of a part that differs which are shown
_PART: Final = 60


def comparison_document(comparison: Comparison) -> Document:
    """Return counts, what changed and differs, and whether that fails the comparison."""
    document = changes_document(comparison)
    document.add(verdict_line(comparison.failures, comparison.policy.fail_on))
    return document


def changes_document(comparison: Comparison) -> Document:
    """Return counts, what changed besides the times, and what differs, the most urgent first."""
    document = Document([*summary_lines(comparison)])
    if comparison.what_changed:
        document.add(Heading("What changed besides the times"))
        document.add(_table(part_columns(), comparison.what_changed))
    if comparison.status_changes:
        document.add(Heading("Statuses that changed"))
        status_columns: list[Column[ComparedRow]] = [
            problem_column(lambda row: row.key.problem.problem),
            name_column("instance", lambda row: display_name(row.old)),
            Column("old", lambda row: row.old.status.value),
            Column("new", lambda row: row.new.status.value),
            Column("reason", lambda row: " ".join(row.new.reason.split())[:120], priority=1),
        ]
        document.add(_table(status_columns, comparison.status_changes))
    columns = [column for column in compared_columns() if column.name != "verdict"]
    if any(map(_points_elsewhere, comparison.rows)):
        document.add(_TWO_MEASURES)
    for verdict in URGENCY:
        rows = comparison.with_verdict(verdict)
        if rows:
            document.add(Heading(verdict.value.upper()), _table(columns, rows))
    changed = [problem for problem in comparison.problems if problem.changed]
    if changed:
        document.add(Heading("Problems whose best instance changed"))
        document.add(_table(best_change_columns(), changed))
    if unserved := compared_unserved(comparison):
        unserved_columns: list[Column[tuple[ProblemKey, Unserved | None, Unserved | None]]] = [
            problem_column(lambda row: row[0].problem),
            Column("old", lambda row: row[1].text if row[1] else ""),
            Column("new", lambda row: row[2].text if row[2] else ""),
        ]
        document.add(Heading("Problems that no kernel serves"), _table(unserved_columns, unserved))
    return document


#: said where a reader may ask how a kernel can be slower in less time
_TWO_MEASURES: Final = (
    "Where two times say the opposite of their row's verdict: a time is the median of its trials, the change "
    "is of the means of all undisturbed ones."
)


def _points_elsewhere(row: ComparedRow) -> bool:
    """Say whether the two times of a row say the opposite of its verdict."""
    if row.change is None:
        return False
    verdict = row.change.verdict
    judged = verdict in (Verdict.SLOWER, Verdict.FASTER)
    return judged and (row.new.time_ms < row.old.time_ms) == (verdict is Verdict.SLOWER)


def _table(columns: Sequence[Column[RowT]], rows: Sequence[RowT]) -> Table[RowT]:
    return Table(columns, rows, most_rows=MOST_ROWS, elsewhere="--format json and csv have all")


def part_columns() -> list[Column[PartChange]]:
    """Return the columns of what changed besides the times."""

    def old(part: PartChange) -> str:
        return "other machine code" if part.name == "kernel.object_digest" else shortened(part.old, _PART)

    return [
        Column("what", lambda part: part.name),
        Column("old", lambda part: part.old, text=old),
        Column("new", lambda part: part.new, text=lambda part: shortened(part.new, _PART)),
        Column("rows", lambda part: part.rows or None, align="right"),
    ]


def compared_columns(names: ShortNames = WHOLE_NAMES) -> list[Column[ComparedRow]]:
    """Return the columns of compared rows; without a change the verdict says how the status changed.

    :param names: what shortens names of kernels.
    """
    return [
        problem_column(lambda row: row.key.problem.problem),
        name_column("instance", lambda row: display_name(row.old), names),
        Column("verdict", _verdict, style=_verdict_style),
        number_column("old ms", lambda row: row.old.time_ms if row.change else None),
        number_column("new ms", lambda row: row.new.time_ms if row.change else None),
        number_column("change", lambda row: row.change.ratio if row.change else None, change),
        Column(
            "interval",
            lambda row: row.change.interval[0] if row.change and row.change.interval else None,
            align="right",
            text=_interval,
            priority=4,
        ),
        number_column("passes", lambda row: row.change.visits if row.change else None, priority=3),
        Column(
            "needed",
            lambda row: row.change and row.change.passes_needed,
            align="right",
            text=_needed,
            priority=2,
        ),
        Column("error [ulp]", lambda row: row.new.error_ulp, align="right", text=_errors, priority=5),
    ]


def _errors(row: ComparedRow) -> str:
    old, new = ("" if one is None else f"{one:.3g}" for one in (row.old.error_ulp, row.new.error_ulp))
    return new if old in ("", new) else f"{old} \N{RIGHTWARDS ARROW} {new or '?'}"


def _verdict(row: ComparedRow) -> str:
    if row.change is not None:
        return row.change.verdict.value
    return f"{row.old.status.value} \N{RIGHTWARDS ARROW} {row.new.status.value}"


def _verdict_style(row: ComparedRow) -> str:
    return f"verdict-{row.change.verdict.value}" if row.change else f"status-{row.new.status.value}"


def _interval(row: ComparedRow) -> str:
    interval = row.change.interval if row.change else None
    return " to ".join(change(math.exp(end)) for end in interval) if interval else ""


def _needed(row: ComparedRow) -> str:
    if row.change is None or row.change.verdict is not Verdict.UNCLEAR:
        return ""
    return str(row.change.passes_needed or f"over {MOST_PASSES}")


def best_change_columns(names: ShortNames = WHOLE_NAMES) -> list[Column[ComparedProblem]]:
    """Return the columns of problems whose best instance changed.

    :param names: what shortens names of kernels.
    """
    return [
        problem_column(lambda problem: problem.key.problem),
        name_column("old best", lambda problem: display_name(problem.old), names),
        name_column("new best", lambda problem: display_name(problem.new), names),
        number_column("best time", lambda problem: problem.ratio, change),
        Column(
            "old best now",
            value=lambda problem: problem.old_best_now,
            align="right",
            text=lambda problem: change(problem.old_best_now) if problem.old_best_now else "not measured",
        ),
    ]
