"""The loop of every measurement: one pass after the other over all problems, each by a fresh worker process.

Runs, sweeps, searches and comparisons differ in what they do with the outcomes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ckprof.measure.canary_times import CanaryTimes
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import KernelConfiguration, PlannedSample, Ranking, VisitReport
from ckprof.measure.worker.sampling import TimingSettings
from ckprof.measure.workers import DeviceLostError
from ckprof.model.device import Reading
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import CANARY_MS, SECOND, Conditions, Outcome, Status
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
    #: how a kernel is sampled in its first round, and in later ones; ``None``: as the bench does by itself
    timing: tuple[TimingSettings, TimingSettings] | None = None
    #: False where all outcomes are known without running anything
    runs: bool = True
    #: kernels that are measured in the same rounds, on another problem: by the ranking's cells with a side
    beside: KernelGroup | None = None

    def part(self, cell: KernelConfiguration) -> KernelGroup:
        """Return the group that a cell is of: this one, or that beside it."""
        return self.beside if self.beside is not None and cell.side else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one kernel gave in one round."""

    group: KernelGroup
    planned: PlannedSample[KernelConfiguration]
    #: with its conditions
    outcome: Outcome
    #: evidence about the machine, read at the beginning of the round
    reading: Reading
    #: identifies the worker process that has measured it, and so the pass
    process: str = ""

    @property
    def kernel(self) -> SelectedKernel:
        """The kernel that was measured."""
        return self.part.kernels[self.planned.cell.instance]

    @property
    def part(self) -> KernelGroup:
        """The group that the kernel is of, which may be the one beside the group."""
        return self.group.part(self.planned.cell)


class Bench(Protocol):
    """Where kernels are measured."""

    def open_group(self, group: KernelGroup) -> None:
        """Prepare operands and reference; called at the beginning of each visit."""

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure one kernel once: verified, timed, and its last result compared again."""

    def observe(self) -> Reading:
        """Return evidence about the machine; called once per round."""

    def new_process(self) -> None:
        """Have what follows measured by a new worker process; called between passes."""

    @property
    def process(self) -> str:
        """What identifies the pass of the last measurement among all there ever were."""


class RoundsLoop:
    """Visits one group after the other in each pass; subclasses say what becomes of what is seen.

    :param clock: monotonic seconds.
    """

    def __init__(self, bench: Bench, clock: Callable[[], float] = time.monotonic) -> None:
        self._bench, self._clock = bench, clock
        #: kind of a warning -> how often it was seen
        self._seen_warnings: Counter[str] = Counter()
        #: passes that were begun
        self._passes = 0
        self._canaries = CanaryTimes()
        #: samples that groups which are not visited now still take at most
        self._left_elsewhere = 0

    def _stops(self) -> bool:
        """Say before a sample whether no further one is to be taken."""
        return False

    def _round_begins(self) -> None:
        """Take note that a round begins."""

    def _warned(self, text: str) -> None:
        """Pass on what is seen of the machine for the first time."""

    def _device_lost(self, sample: Sample) -> None:
        """Take note of the sample beside which the device was lost, before the error ends the loop."""

    def _visit_over(self, group: KernelGroup, report: VisitReport[KernelConfiguration]) -> None:
        """Take note of what a visit changed."""

    def visits(self, groups: Iterable[KernelGroup]) -> Iterator[tuple[KernelGroup, Iterator[Sample]]]:
        """Yield each visit and its samples, pass after pass, until all rankings have ended.

        The samples of a visit are to be taken before the next one; they end early where a stop is requested.

        :raises CkprofError: kernels cannot be run any more.
        """
        left = [group for group in groups if group.ranking.ending is None]
        self._left_elsewhere = sum(group.ranking.remaining_samples for group in left)
        while left:
            if self._passes:
                self._bench.new_process()
            self._passes += 1
            for group in _visited(left):
                self._left_elsewhere -= group.ranking.remaining_samples
                yield group, self._samples(group)
                self._left_elsewhere += group.ranking.remaining_samples
            left = [group for group in left if group.ranking.ending is None]

    def left(self, group: KernelGroup) -> int:
        """Return how many samples follow at most.

        :param group: that is visited now.
        """
        return self._left_elsewhere + group.ranking.remaining_samples

    def _samples(self, group: KernelGroup) -> Iterator[Sample]:
        """Yield the samples of one visit."""
        ranking = group.ranking
        ranking.on_visit = partial(self._visit_over, group)
        number, reading, opened = 0, Reading(), False
        canaries: list[Mapping[str, float]] = []
        ranking.is_disturbed = partial(self._canaries.is_disturbed, canaries)
        for planned in ranking.visit():
            if self._stops():
                return
            if not opened:
                self._bench.open_group(group)
                opened = True
            if group.runs and planned.round != number:
                number = planned.round
                self._round_begins()
                reading = self._bench.observe()
                canaries.append(reading.canaries)
                for text in reading.warnings():
                    self._warn(text, kind=text.split(" is ")[0])
            started = time.time(), self._clock()
            part = group.part(planned.cell)
            try:
                outcome = self._bench.measure(part, planned)
            except DeviceLostError as lost:
                # it may have been another one, when the group was opened
                planned = replace(planned, cell=planned.cell._replace(instance=lost.outcome.key))
                self._device_lost(self._sample(group, planned, reading, lost.outcome, started))
                name = part.kernels[planned.cell.instance].name if part.kernels else planned.cell.instance
                text = f"{lost} (in use: {name} on {part.problem.describe()})"
                raise DeviceLostError(text, lost.outcome) from lost
            sample = self._sample(group, planned, reading, outcome, started)
            if outcome.one_set and outcome.verification is not None:
                self._warn(
                    f"{sample.kernel.name} on problem {part.problem_index} is checked with one set of "
                    f"operands only, not with exact ones as well: {outcome.one_set}",
                    kind="kernels checked with one set of operands",
                )
            ranking.record(planned, timing_of(outcome, sample.process))
            yield sample

    def _sample(
        self,
        group: KernelGroup,
        planned: PlannedSample[KernelConfiguration],
        reading: Reading,
        outcome: Outcome,
        started: tuple[float, float],
    ) -> Sample:
        """Return an outcome with its conditions; it was started at a time of day, and by the loop's clock."""
        further = {CANARY_MS: reading.canaries, SECOND: outcome.second}
        conditions = Conditions(
            started=started[0],
            round=planned.round,
            order=planned.order,
            wall_s=self._clock() - started[1],
            load=reading.load,
            clock_mhz=reading.clock_mhz,
            temperature_c=reading.temperature_c,
            extra={**reading.extra, **{name: value for name, value in further.items() if value}},
        )
        return Sample(
            group=group,
            planned=planned,
            outcome=replace(outcome, conditions=conditions),
            reading=reading,
            process=self._bench.process,
        )

    def _warn(self, text: str, *, kind: str) -> None:
        """Count a warning, and pass it on if it is the first of its kind."""
        if not self._seen_warnings[kind]:
            self._warned(text)
        self._seen_warnings[kind] += 1


def _visited(groups: Sequence[KernelGroup]) -> Iterator[KernelGroup]:
    """Yield what one pass visits: at its end once more what was disturbed."""
    yield from groups
    yield from [group for group in groups if group.ranking.repeats]


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
        spread=measured.spread_ms / measured.time_ms,
        process=process,
    )
