"""What a sweep did, in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.problem import brief
from ckprof.wording import agreeing, counted, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.ranking import Standing
    from ckprof.sweep.sweep import Summary

#: rankings whose best is not decided that a summary names
_MOST_OPEN: Final = 5


def standing_lines(standings: Sequence[tuple[int, Standing]], problems: Sequence[ProblemCase]) -> list[str]:
    """Return how many bests are decided, and what it would take to decide the others."""
    from ckprof.report.figures import standing_text

    if not standings:
        return []
    unsure = [(index, standing) for index, standing in standings if not standing.decided]
    lines = [
        f"winner resolved: {len(standings) - len(unsure)} of {counted(len(standings), 'finished ranking')}"
    ]
    lines += [
        f"unresolved: {_name(problems[index])}: {standing_text(standing)}"
        for index, standing in unsure[:_MOST_OPEN]
    ]
    left = len(unsure) - _MOST_OPEN
    return [*lines, f"unresolved: {left} more, which ckprof report shows"] if left > 0 else lines


def _name(case: ProblemCase) -> str:
    """Return what readers call a problem: its layer, or its sizes."""
    return case.name or brief(case.problem)


def summary_lines(summary: Summary, problems: Sequence[ProblemCase], store: str) -> list[str]:
    """Return what a sweep did, for people.

    :param problems: of the sweep.
    """
    from ckprof.sweep.sweep import Stop

    ends = {
        Stop.DONE: "done",
        Stop.MAX_TIME: "the time is over; rerun the same command to resume",
        Stop.REQUESTED: "stopped; rerun the same command to resume",
    }
    statuses = ", ".join(f"{count} {status.value}" for status, count in summary.statuses.most_common())
    lines = [
        f"{ends[summary.stop]}: {summary.contests_done} of {counted(summary.contests, 'ranking')} "
        f"{agreeing(summary.contests_done, 'is', 'are')} finished",
        f"{counted(summary.attempts, 'attempt')} in {duration(summary.wall_s)}"
        + (f": {statuses}" if statuses else ""),
        f"{counted(summary.rounds, 'round')}, {summary.drifted_rounds} of them repeated for drift; "
        f"{counted(summary.dropped, 'kernel')} pruned",
        *standing_lines(summary.standings, problems),
        f"stored in {store}",
    ]
    if summary.turns:
        lines.insert(
            -1,
            f"round-robin over worker processes: {counted(summary.turns, 'switch', 'switches')}, "
            f"{summary.turning_s:.2g} s in all",
        )
    lines += [f"{counted(count, 'warning')} of {kind}" for kind, count in summary.warnings.items()]
    return lines
