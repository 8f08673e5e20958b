"""The loop of every measurement: kernels are visited in rounds, and each visit is an outcome.

Runs, sweeps, searches and comparisons differ in what they do with the outcomes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ckprof.measure.round_times import Timing, turn_of
from ckprof.measure.rounds import KernelConfiguration, Ranking, RoundReport, Visit
from ckprof.measure.worker.sampling import TimingSettings
from ckprof.measure.workers import DeviceLostError
from ckprof.model.device import Reading
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import CANARY_MS, Conditions, Outcome, Status
from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelGroup:
    """Kernels of one layout and the same types on one problem: they share operands, and compete."""

    problem: Problem
    #: position of the problem
    problem_index: int
    #: position among the groups of the problem
    number: int = 0
    #: by content key
    kernels: Mapping[str, SelectedKernel]
    ranking: Ranking[KernelConfiguration]
    #: how a kernel is sampled in its first visit, and in later ones; ``None``: as the bench does by itself
    timing: tuple[TimingSettings, TimingSettings] | None = None
    #: False where all outcomes are known without running anything
    runs: bool = True
    #: how many worker processes take how many rounds; ``None``: one measures all of them, unless it dies
    shares: tuple[int, int] | None = None
    #: kernels that are visited in the same rounds, on another problem: by the ranking's cells with a side
    beside: KernelGroup | None = None

    def part(self, cell: KernelConfiguration) -> KernelGroup:
        """Return the group that a cell is of: this one, or that beside it."""
        return self.beside if self.beside is not None and cell.side else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one visit gave."""

    group: KernelGroup
    visit: Visit[KernelConfiguration]
    #: with its conditions
    outcome: Outcome
    #: evidence about the machine, read at the beginning of the round
    reading: Reading
    #: identifies the worker process that has measured it
    process: str = ""

    @property
    def kernel(self) -> SelectedKernel:
        """The kernel that was visited."""
        return self.part.kernels[self.visit.cell.instance]

    @property
    def part(self) -> KernelGroup:
        """The group that the kernel is of, which may be the one beside the group."""
        return self.group.part(self.visit.cell)


class Bench(Protocol):
    """Where kernels are measured."""

    def open_group(self, group: KernelGroup) -> None:
        """Prepare operands and reference; called before the first visit of a group."""

    def measure(self, group: KernelGroup, visit: Visit[KernelConfiguration]) -> Outcome:
        """Measure one kernel once: verified, timed, and its last result compared again."""

    def observe(self) -> Reading:
        """Return evidence about the machine; called once per round."""

    def turn(self, number: int) -> bool:
        """Have what follows measured by a worker process; operands and reference of the group stay.

        :param number: of the process, which is started when it is its turn for the first time; the first one
            has number 0.
        :returns: whether it was another's turn before.
        """

    @property
    def process(self) -> str:
        """What identifies the worker process of the last measurement among all there ever were."""


class RoundsLoop:
    """Visits the kernels of one group after the other; subclasses say what becomes of what is seen.

    :param clock: monotonic seconds.
    """

    def __init__(self, bench: Bench, clock: Callable[[], float] = time.monotonic) -> None:
        self._bench, self._clock = bench, clock
        #: kind of a warning -> how often it was seen
        self._seen_warnings: Counter[str] = Counter()
        #: how often another worker process took over between rounds, and the seconds that this took
        self._turns, self._turning_s = 0, 0.0

    def _stops(self) -> bool:
        """Say before a visit whether no further one is to be made."""
        return False

    def _round_begins(self) -> None:
        """Take note that a round begins."""

    def _warned(self, text: str) -> None:
        """Pass on what is seen of the machine for the first time."""

    def _device_lost(self, sample: Sample) -> None:
        """Take note of the visit beside which the device was lost, before the error ends the loop."""

    def _round_over(self, group: KernelGroup, report: RoundReport[KernelConfiguration]) -> None:
        """Take note of what a round changed."""

    def visits(self, group: KernelGroup) -> Iterator[Sample]:
        """Yield what each visit gives, until the rounds are over or a stop is requested.

        :raises CkprofError: kernels cannot be run any more.
        """
        ranking = group.ranking
        ranking.on_round = partial(self._round_over, group)
        number, rounds, reading, opened = 0, 0, Reading(), False
        drifted_before = len(ranking.drifted)
        for visit in ranking.visits():
            if self._stops():
                return
            if not opened:
                self._bench.open_group(group)
                opened = True
            if group.runs and visit.round != number:
                number = visit.round
                if group.shares is not None:
                    # a round that drifted does not count: its process measures again
                    index = rounds + drifted_before - len(ranking.drifted)
                    turning = self._clock()
                    if self._bench.turn(turn_of(index, group.shares)):
                        self._turns += 1
                        self._turning_s += self._clock() - turning
                rounds += 1
                self._round_begins()
                reading = self._bench.observe()
                for text in reading.warnings():
                    self._warn(text, kind=text.split(" is ")[0])
            started = time.time(), self._clock()
            part = group.part(visit.cell)
            try:
                outcome = self._bench.measure(part, visit)
            except DeviceLostError as lost:
                self._device_lost(self._sample(group, visit, reading, lost.outcome, started))
                name = part.kernels[visit.cell.instance].name if part.kernels else visit.cell.instance
                text = f"{lost} (in use: {name} on {part.problem.describe()})"
                raise DeviceLostError(text, lost.outcome) from lost
            sample = self._sample(group, visit, reading, outcome, started)
            if outcome.one_set and outcome.verification is not None:
                self._warn(
                    f"{sample.kernel.name} on problem {part.problem_index} is checked with one set of "
                    f"operands only, not with exact ones as well: {outcome.one_set}",
                    kind="kernels checked with one set of operands",
                )
            ranking.record(visit, timing_of(outcome, sample.process))
            yield sample

    def _sample(
        self,
        group: KernelGroup,
        visit: Visit[KernelConfiguration],
        reading: Reading,
        outcome: Outcome,
        started: tuple[float, float],
    ) -> Sample:
        """Return an outcome with its conditions; it was started at a time of day, and by the loop's clock."""
        conditions = Conditions(
            started=started[0],
            round=visit.round,
            order=visit.order,
            wall_s=self._clock() - started[1],
            load=reading.load,
            clock_mhz=reading.clock_mhz,
            temperature_c=reading.temperature_c,
            extra={**reading.extra, **({CANARY_MS: reading.canaries} if reading.canaries else {})},
        )
        return Sample(
            group=group,
            visit=visit,
            outcome=replace(outcome, conditions=conditions),
            reading=reading,
            process=self._bench.process,
        )

    def _warn(self, text: str, *, kind: str) -> None:
        """Count a warning, and pass it on if it is the first of its kind."""
        if not self._seen_warnings[kind]:
            self._warned(text)
        self._seen_warnings[kind] += 1


def timing_of(outcome: Outcome, process: str = "") -> Timing | None:
    """Return the time of an outcome that may be ranked; ``None`` of any other.

    :param process: identifies the worker process that measured it.
    """
    measured, verified = outcome.measurement, outcome.verification
    wrong = verified is not None and not verified.passed
    if outcome.status is not Status.OK or wrong or measured is None or measured.time_ms <= 0:
        return None
    return Timing(
        time_ms=measured.time_ms,
        min_ms=measured.min_ms,
        spread=measured.spread_ms / measured.time_ms,
        process=process,
    )
