"""Says on standard error how a sweep goes on."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.api import events
from ckprof.report.duration import duration

if TYPE_CHECKING:
    from ckprof.cli.console import Console
    from ckprof.sweep.cluster.tally import ClusterProgress, ClusterSummary
    from ckprof.sweep.engine import Progress, Summary

#: seconds between two progress lines when standard error is no terminal
_LINE_INTERVAL_S: Final = 5.0

SWEEP_EVENTS: Final = (
    events.SweepPlanned,
    events.SweepProgress,
    events.EngineProgress,
    events.SweepRound,
    events.SweepWarning,
    events.SweepMessage,
)
SweepEvent: TypeAlias = (
    events.SweepPlanned
    | events.SweepProgress
    | events.EngineProgress
    | events.SweepRound
    | events.SweepWarning
    | events.SweepMessage
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
        elif isinstance(event, events.EngineProgress):
            self._show(engine_text(event.progress))
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
        if console.verbosity >= 0:
            self._show(progress_text(progress))

    def _show(self, text: str) -> None:
        """Show how far it is: always on a terminal, now and then elsewhere."""
        console = self._console
        if console.verbosity < 0:
            return
        if console.interactive:
            console.show_bar(text)
        elif time.monotonic() - self._last_line >= _LINE_INTERVAL_S:
            self._last_line = time.monotonic()
            console.info(text)

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


def engine_text(progress: ClusterProgress) -> str:
    """Return one line for all workers: done, cards, time, cost of an outcome, failures."""
    cards = f"{progress.cards} card{'s' if progress.cards != 1 else ''}"
    if progress.quarantined:
        cards += f", {progress.quarantined} quarantined"
    parts = [
        f"sweep: {progress.units_done}/{progress.units} rankings, {progress.attempts} outcomes",
        f"{progress.running} running on {cards}",
    ]
    if progress.eta_s is not None:
        parts.append(f"{duration(progress.eta_s)} left")
    if progress.device_s_per_attempt is not None:
        parts.append(f"{progress.device_s_per_attempt:.2g} s per outcome")
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    return "; ".join(parts)


def card_lines(summary: ClusterSummary) -> list[str]:
    """Return the cards beside each other, and what was lost on the way."""
    lines = []
    for card in summary.cards:
        parts = [f"card {card.id}: {card.units} rankings, {card.attempts} outcomes"]
        if card.reference_ms is not None:
            parts.append(f"reference kernel {card.reference_ms:.4g} ms")
        if card.quarantine:
            parts.append(f"quarantined: {card.quarantine}")
        lines.append("; ".join(parts))
    if summary.lost:
        lines.append(f"{summary.lost} tasks were handed out again because their workers were lost")
    lines += [f"given up: {reason}" for reason in summary.given_up.values()]
    return lines


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
