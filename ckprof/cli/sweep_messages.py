"""Reports on standard error how a sweep proceeds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.model.problem import brief
from ckprof.sweep.requests import (
    SweepPlanned,
    SweepProgress,
    SweepRound,
)
from ckprof.wording import agreeing, change, counted, duration, factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.cli.console import Console
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.ranking import Standing
    from ckprof.sweep.sweep import Summary

#: rankings whose best is not decided that a summary names
_MOST_OPEN: Final = 5

SWEEP_EVENTS: Final = (
    SweepPlanned,
    SweepProgress,
    SweepRound,
)
SweepEvent: TypeAlias = SweepPlanned | SweepProgress | SweepRound


class SweepMessages:
    """Prints the events of a sweep.

    :param console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: SweepEvent) -> None:
        """Print what is worth it."""
        console = self._console
        if isinstance(event, SweepProgress):
            self._progress(event)
        elif isinstance(event, SweepPlanned):
            from ckprof.sweep.plan import describe

            for line in describe(event.plan):
                console.info(line)
            console.begin(at_once=True)
        else:
            self._round(event)

    def _progress(self, progress: SweepProgress) -> None:
        console = self._console
        last = progress.last
        if last.status.is_failure:
            console.detail(f"{last.status.value}: {last.kernel.name} {last.reason}".rstrip())
        console.status(progress_text(progress), progress.best[0] if progress.best is not None else "")

    def _round(self, event: SweepRound) -> None:
        report, kernels = event.report, event.planned.kernels
        where = f"problem {event.planned.problem_index}, round {report.round}"
        if report.drifted and report.drift is not None:
            self._console.info(
                f"{where}: the reference kernel moved by {change(math.exp(report.drift))}; the "
                "round is repeated"
            )
        for cell, ratio in report.dropped.items():
            name = kernels[cell.instance].name
            self._console.detail(f"{where}: {name} leaves, {factor(ratio)} the time of the best")
        if report.ending is not None:
            best = kernels[report.best.instance].name if report.best is not None else "none"
            self._console.detail(f"{where}: {report.ending.value}, best: {best}")


def progress_text(progress: SweepProgress) -> str:
    """Return what stands before the name of the best so far: done, left, time, failures, its time."""
    parts = [
        f"sweep: {progress.contests_done}/{counted(progress.contests, 'ranking')}, "
        f"{counted(progress.attempts, 'attempt')}",
        f"at most {progress.left} left"
        + (f", {duration(progress.eta_s)}" if progress.eta_s is not None else ""),
    ]
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    if progress.best is not None:
        parts.append(f"best {progress.best[1]:.4g} ms")
    return "; ".join(parts)


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
