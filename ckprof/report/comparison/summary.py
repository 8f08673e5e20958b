"""What a comparison found, in a few sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.compare.verdict import MOST_PROCESSES, ROUNDS_EACH, Verdict
from ckprof.model.outcome import Status
from ckprof.report.figures import checked_text
from ckprof.wording import agreeing, change, counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.compare.conditions import MachineState
    from ckprof.compare.model import Comparison
    from ckprof.compare.verdict import Judgement

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
    mean = comparison.geometric_mean
    if mean:
        lines.append(
            f"best against best over {counted(mean.problems, 'problem')}, geometric mean of the times: "
            f"{change(mean.ratio)} ({change(mean.low)} to {change(mean.high)})"
        )
    for count, what in (
        *_untimed(comparison),
        (len(comparison.only_old), f"only in {comparison.old_label}"),
        (len(comparison.only_new), f"only in {comparison.new_label}"),
        (comparison.settled, "measured again because unclear, in pairs of new processes, in the order ABBA"),
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


def verdict_line(comparison: Comparison) -> str:
    """Say whether the comparison fails, by what, and what was asked for."""
    asked = ",".join(reason.value for reason in comparison.policy.fail_on) or "none"
    failures = comparison.failures
    return f"failed: {', '.join(failures)} (--fail-on {asked})" if failures else f"passed (--fail-on {asked})"


def _checked_lines(comparison: Comparison) -> Iterator[str]:
    """Say how many launches were checked on each side, where that is known."""
    rows = comparison.rows
    old, new = checked_text(row.old for row in rows), checked_text(row.new for row in rows)
    if old or new:
        yield f"results that were checked: {old or 'not known'} (old), {new or 'not known'} (new)"


def _untimed(comparison: Comparison) -> Iterator[tuple[int, str]]:
    """Yield how many rows have no verified time on one side or both."""
    untimed = [row for row in comparison.rows if row.judgement is None]
    unsupported = [row for row in untimed if row.old.status is row.new.status is Status.UNSUPPORTED]
    neither = [row for row in untimed if not row.old.ranked and not row.new.ranked]
    yield len(unsupported), "unsupported on both sides"
    yield len(neither) - len(unsupported), "without a verified time on either side"
    yield len(untimed) - len(neither), "with a verified time on one side alone"


def shift_lines(comparison: Comparison) -> Iterator[str]:
    """Say what all rows share; nothing where there is no such shift."""
    shift = comparison.shift
    if shift is None or not shift.shared:
        return
    size = change(shift.ratio)
    if shift.removed:
        yield f"all rows share a change of {size}, as of clock or load: it is taken out of the verdicts"
    else:
        yield f"all rows share a change of {size}: more than --max-shift, so it counts in the verdicts"


def _condition_lines(comparison: Comparison) -> Iterator[str]:
    old, new = comparison.states
    parts = [
        f"{name} {before:.{digits}f} \N{RIGHTWARDS ARROW} {after:.{digits}f}{unit}"
        for name, before, after, digits, unit in (
            ("load", old.load, new.load, 1, ""),
            ("clock", old.clock_mhz, new.clock_mhz, 0, " MHz"),
            ("temperature", old.temperature_c, new.temperature_c, 0, " °C"),
        )
        if before is not None and after is not None
    ]
    if parts:
        yield f"conditions (medians): {', '.join(parts)}"
    for side, state in (("old", old), ("new", new)):
        if state.contended:
            yield f"warning: {side} side: {_contended_text(state)}; they count where there are no others"


def _contended_text(state: MachineState) -> str:
    return ", ".join(
        f"{percent(share, 0)} of its measurements are marked {mark.value}"
        for mark, share in state.contended.items()
    )


def _evidence_lines(comparison: Comparison) -> Iterator[str]:
    """Say what the verdicts of rows with one process a side rest on, and what would settle unclear ones."""
    changes = [row.judgement.change for row in comparison.rows if row.judgement]
    single = sum(change.processes == 1 for change in changes)
    if single and comparison.process_noise is not None:
        whence = "as the rows show" if comparison.shift is not None else "by --process-noise"
        yield (
            f"{counted(single, 'row')} {agreeing(single, 'has', 'have')} one process on a side: "
            "processes are taken to differ by "
            f"{percent(math.expm1(comparison.process_noise))}, {whence}; --sessions of sweep and "
            "run measures it"
        )
    unclear = [row.judgement for row in comparison.with_verdict(Verdict.UNCLEAR) if row.judgement]
    needed = sorted(judgement.processes_needed or MOST_PROCESSES + 1 for judgement in unclear)
    if needed:
        middle = needed[len(needed) // 2]
        text = f"over {MOST_PROCESSES}" if middle > MOST_PROCESSES else str(middle)
        yield (
            f"half of the unclear rows would be settled by {text} processes of "
            f"{counted(ROUNDS_EACH, 'round')} a side"
        )


def settling_text(judgement: Judgement) -> str:
    """Say what would settle an unclear row."""
    needed = judgement.processes_needed
    count = f"about {needed}" if needed else f"more than {MOST_PROCESSES}"
    return f"{count} processes of {counted(ROUNDS_EACH, 'round')} on each side"
