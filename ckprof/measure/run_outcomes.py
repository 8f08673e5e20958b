"""One outcome per kernel of a run, of all its samples: a sweep into memory.

What a time is of several samples says :mod:`ckprof.model.ranking`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ckprof.events import Level, Message, Progress
from ckprof.measure.baselines import paired_groups
from ckprof.measure.options import round_options, round_timing
from ckprof.measure.requests import UNPAIRED
from ckprof.measure.rounds import Ending, KernelConfiguration, Ranking, RoundRobin
from ckprof.measure.rounds_loop import KernelGroup, RoundsLoop, timing_of
from ckprof.measure.stopping import make_criterion
from ckprof.model.outcome import CUT_OFF, MAX_TIME, PRUNED, SETTLED, TIMEOUT, Outcome, RoundTime
from ckprof.model.ranking import summed_up

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from ckprof.events import Listener
    from ckprof.measure.bench import BenchLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import Unfused
    from ckprof.measure.rounds import VisitReport
    from ckprof.measure.rounds_loop import Bench, Sample
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.outcome import BaselineOutcome, Measurement, Verification
    from ckprof.model.problem_case import ProblemCase


#: weight of the latest measurement in the mean of what one takes
_WEIGHT: Final = 0.1


class RunPace:
    """Counts measurements and what they take.

    :param baselines: trials of baselines.
    :param clock: monotonic seconds.
    """

    def __init__(self, baselines: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._baselines = baselines
        self._baselines_done, self._baselines_s = 0, 0.0
        self._clock = clock
        self._before = clock()
        self._mean_s: float | None = None
        #: measurements so far
        self.done = 0

    def begin(self) -> None:
        """Note that a round begins: what was before is no measurement."""
        self._before = self._clock()

    def baseline_measured(self) -> None:
        """Note a trial of a baseline, whose launches may take far longer than those of kernels."""
        now = self._clock()
        self._baselines_s += now - self._before
        self._before = now
        self._baselines_done += 1

    def measured(self, left: int) -> float:
        """Note a measurement; return the seconds that the others take.

        :param left: measurements that may still follow.
        """
        now = self._clock()
        took_s, self._before = now - self._before, now
        self._mean_s = took_s if self._mean_s is None else (1 - _WEIGHT) * self._mean_s + _WEIGHT * took_s
        self.done += 1
        # before one was measured, baselines are taken for kernels
        baseline_s = self._baselines_s / self._baselines_done if self._baselines_done else self._mean_s
        baselines = max(0, self._baselines - self._baselines_done)
        return left * self._mean_s + baselines * baseline_s


class Recorder(Protocol):
    """Keeps what a run measures, before anybody else learns of it."""

    def add(self, sample: Sample) -> object:
        """Keep what a kernel gave in one round."""

    def add_lost(self, sample: Sample) -> object:
        """Keep that the device was lost beside a sample."""

    def end_visit(self, report: VisitReport[KernelConfiguration]) -> None:
        """Keep what a visit changed."""

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
        single = len(cells) == 1 and options.passes in (None, 1)
        once = members is decided or options.rounds == 1 or single
        groups.append(
            KernelGroup(
                problem=problem.problem,
                problem_index=index,
                kernels={kernel.key: kernel for kernel in members},
                ranking=RoundRobin(cells) if once else Ranking(cells, round_options(options)),
                timing=round_timing(options, once=once),
                runs=members is not decided,
            )
        )
    return groups


class RunRounds(RoundsLoop):
    """Measures groups of kernels, and yields one outcome per kernel and number of splits.

    :param bench: open.
    :param emit: called with what happens; an exception from it ends the run.
    :param after_visit: called when a visit of a group is over, with its rounds, while its operands are there.
    :param pace: says how long it still takes.
    :param should_stop: asked before each sample: whether it and those after it are skipped.
    """

    def __init__(
        self,
        bench: Bench,
        options: RunOptions,
        emit: Listener,
        after_visit: Callable[[KernelGroup, int], None] = lambda group, rounds: None,
        pace: RunPace | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(bench)
        self._should_stop = should_stop
        #: samples were skipped
        self.stopped = False
        self.options = options
        #: keeps each measurement
        self.recorder: Recorder | None = None
        self._after_visit = after_visit
        self._say = emit
        self._pace = pace or RunPace()
        #: what disturbed the times, one text of each kind
        self.warnings: list[str] = []
        #: what the cells of a group gave that have no outcome yet
        self._seen: dict[int, dict[KernelConfiguration, list[Sample]]] = {}
        #: what was measured of kernels without an outcome when :meth:`outcomes` was ended before its time
        self.abandoned: tuple[Outcome, ...] = ()

    def outcomes(self, groups: Iterable[KernelGroup]) -> Generator[Outcome, None, None]:
        """Yield outcomes: of kernels that fail at once, of the others when the last visit of a group is over.

        Those of kernels that run once come at once. Where the run is stopped, kernels have the outcome of
        what was measured until then.

        :raises CkprofError: kernels cannot be run any more.
        """
        groups = list(groups)
        self._seen = {index: {} for index in range(len(groups))}
        index_of = {id(group): index for index, group in enumerate(groups)}
        try:
            for group, samples in self.visits(groups):
                seen, rounds = self._seen[index_of[id(group)]], set()
                for sample in samples:
                    rounds.add(sample.planned.round)
                    yield from self._outcomes_with(sample, seen)
                if group.ranking.ending is not None:
                    # Also of those that were pruned: what they are compared with has changed since.
                    yield from self._emit(group, seen, [cell for cell in group.ranking.cells if cell in seen])
                if self.stopped:
                    break
                self._after_visit(group, len(rounds))
            for group, seen in zip(groups, self._seen.values(), strict=True):
                yield from self._emit(group, seen, list(seen))
        except BaseException:
            self.abandoned = tuple(
                self._summed_up(cell, group, samples)
                for group, seen in zip(groups, self._seen.values(), strict=True)
                for cell, samples in seen.items()
            )
            raise

    def _outcomes_with(
        self, sample: Sample, seen: dict[KernelConfiguration, list[Sample]]
    ) -> Iterator[Outcome]:
        """Keep a sample; yield the outcome of its kernel if it gets no other one."""
        group, cell = sample.group, sample.planned.cell
        if self.recorder is not None:
            self.recorder.add(sample)
        seen.setdefault(cell, []).append(sample)
        if group.runs:
            self._emit_measured(sample)
        if isinstance(group.ranking, RoundRobin):
            del seen[cell]
            yield self._with_samples(sample.outcome)
        elif timing_of(sample.outcome) is None:
            yield from self._emit(group, seen, [cell])

    def _emit(
        self,
        group: KernelGroup,
        seen: dict[KernelConfiguration, list[Sample]],
        cells: Iterable[KernelConfiguration],
    ) -> Iterator[Outcome]:
        for cell in cells:
            yield self._summed_up(cell, group, seen[cell])
            # not before: a caller that is interrupted may not have kept it
            del seen[cell]

    def _with_samples(self, outcome: Outcome) -> Outcome:
        return outcome if self.options.keep_samples else outcome.without_samples()

    def _summed_up(self, cell: KernelConfiguration, group: KernelGroup, samples: Sequence[Sample]) -> Outcome:
        """Return one outcome for all samples of a cell, with the times of the rounds that count."""
        ranking = group.ranking
        outcome = replace(samples[-1].outcome, conditions=None)
        if outcome.measurement is None:
            return outcome
        visits = [
            (
                RoundTime(
                    time_ms=measured.time_ms,
                    spread_ms=measured.spread_ms,
                    place=(str(group.number), sample.planned.round),
                    doubtful=sample.planned.round in ranking.disturbed,
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
            return PRUNED
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

    def _emit_measured(self, sample: Sample) -> None:
        name, pace = sample.kernel.shown, self._pace
        left = self.left(sample.group)
        eta_s = pace.measured(left)
        if sample.outcome.measurement is not None:
            time_ms = sample.outcome.measurement.time_ms
            text = f"round {sample.planned.round}: {time_ms:.4g} ms {name}"
            self._say(Message(text, Level.DETAIL))
        self._say(Progress(what="run", done=pace.done, total=pace.done + left, name=name, eta_s=eta_s))

    def _stops(self) -> bool:
        self.stopped = self._should_stop()
        return self.stopped

    def _round_begins(self) -> None:
        self._pace.begin()

    def _device_lost(self, sample: Sample) -> None:
        if self.recorder is not None:
            self.recorder.add_lost(sample)

    def _visit_over(self, group: KernelGroup, report: VisitReport[KernelConfiguration]) -> None:
        if self.recorder is not None:
            self.recorder.end_visit(report)

    def _warned(self, text: str) -> None:
        self.warnings.append(text)
        self._say(Message(text, Level.WARNING))


def run_groups(
    library: BenchLibrary,
    options: RunOptions,
    kernels: Sequence[SelectedKernel],
    problems: Iterable[ProblemCase],
    unfused: Unfused = UNPAIRED,
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
            groups = paired_groups(groups, beside, unfused.instances, options)
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
