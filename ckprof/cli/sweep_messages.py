"""Says on standard error how a sweep goes on."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.api import events
from ckprof.report.duration import duration

if TYPE_CHECKING:
    from ckprof.cli.console import Console
    from ckprof.sweep.engine import Progress, Summary

#: seconds between two progress lines when standard error is no terminal
_LINE_INTERVAL_S: Final = 5.0

SWEEP_EVENTS: Final = (
    events.SweepPlanned,
    events.SweepProgress,
    events.SweepRound,
    events.SweepWarning,
    events.SweepMessage,
)
SweepEvent: TypeAlias = (
    events.SweepPlanned | events.SweepProgress | events.SweepRound | events.SweepWarning | events.SweepMessage
)


class SweepMessages:
    """Prints the events of a sweep.

    :param console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_line = -math.inf

    def __call__(self, event: SweepEvent) -> None:
        """Print what is worth it."""
        console = self._console
        if isinstance(event, events.SweepProgress):
            self._progress(event.progress)
        elif isinstance(event, events.SweepPlanned):
            from ckprof.sweep.plan import describe

            for line in describe(event.plan):
                console.info(line)
        elif isinstance(event, events.SweepRound):
            self._round(event)
        elif isinstance(event, events.SweepWarning):
            console.warning(event.text)
        else:
            console.info(event.text)

    def _progress(self, progress: Progress) -> None:
        console = self._console
        last = progress.last
        if last is not None and last.status.is_failure:
            console.detail(f"{last.status.value}: {last.kernel.name} {last.reason}".rstrip())
        if console.verbosity < 0:
            return
        if console.interactive:
            console.show_bar(progress_text(progress))
        elif time.monotonic() - self._last_line >= _LINE_INTERVAL_S:
            self._last_line = time.monotonic()
            console.info(progress_text(progress))

    def _round(self, event: events.SweepRound) -> None:
        report, kernels = event.report, event.planned.kernels
        where = f"problem {event.planned.problem_index}, round {report.round}"
        if report.drifted and report.drift is not None:
            percent = 100 * math.expm1(report.drift)
            self._console.info(
                f"{where}: the reference kernel moved by {percent:+.1f} %; the round is repeated"
            )
        for cell, ratio in report.dropped.items():
            name = kernels[cell.instance].info.name
            self._console.detail(f"{where}: {name} leaves, {ratio:.2f} times as slow as the best")
        if report.ending is not None:
            best = kernels[report.best.instance].info.name if report.best is not None else "none"
            self._console.detail(f"{where}: {report.ending.value}, best: {best}")


def progress_text(progress: Progress) -> str:
    """Return one line: done, left, time, best so far, failures."""
    parts = [
        f"sweep: {progress.contests_done}/{progress.contests} rankings, {progress.attempts} attempts",
        f"at most {progress.left} left"
        + (f", {duration(progress.eta_s)}" if progress.eta_s is not None else ""),
    ]
    if progress.best is not None:
        parts.append(f"best {progress.best[1]:.4g} ms {progress.best[0]}")
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    return "; ".join(parts)


def summary_lines(summary: Summary, store: str) -> list[str]:
    """Return what a sweep did, for people."""
    from ckprof.sweep.engine import Stop

    ends = {
        Stop.DONE: "done",
        Stop.MAX_TIME: "the time is over; the same command goes on",
        Stop.REQUESTED: "stopped; the same command goes on",
    }
    statuses = ", ".join(f"{count} {status.value}" for status, count in summary.statuses.most_common())
    lines = [
        f"{ends[summary.stop]}: {summary.contests_done} of {summary.contests} rankings are finished",
        f"{summary.attempts} attempts in {duration(summary.wall_s)}" + (f": {statuses}" if statuses else ""),
        f"{summary.rounds} rounds, {summary.drifted_rounds} of them repeated for drift; "
        f"{summary.dropped} kernels left early",
        f"stored in {store}",
    ]
    lines += [f"warned of: {kind} ({count} times)" for kind, count in summary.warnings.items()]
    return lines
