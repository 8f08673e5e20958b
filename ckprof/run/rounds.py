"""Kernels of one problem, measured in rounds instead of one after the other.

A machine that is busy for a while makes every kernel slow that is measured meanwhile. In rounds that concerns
few measurements of all kernels instead of all measurements of a few; and measurements that are much slower
than others of the same kernel do not count.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ckprof.model.outcome import CUT_OFF, LEFT_EARLY, MAX_TIME, SETTLED, TIMEOUT, Outcome, Status
from ckprof.model.standing import Standing
from ckprof.rounds.contest import Contest
from ckprof.rounds.options import RoundOptions
from ckprof.rounds.visit import Ending, Timing
from ckprof.run.events import KernelMeasured, RoundEnded, RoundsAbandoned, RoundStarted
from ckprof.run.executor import Repeat, timing_settings
from ckprof.run.messages import FEWEST_SAMPLES
from ckprof.run.samples import summarise, without_samples
from ckprof.run.stopping import CRITERIA, make_criterion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.model.instance import Instance
    from ckprof.model.outcome import Measurement, Verification
    from ckprof.rounds.visit import RoundReport, Visit
    from ckprof.run.events import RunEvent
    from ckprof.run.executor import Executor
    from ckprof.run.measure import Verified
    from ckprof.run.messages import TimingSettings
    from ckprof.run.options import RunOptions

#: rounds that are repeated at most on one problem: a run, unlike a sweep, shall be over soon
_MOST_REPEATS: Final = 2
#: a kernel leaves that is surely slower than the best by more than this share. Other work can make a kernel
#: twice as slow in the few rounds of a run: with the margin of a sweep, good kernels would leave.
_KEEP_WITHIN: Final = 1.0
#: a measurement that is slower than the fastest one of its kernel by this factor was disturbed
_DISTURBED: Final = 1.1


class RunCell(NamedTuple):
    """A kernel with a number of splits."""

    key: str
    split_k: int


class _Visited(NamedTuple):
    """What one visit gave."""

    round: int
    outcome: Outcome


def round_options(options: RunOptions) -> RoundOptions:
    """Return how rounds are decided on in a run."""
    usual = RoundOptions()
    return RoundOptions(
        min_rounds=min(usual.min_rounds, options.rounds),
        max_rounds=options.rounds,
        keep_within=_KEEP_WITHIN,
        max_repeats=_MOST_REPEATS,
        seed=options.seed,
    )


def share_of_round(options: RunOptions, rounds: RoundOptions) -> TimingSettings:
    """Return how a kernel is sampled in one round, so that all rounds give what the options ask for.

    Leaders reach the least numbers in the least number of rounds, and the most time in all of them.
    """
    least = rounds.min_rounds
    criterion = CRITERIA[options.criterion]
    share = replace(
        options,
        min_samples=math.ceil(options.min_samples / least),
        min_time_s=options.min_time_s / least,
        max_time_s=options.max_time_s / rounds.max_rounds,
        criterion_parameters=tuple(criterion.share(dict(options.criterion_parameters), least).items()),
        keep_samples=True,
    )
    return msgspec.structs.replace(timing_settings(share), fewest_samples=math.ceil(FEWEST_SAMPLES / least))


class GroupRounds:
    """Measures kernels that share operands.

    :param executor: with the problem set.
    :param instances: the kernels.
    :param splits: the numbers of splits that each is run with.
    :param place: position of the problem, and of the group among those of the problem.
    """

    def __init__(
        self,
        executor: Executor,
        instances: Sequence[Instance],
        splits: Sequence[int],
        place: tuple[int, int],
        options: RunOptions,
        on_event: Callable[[RunEvent], None],
    ) -> None:
        self._executor = executor
        self._instances = {instance.key: instance for instance in instances}
        self._problem_index, self._group = place
        self._options = options
        self._on_event = on_event
        self._rounds = rounds = round_options(options)
        self._first = share_of_round(options, rounds)
        #: the run before the samples, which is not timed, warms up as well
        self._later = share_of_round(replace(options, warmup=max(0, options.warmup - 1)), rounds)
        self._cells = [RunCell(instance.key, split) for split in splits for instance in instances]
        self._ended: list[RoundReport[RunCell]] = []
        self._contest = Contest(self._cells, rounds, self._ended.append)
        self._seen: dict[RunCell, list[_Visited]] = {cell: [] for cell in self._cells}
        self._verified: dict[RunCell, Verified] = {}
        #: cells whose outcome has reached the caller
        self._told: set[RunCell] = set()

    def run(self) -> Iterator[Outcome]:
        """Yield one outcome per cell: of kernels that fail at once, of the others at the end.

        What ends the generator before has :class:`~ckprof.run.events.RoundsAbandoned` told.
        """
        try:
            for visit in self._contest.visits():
                self._tell_rounds()
                if visit.order == 0:
                    self._on_event(RoundStarted(problem_index=self._problem_index, round=visit.round))
                outcome = self._measure(visit)
                timing = _timing(outcome)
                self._contest.record(visit, timing)
                self._tell_measured(visit, outcome)
                if timing is None:
                    yield from self._tell([visit.cell])
            self._tell_rounds()
            # Also of those that have left: what they are compared with has changed since.
            yield from self._tell(self._cells)
        except BaseException:
            left = [cell for cell in self._cells if cell not in self._told and self._seen[cell]]
            if left:
                outcomes = tuple(self._outcomes(left))
                self._on_event(RoundsAbandoned(problem_index=self._problem_index, outcomes=outcomes))
            raise

    def _tell_rounds(self) -> None:
        while self._ended:
            report = self._ended.pop(0)
            self._on_event(RoundEnded(problem_index=self._problem_index, report=report))

    def _measure(self, visit: Visit[RunCell]) -> Outcome:
        cell, seen = visit.cell, self._seen[visit.cell]
        instance = self._instances[cell.key]
        repeat = Repeat(timing=self._later if seen else self._first, verified=self._verified.get(cell))
        outcome = self._executor.measure(
            cell.key, self._problem_index, cell.split_k, instance.split_sum, repeat
        )
        seen.append(_Visited(visit.round, outcome))
        if self._executor.verified is not None:
            self._verified[cell] = self._executor.verified
        return outcome

    def _tell_measured(self, visit: Visit[RunCell], outcome: Outcome) -> None:
        self._on_event(
            KernelMeasured(
                outcome=outcome,
                round=visit.round,
                order=visit.order,
                reference=visit.reference,
                left=self._contest.remaining_visits,
                unknown=len(self._cells) - len(self._told),
            )
        )

    def _tell(self, cells: Sequence[RunCell]) -> Iterator[Outcome]:
        new = [cell for cell in cells if cell not in self._told]
        for cell, outcome in zip(new, self._outcomes(new), strict=True):
            yield outcome
            # not before: a caller that is interrupted may not have kept it
            self._told.add(cell)

    def _outcomes(self, cells: Sequence[RunCell]) -> list[Outcome]:
        """Return everything that is known of some cells."""
        counted = {cell: self._counted(cell) for cell in self._cells}
        pooled = {cell: self._pooled(cell, visits) for cell, visits in counted.items() if visits}
        best_ms = min((one.median_ms for one in pooled.values()), default=math.nan)
        tie = best_ms * (1 + self._rounds.tie) * (1 + _difference_of_rounds(counted.values()))
        outcomes = []
        for cell in cells:
            outcome, measured = self._seen[cell][-1].outcome, pooled.get(cell)
            if measured is not None:
                left_early = cell in self._contest.dropped
                standing = Standing(
                    group=self._group,
                    counted=len(counted[cell]),
                    taken=len(self._seen[cell]),
                    ratio=measured.median_ms / best_ms,
                    tied=measured.median_ms <= tie and not left_early,
                    left_early=left_early,
                )
                verification = _worst(one.outcome.verification for one in self._seen[cell])
                outcome = replace(outcome, measurement=measured, verification=verification, standing=standing)
            outcomes.append(outcome if self._options.keep_samples else without_samples(outcome))
        return outcomes

    def _counted(self, cell: RunCell) -> list[Measurement]:
        """Return the measurements that count; none if the kernel has failed."""
        visits = self._seen[cell]
        if not visits or visits[-1].outcome.measurement is None:
            return []
        timed = [(one.round, one.outcome.measurement) for one in visits]
        calm = [one for number, one in timed if one is not None and number not in self._contest.drifted]
        chosen = calm or [one for _, one in timed if one is not None]
        limit_ms = min(one.median_ms for one in chosen) * _DISTURBED
        return [one for one in chosen if one.median_ms <= limit_ms]

    def _pooled(self, cell: RunCell, visits: Sequence[Measurement]) -> Measurement:
        """Return the samples of several measurements as those of one."""
        samples = [sample for one in visits for sample in one.samples_ms]
        pooled = summarise(samples, self._stopped_by(cell, visits, samples), keep_samples=True)
        # near the limit, rounds may differ in it
        return replace(pooled, launches=max(one.launches for one in visits))

    def _stopped_by(self, cell: RunCell, visits: Sequence[Measurement], samples: Sequence[float]) -> str:
        if any(one.stopped_by == TIMEOUT for one in visits):
            return TIMEOUT
        if cell in self._contest.dropped:
            return LEFT_EARLY
        options = self._options
        if not any(one.stopped_by in CUT_OFF for one in visits):
            return options.criterion
        if len(samples) >= options.min_samples and math.fsum(samples) >= options.min_time_s * 1e3:
            criterion = make_criterion(options.criterion, dict(options.criterion_parameters))
            for sample in samples:
                criterion.add(sample)
            if criterion.is_finished():
                return options.criterion
        return SETTLED if self._contest.ending is Ending.SETTLED else MAX_TIME


def _timing(outcome: Outcome) -> Timing | None:
    """Return the time of a measurement; ``None`` if the kernel failed."""
    measured = outcome.measurement
    if outcome.status is not Status.OK or measured is None or measured.median_ms <= 0:
        return None
    return Timing(
        median_ms=measured.median_ms,
        min_ms=measured.min_ms,
        spread=measured.spread_ms / measured.median_ms,
    )


def _worst(verifications: Iterator[Verification | None]) -> Verification | None:
    """Return the one with the largest error."""
    return max((one for one in verifications if one is not None), key=lambda one: one.max_error, default=None)


def _difference_of_rounds(kernels: Iterable[Sequence[Measurement]]) -> float:
    """Return by which share the two fastest measurements of a kernel differ: the median over the kernels."""
    found = []
    for visits in kernels:
        if len(visits) > 1:
            first, second, *_ = sorted(one.median_ms for one in visits)
            found.append(second / first - 1)
    return median(found) if found else 0.0
