"""Outcomes go into a store as they come: those of sweeps, and those of runs that have one."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.events import Message
from ckprof.measure.run import run_to_its_end
from ckprof.model.outcome import MAX_TIME, TIMEOUT, Conditions
from ckprof.model.ranking import is_noisy
from ckprof.store.attempt import DEVICE_LOST, PROCESS, Attempt, Mark
from ckprof.store.baselines import BaselineAttempt
from ckprof.store.key import KernelKey, MeasurementKey
from ckprof.store.shard import ShardWriter
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import canary_evidence, ceiling_evidence, device_ceilings, layer_evidence
from ckprof.sweep.identity import new_session, require_own_times, shared_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.bench import KernelBench
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest, StoreOptions
    from ckprof.measure.rounds import KernelConfiguration, VisitReport
    from ckprof.measure.rounds_loop import KernelGroup, Sample
    from ckprof.measure.run import Run
    from ckprof.model.outcome import BaselineOutcome
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.results import RunResults
    from ckprof.model.roofline import Ceiling
    from ckprof.session import Session as ProfilerSession
    from ckprof.store.attempt import Session
    from ckprof.store.query import SharedKey

#: fewer samples say nothing about groups
_FEWEST: Final = 10
#: each group has at least this share of the samples
_LEAST_SHARE: Final = 0.2
#: the groups are at least this share of the median apart, and this many times their own spread
_LEAST_GAP: Final = 0.03
_LEAST_SEPARATION: Final = 4.0


#: where attempts go: into a store, or a shard
Sink: TypeAlias = StoreWriter | ShardWriter


def is_shard_folder(path: Path | str) -> bool:
    """Say whether ``--store`` names a folder for shards: an existing one, or a name that ends in a slash."""
    return str(path).endswith("/") or Path(path).is_dir()


def open_sink(session: ProfilerSession, store: str | Path, *, wait: bool) -> Sink:
    """Open a store, or make a shard in a folder of shards.

    :param wait: wait while another process writes the store, instead of failing.
    """
    if is_shard_folder(store):
        return ShardWriter(Path(store))
    return StoreWriter(store, wait_s=None if wait else 0, on_wait=lambda text: session.emit(Message(text)))


class Recorder:
    """Adds one attempt per sample to a store, and marks what rounds say of them.

    :param session: evidence that all attempts share.
    :param shared: what their keys have in common, but for data type and layout.
    :param least_samples: an attempt whose time was over before it had so many is marked.
    """

    def __init__(self, sink: Sink, session: Session, shared: SharedKey, *, least_samples: int = 0) -> None:
        self._sink = sink
        self._session = session
        self._shared = shared
        self._least_samples = least_samples
        self._sequence = 0
        #: what identifies a worker process -> its number, in the order they came
        self._processes: dict[str, int] = {}
        self._group: KernelGroup | None = None
        #: sequence numbers of this visit's attempts, and of each cell's latest one
        self._of_visit: list[int] = []
        self._latest: dict[KernelConfiguration, int] = {}

    def add(self, sample: Sample) -> Attempt:
        """Store what a kernel gave in one round."""
        if sample.group is not self._group:
            self._group, self._of_visit, self._latest = sample.group, [], {}
        attempt = self._attempt(sample)
        self._sink.append(attempt)
        self._of_visit.append(attempt.sequence)
        self._latest[sample.planned.cell] = attempt.sequence
        self._sequence += 1
        return attempt

    def add_lost(self, sample: Sample) -> Attempt:
        """Store that the device was lost beside a sample: no outcome of the kernel, but it is counted."""
        seen = sample.outcome.conditions or Conditions(started=0.0)
        remembered = replace(seen, extra={**seen.extra, DEVICE_LOST: True})
        return self.add(replace(sample, outcome=replace(sample.outcome, conditions=remembered)))

    def end_visit(self, report: VisitReport[KernelConfiguration]) -> None:
        """Mark kernels that were pruned, and attempts of a disturbed visit."""
        uid = self._session.uid
        marks = [(uid, self._latest[cell], Mark.DROPPED) for cell in report.dropped if cell in self._latest]
        if report.disturbed:
            marks += [(uid, sequence, Mark.DISTURBED) for sequence in self._of_visit]
        if marks:
            self._sink.add_marks(marks)
        self._of_visit = []

    def _rounds_before(self, sample: Sample) -> int:
        """Return how many rounds the store had before the first one of a group."""
        del sample
        return 0

    def _attempt(self, sample: Sample) -> Attempt:
        outcome, kernel, shared = sample.outcome, sample.kernel, self._shared
        conditions = outcome.conditions or Conditions(started=0.0)
        process = self._processes.setdefault(sample.process, len(self._processes))
        return Attempt(
            key=MeasurementKey(
                operation=shared.operation,
                problem=sample.part.problem,
                split_k=sample.planned.cell.split_k,
                kernel=KernelKey(instance=kernel.key, object_digest=kernel.object_digest or ""),
                device=shared.device,
                toolchain=shared.toolchain,
                method=shared.method,
            ),
            session=self._session,
            sequence=self._sequence,
            kernel=kernel.ref,
            status=outcome.status,
            reason=outcome.reason,
            requirements=tuple(dict.fromkeys(requirement.rule for requirement in outcome.unmet_requirements)),
            split_chosen=outcome.split_k if outcome.split_k >= 1 else None,
            measurement=outcome.measurement,
            verification=outcome.verification,
            marks=tuple(self._marks(sample)),
            conditions=replace(
                conditions,
                round=self._rounds_before(sample) + conditions.round,
                extra={**conditions.extra, PROCESS: process},
            ),
        )

    def _marks(self, sample: Sample) -> Iterable[Mark]:
        seen, timing = sample.reading, sample.outcome.measurement
        if not sample.outcome.launched:
            yield Mark.NOT_LAUNCHED
        if timing is not None:
            if is_noisy(timing):
                yield Mark.NOISY
            if is_bimodal(timing.samples_ms):
                yield Mark.BIMODAL
            # that a round's time ends the sampling is usual
            few = timing.stopped_by == MAX_TIME and timing.samples < self._least_samples
            if few or timing.stopped_by == TIMEOUT:
                yield Mark.CUT_OFF
        if seen.load is not None and seen.cores is not None and seen.load > seen.cores + 1:
            yield Mark.BUSY_HOST
        if seen.low_clock:
            yield Mark.LOW_CLOCK
        if seen.other_processes:
            yield Mark.SHARED_DEVICE


def is_bimodal(samples: Sequence[float]) -> bool:
    """Say whether samples fall into two groups with a gap between them, as with a clock that has two states.

    The samples are split at their widest gap. Neither group may be small, and the spread of each must be
    small against the distance of the two.
    """
    if len(samples) < _FEWEST:
        return False
    ordered = sorted(samples)
    least = max(2, round(_LEAST_SHARE * len(ordered)))
    places = range(least, len(ordered) - least + 1)
    split = max(places, key=lambda index: ordered[index] - ordered[index - 1])
    low, high = ordered[:split], ordered[split:]
    distance = fmean(high) - fmean(low)
    if distance < _LEAST_GAP * median(ordered):
        return False
    return distance > _LEAST_SEPARATION * (pstdev(low) + pstdev(high)) / 2


def session_record(
    session: ProfilerSession,
    library: BuiltLibrary,
    options: RunOptions,
    bench: KernelBench,
    shared: SharedKey,
    seed: int,
    tags: tuple[str, ...],
    problems: Sequence[ProblemCase],
    *,
    measures: bool = True,
) -> Session:
    """Return the evidence that all attempts with a library share: what its device reaches, too.

    :param bench: open.
    :param measures: anything is measured with it; otherwise what the device reaches is of no use.
    """
    ceilings: tuple[Ceiling, ...] = ()
    if measures:
        target = session.registry.targets.find(library.recipe.target)
        dtypes = [kernel.dtype for kernel in library.kernels]
        ceilings = device_ceilings(target, library.recipe.arch, options.device, bench.measure_peak, dtypes)
    further = ceiling_evidence(shared.device, ceilings) | canary_evidence(shared.device, bench.canary)
    further |= layer_evidence(problems)
    return new_session(session.manager, options, seed, tags, bench.device, further)


class _RunRecorder(Recorder):
    """Stores what a run measures.

    The rounds of a run follow those that the store has, and later sweeps may count them.
    """

    def __init__(self, session: ProfilerSession, run: Run, options: StoreOptions, sink: Sink) -> None:
        library, how, bench = run.library, run.options, run.bench
        target = session.registry.targets.find(library.recipe.target)
        shared = shared_key(library.direction.id, target, library.recipe, how, bench.identity)
        record = session_record(session, library, how, bench, shared, how.seed, options.tags, run.problems)
        super().__init__(sink, record, shared)
        self._problems = run.problems
        self._baselines = 0
        self._rounds: dict[tuple[SharedKey, Problem], int] = {}
        self._counted: KernelGroup | None = None

    def add_baseline(self, measured: BaselineOutcome) -> None:
        """Store what became of a baseline."""
        outcome, shared = measured.outcome, self._shared
        timing, check = outcome.measurement, outcome.verification
        self._sink.add_baseline(
            BaselineAttempt(
                session=self._session,
                sequence=self._baselines,
                baseline=measured.baseline,
                description=measured.description,
                operation=shared.operation,
                problem=self._problems[outcome.problem_index].problem,
                device=shared.device,
                method=shared.method,
                dtype=measured.dtype.value,
                layout=measured.layout,
                status=outcome.status,
                reason=outcome.reason,
                time_ms=timing.time_ms if timing else None,
                spread_ms=timing.spread_ms if timing else None,
                max_error=check.max_error if check else None,
                wrong_elements=check.wrong_elements if check else None,
                started=outcome.conditions.started if outcome.conditions else time.time(),
            )
        )
        self._baselines += 1

    def _rounds_before(self, sample: Sample) -> int:
        sink, kernel, problem = self._sink, sample.kernel, sample.part.problem
        shared = replace(self._shared, dtype=kernel.dtype, layout=kernel.layout)
        if self._counted is not sample.group:
            # a problem that is given twice goes on where its first rounds ended
            self._counted = sample.group
            self._rounds.clear()
        if (shared, problem) not in self._rounds:
            past = sink.reader.past_visits(shared, problem) if isinstance(sink, StoreWriter) else []
            self._rounds[shared, problem] = max((visit.round for visit in past), default=0)
        return self._rounds[shared, problem]


def run_into_store(
    session: ProfilerSession, request: RunRequest, options: StoreOptions
) -> tuple[RunResults, BaseException | None]:
    """Build and run a selection as :func:`~ckprof.measure.run.run_to_its_end` does, and store each sample.

    :raises CkprofError: the store cannot be written, or as a run: nothing was run.
    """
    require_own_times(request.options)
    with ExitStack() as stack:
        # The store first: who cannot write it need not build for hours.
        sink = open_sink(session, options.store, wait=options.wait)
        stack.callback(sink.close)
        return run_to_its_end(session, request, lambda run: _RunRecorder(session, run, options, sink))
