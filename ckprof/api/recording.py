"""A run whose outcomes go into a store as they come."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ckprof.api.library_run import Run
from ckprof.run.events import KernelMeasured, RoundEnded
from ckprof.run.options import AUTO_SPLITS
from ckprof.store.attempt import Attempt, Conditions, Mark
from ckprof.store.key import KernelKey, MeasurementKey
from ckprof.store.writer import StoreWriter
from ckprof.sweep.identity import built_kernels, new_session, shared_key

if TYPE_CHECKING:
    from collections.abc import Generator

    from ckprof.api.requests import StoreOptions
    from ckprof.api.session import Session
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.run.events import RunEvent
    from ckprof.store.query import SharedKey
    from ckprof.store.shard import ShardWriter
    from ckprof.sweep.plan import PlannedKernel


def recorded(
    session: Session, run: Run, options: StoreOptions, sink: StoreWriter | ShardWriter
) -> Generator[Outcome, None, None]:
    """Run a library; each measurement is stored before the next one begins.

    :param sink: where outcomes go; it stays open.
    :raises CkprofError: the store cannot be written, or as a run.
    """
    recorder = _Recorder(session, run, sink, options)
    run.first_told = recorder.note
    with closing(run.outcomes()) as outcomes:
        for outcome in outcomes:
            recorder.add(outcome)
            yield outcome
    recorder.finish()


#: position of the problem, instance, splits asked for
_Cell: TypeAlias = tuple[int, str, int]


class _Place(NamedTuple):
    """When an outcome was measured."""

    round: int
    order: int
    reference: bool


def _cell(outcome: Outcome) -> _Cell:
    return outcome.problem_index, outcome.key, AUTO_SPLITS if outcome.split_k_deduced else outcome.split_k


class _Recorder:
    """Makes attempts of outcomes.

    The rounds of a run follow those that the store has, and later sweeps may count them.

    :param run: the run, which learns the device's name from its first worker.
    """

    def __init__(
        self, session: Session, run: Run, sink: StoreWriter | ShardWriter, options: StoreOptions
    ) -> None:
        self._run = run
        self._sink = sink
        self._target = session.registry.targets.find(run.library.recipe.target)
        self._kernels: dict[str, PlannedKernel] = {one.instance: one for one in built_kernels(run.library)}
        self._record = new_session(run.options, run.options.seed, options.tags)
        self._pending: list[tuple[Outcome, float, _Place]] = []
        #: what was stored when it was measured
        self._measured: set[_Cell] = set()
        #: sequence numbers of this round's attempts, and of each cell's latest one
        self._of_round: list[int] = []
        self._latest: dict[_Cell, int] = {}
        self._rounds: dict[tuple[SharedKey, Problem], int] = {}
        self._sequence = 0
        self._shared: SharedKey | None = None

    def note(self, event: RunEvent) -> None:
        """Store what was measured, and mark what rounds tell of it."""
        if isinstance(event, KernelMeasured):
            self._measured.add(_cell(event.outcome))
            self._add(event.outcome, _Place(round=event.round, order=event.order, reference=event.reference))
        elif isinstance(event, RoundEnded):
            self._mark(event)

    def add(self, outcome: Outcome) -> None:
        """Store an outcome that was not measured."""
        if _cell(outcome) not in self._measured:
            self._add(outcome, _Place(round=1, order=self._sequence, reference=False))

    def _add(self, outcome: Outcome, place: _Place) -> None:
        """Store an outcome as soon as the device is known: what did not compile comes before."""
        self._pending.append((outcome, time.time(), place))
        if self._target.embedded or self._run.device:
            self.finish()

    def finish(self) -> None:
        """Store what is pending."""
        if self._shared is None:
            run = self._run
            self._shared = shared_key(
                run.library.direction.id, self._target, run.library.recipe, run.options, run.device
            )
        for outcome, known, place in self._pending:
            self._sink.append(self._attempt((outcome, known, place), self._shared))
            self._of_round.append(self._sequence)
            self._latest[_cell(outcome)] = self._sequence
            self._sequence += 1
        self._pending.clear()

    def _mark(self, event: RoundEnded) -> None:
        report, uid = event.report, self._record.uid
        cells = ((event.problem_index, *cell) for cell in report.dropped)
        marks = [(uid, self._latest[cell], Mark.DROPPED) for cell in cells if cell in self._latest]
        if report.drifted:
            marks += [(uid, sequence, Mark.DRIFT) for sequence in self._of_round]
        if marks:
            self._sink.add_marks(marks)
        self._of_round = []

    def _attempt(self, pending: tuple[Outcome, float, _Place], base: SharedKey) -> Attempt:
        outcome, known, place = pending
        kernel = self._kernels[outcome.key]
        problem = self._run.problems[outcome.problem_index].problem
        shared = replace(base, dtype=kernel.info.dtype, layout=kernel.info.layout)
        return Attempt(
            key=MeasurementKey(
                operation=shared.operation,
                problem=problem,
                split_k=AUTO_SPLITS if outcome.split_k_deduced else outcome.split_k,
                kernel=KernelKey(instance=kernel.instance, object_digest=kernel.object_digest or ""),
                device=shared.device,
                toolchain=shared.toolchain,
                method=shared.method,
            ),
            session=self._record,
            sequence=self._sequence,
            kernel=kernel.info,
            status=outcome.status,
            reason=outcome.reason,
            requirements=tuple(dict.fromkeys(one.rule for one in outcome.unmet_requirements)),
            split_chosen=outcome.split_k if outcome.split_k >= 1 else None,
            measurement=outcome.measurement,
            verification=outcome.verification,
            marks=(Mark.REFERENCE,) if place.reference else (),
            conditions=Conditions(
                started=known,
                round=self._rounds_before(shared, problem) + place.round,
                order=place.order,
            ),
        )

    def _rounds_before(self, shared: SharedKey, problem: Problem) -> int:
        """Return how many rounds the store has already."""
        place = (shared, problem)
        if place not in self._rounds:
            past = (
                self._sink.reader.past_visits(shared, problem) if isinstance(self._sink, StoreWriter) else []
            )
            self._rounds[place] = max((visit.round for visit in past), default=0)
        return self._rounds[place]
