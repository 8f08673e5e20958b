"""One outcome per kernel of a run: of all visits that its rounds took, a sweep into memory.

What a time is of several visits says :mod:`ckprof.model.ranking`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ckprof.events import Level, Message, Progress
from ckprof.measure.baselines import groups_beside
from ckprof.measure.options import round_options, visit_timing
from ckprof.measure.requests import NOTHING_BESIDE
from ckprof.measure.rounds import Ending, InTurn, KernelConfiguration, Ranking
from ckprof.measure.rounds_loop import KernelGroup, RoundsLoop, timing_of
from ckprof.measure.stopping import make_criterion
from ckprof.model.outcome import CUT_OFF, LEFT_EARLY, MAX_TIME, SETTLED, TIMEOUT, Outcome, RoundTime
from ckprof.model.ranking import summed_up

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from ckprof.events import Listener
    from ckprof.measure.bench import BenchLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import Unfused
    from ckprof.measure.rounds import RoundReport
    from ckprof.measure.rounds_loop import Bench, Sample
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.outcome import BaselineOutcome, Measurement, Verification
    from ckprof.model.problem_case import ProblemCase


#: weight of the latest measurement in the mean of what one takes
_WEIGHT: Final = 0.1


class RunPace:
    """Counts measurements and what they take.

    :param cells: outcomes that the run has in the end: kernels x problems x splits.
    :param baselines: times that baselines are measured.
    :param clock: monotonic seconds.
    """

    def __init__(self, cells: int, baselines: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._cells = cells
        self._baselines = baselines
        self._baselines_done, self._baselines_s = 0, 0.0
        self._outcomes = 0
        self._clock = clock
        self._before = clock()
        self._mean_s: float | None = None
        #: measurements so far
        self.done = 0

    def begin(self) -> None:
        """Note that a round begins: what was before is no measurement."""
        self._before = self._clock()

    def outcome_known(self) -> None:
        """Note that nothing more is measured for one outcome."""
        self._outcomes += 1

    def baseline_measured(self) -> None:
        """Note a measurement of a baseline, whose launches may take far longer than those of kernels."""
        now = self._clock()
        self._baselines_s += now - self._before
        self._before = now
        self._baselines_done += 1

    def measured(self, left: int, unknown: int) -> tuple[int, float]:
        """Note a measurement.

        :param left: measurements that may still follow for the kernels that share its operands.
        :param unknown: how many of these have no outcome yet.
        :returns: measurements that are left at most, and the seconds that they take.
        """
        now = self._clock()
        took_s, self._before = now - self._before, now
        self._mean_s = took_s if self._mean_s is None else (1 - _WEIGHT) * self._mean_s + _WEIGHT * took_s
        self.done += 1
        # Those that come later take as many measurements each as those so far, these included.
        begun = self._outcomes + unknown
        later = max(0, self._cells - begun)
        left += round(later * (self.done + left) / begun) if begun else later
        # before one was measured, baselines are taken for kernels
        baseline_s = self._baselines_s / self._baselines_done if self._baselines_done else self._mean_s
        baselines = max(0, self._baselines - self._baselines_done)
        return left, left * self._mean_s + baselines * baseline_s


class Recorder(Protocol):
    """Keeps what a run measures, before anybody else learns of it."""

    def add(self, sample: Sample) -> object:
        """Keep what a visit gave."""

    def add_lost(self, sample: Sample) -> object:
        """Keep that the device was lost beside a visit."""

    def end_round(self, report: RoundReport[KernelConfiguration]) -> None:
        """Keep what a round changed."""

    def add_baseline(self, measured: BaselineOutcome) -> None:
        """Keep what became of a baseline."""


def kernel_groups(
    library: BenchLibrary,
    kernels: Sequence[SelectedKernel],
    problem: ProblemCase,
    options: RunOptions,
    index: int,
) -> list[KernelGroup]:
    """Return the kernels that a problem takes, those together that share operands.

    First come those whose outcomes are known already.

    :param kernels: in the order of the list.
    :param index: position of the problem.
    """
    decided: list[SelectedKernel] = []
    sharing: dict[object, list[SelectedKernel]] = {}
    for kernel in filter(problem.takes, kernels):
        if library.outcome_of(kernel, problem.problem) is not None:
            decided.append(kernel)
        else:
            sharing.setdefault((kernel.layout, kernel.types), []).append(kernel)
    groups = []
    for members in filter(None, (decided, *sharing.values())):
        splits = problem.splits or options.splits
        cells = [KernelConfiguration(kernel.key, split) for split in splits for kernel in members]
        single = len(cells) == 1 and options.sessions in (None, 1)
        in_turn = members is decided or options.rounds == 1 or single
        groups.append(
            KernelGroup(
                problem=problem.problem,
                problem_index=index,
                kernels={kernel.key: kernel for kernel in members},
                ranking=InTurn(cells) if in_turn else Ranking(cells, round_options(options)),
                timing=visit_timing(options, in_turn=in_turn),
                runs=members is not decided,
                shares=None if in_turn else round_options(options).shares,
            )
        )
    return groups


class RunRounds(RoundsLoop):
    """Measures groups of kernels, and yields one outcome per kernel and number of splits.

    :param bench: open.
    :param tell: called with what happens; an exception from it ends the run.
    :param after_group: called when the rounds of a group are over, while its operands are there.
    :param pace: says how long it still takes.
    """

    def __init__(
        self,
        bench: Bench,
        options: RunOptions,
        tell: Listener,
        after_group: Callable[[KernelGroup], None] = lambda group: None,
        pace: RunPace | None = None,
    ) -> None:
        super().__init__(bench)
        self.options = options
        #: keeps each measurement
        self.recorder: Recorder | None = None
        self._after_group = after_group
        self._say = tell
        self._pace = pace or RunPace(0)
        #: what disturbed the times, one text of each kind
        self.warnings: list[str] = []
        #: what the visits of the group's cells gave
        self._seen: dict[KernelConfiguration, list[Sample]] = {}
        #: cells whose outcome has reached the caller
        self._yielded: set[KernelConfiguration] = set()
        #: what was measured of kernels without an outcome when :meth:`outcomes` was ended before its time
        self.abandoned: tuple[Outcome, ...] = ()

    def outcomes(self, groups: Iterable[KernelGroup]) -> Generator[Outcome, None, None]:
        """Yield outcomes: of kernels that fail at once, of the others when the rounds of a group are over.

        Those of kernels that are run in turn come at once.

        :raises CkprofError: kernels cannot be run any more.
        """
        recorder = self.recorder
        for group in groups:
            self._yielded = set()
            self._seen = {cell: [] for cell in group.ranking.cells}
            in_turn = isinstance(group.ranking, InTurn)
            try:
                for sample in self.visits(group):
                    if recorder is not None:
                        recorder.add(sample)
                    self._seen[sample.visit.cell].append(sample)
                    if group.runs:
                        self._tell_measured(sample)
                    if in_turn:
                        self._yielded.add(sample.visit.cell)
                        yield self._with_samples(sample.outcome)
                        self._pace.outcome_known()
                    elif timing_of(sample.outcome) is None:
                        yield from self._tell([sample.visit.cell], group)
                # Also of those that have left: what they are compared with has changed since.
                yield from self._tell(group.ranking.cells, group)
            except BaseException:
                left = (cell for cell, seen in self._seen.items() if seen and cell not in self._yielded)
                self.abandoned = tuple(self._summed_up(cell, group) for cell in left)
                raise
            self._after_group(group)

    def _tell(self, cells: Iterable[KernelConfiguration], group: KernelGroup) -> Iterator[Outcome]:
        for cell in [cell for cell in cells if cell not in self._yielded]:
            yield self._summed_up(cell, group)
            # not before: a caller that is interrupted may not have kept it
            self._yielded.add(cell)
            self._pace.outcome_known()

    def _with_samples(self, outcome: Outcome) -> Outcome:
        return outcome if self.options.keep_samples else outcome.without_samples()

    def _summed_up(self, cell: KernelConfiguration, group: KernelGroup) -> Outcome:
        """Return one outcome for all visits of a cell, with the samples of the rounds that count."""
        samples, ranking = self._seen[cell], group.ranking
        outcome = replace(samples[-1].outcome, conditions=None)
        if outcome.measurement is None:
            return outcome
        visits = [
            (
                RoundTime(
                    time_ms=measured.time_ms,
                    spread_ms=measured.spread_ms,
                    place=(str(group.number), sample.visit.round),
                    doubtful=sample.visit.round in ranking.drifted,
                    process=sample.process,
                    pruned=cell in ranking.dropped,
                ),
                measured,
            )
            for sample in samples
            if (measured := sample.outcome.measurement) is not None
        ]
        verification = _worst(sample.outcome.verification for sample in samples)
        outcome = summed_up(outcome, visits, partial(self._stopped_by, cell, ranking))
        return self._with_samples(replace(outcome, verification=verification))

    def _stopped_by(
        self,
        cell: KernelConfiguration,
        ranking: Ranking[KernelConfiguration],
        visits: Sequence[Measurement],
        samples: Sequence[float],
    ) -> str:
        if any(visit.stopped_by == TIMEOUT for visit in visits):
            return TIMEOUT
        if cell in ranking.dropped:
            return LEFT_EARLY
        options = self.options
        if not any(visit.stopped_by in CUT_OFF for visit in visits):
            return options.criterion
        if len(samples) >= options.min_samples and math.fsum(samples) >= options.min_time_s * 1e3:
            criterion = make_criterion(options.criterion, dict(options.criterion_parameters))
            for sample in samples:
                criterion.add(sample)
            if criterion.is_finished():
                return options.criterion
        return SETTLED if ranking.ending is Ending.SETTLED else MAX_TIME

    def _tell_measured(self, sample: Sample) -> None:
        ranking, name, pace = sample.group.ranking, sample.kernel.name, self._pace
        unknown = len(ranking.cells) - len(self._yielded)
        left, eta_s = pace.measured(ranking.remaining_visits, unknown)
        if sample.outcome.measurement is not None:
            time_ms = sample.outcome.measurement.time_ms
            text = f"round {sample.visit.round}: {time_ms:.4g} ms {name}"
            self._say(Message(text, Level.DETAIL))
        self._say(Progress(what="run", done=pace.done, total=pace.done + left, name=name, eta_s=eta_s))

    def _round_begins(self) -> None:
        self._pace.begin()

    def _device_lost(self, sample: Sample) -> None:
        if self.recorder is not None:
            self.recorder.add_lost(sample)

    def _round_over(self, group: KernelGroup, report: RoundReport[KernelConfiguration]) -> None:
        if self.recorder is not None:
            self.recorder.end_round(report)

    def _warned(self, text: str) -> None:
        self.warnings.append(text)
        self._say(Message(text, Level.WARNING))


def run_groups(
    library: BenchLibrary,
    options: RunOptions,
    kernels: Sequence[SelectedKernel],
    problems: Iterable[ProblemCase],
    unfused: Unfused = NOTHING_BESIDE,
) -> Iterator[KernelGroup]:
    """Yield the kernels that each problem takes, in groups that share operands, one problem after the other.

    :param kernels: in the order of the list.
    :param unfused: what is measured in the same rounds.
    """
    for index, problem in enumerate(problems):
        if index - 1 in unfused.problems:
            continue  # it is measured with the one before
        groups = kernel_groups(library, kernels, problem, options, index)
        if index in unfused.problems:
            beside = kernel_groups(library, kernels, unfused.problems[index], options, index + 1)
            groups = groups_beside(groups, beside, unfused.instances, options)
        for number, group in enumerate(groups):
            yield replace(group, number=number)


def _worst(verifications: Iterator[Verification | None]) -> Verification | None:
    """Return the one with the largest error, with the launches of all."""
    known = [check for check in verifications if check is not None]
    if not known:
        return None
    return replace(
        max(known, key=lambda check: check.max_error),
        launches=sum(check.launches for check in known),
        checked=sum(check.checked for check in known),
    )
