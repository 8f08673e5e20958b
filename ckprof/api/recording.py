"""A run whose outcomes go into a store as they come."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.api.library_run import Run
from ckprof.run.options import AUTO_SPLITS
from ckprof.store.attempt import Attempt, Conditions
from ckprof.store.key import KernelKey, MeasurementKey
from ckprof.store.writer import StoreWriter
from ckprof.sweep.identity import built_kernels, new_session, shared_key

if TYPE_CHECKING:
    from collections.abc import Generator

    from ckprof.api.requests import StoreOptions
    from ckprof.api.session import Session
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import ConvProblem
    from ckprof.store.query import SharedKey
    from ckprof.store.shard import ShardWriter
    from ckprof.sweep.plan import PlannedKernel


def recorded(
    session: Session, run: Run, options: StoreOptions, sink: StoreWriter | ShardWriter
) -> Generator[Outcome, None, None]:
    """Run a library and yield each outcome when it is stored, before the next kernel is run.

    :param sink: where outcomes go; it stays open.
    :raises CkprofError: the store cannot be written, or as a run.
    """
    keeps = run.options.keep_samples
    options_with_samples = replace(run.options, keep_samples=True)
    full = Run(session, run.library, run.problems, options_with_samples, run.baselines)
    recorder = _Recorder(session, full, sink, options)
    with closing(full.outcomes()) as outcomes:
        for outcome in outcomes:
            recorder.add(outcome)
            run.device = full.device
            yield outcome if keeps else _without_samples(outcome)
    recorder.finish()


def _without_samples(outcome: Outcome) -> Outcome:
    if outcome.measurement is None:
        return outcome
    return replace(outcome, measurement=replace(outcome.measurement, samples_ms=()))


class _Recorder:
    """Makes attempts of outcomes.

    What a run measures is one round of its own: it is not repeated, and later sweeps may count it.

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
        self._pending: list[tuple[Outcome, float]] = []
        self._rounds: dict[tuple[SharedKey, ConvProblem], int] = {}
        self._sequence = 0
        self._shared: SharedKey | None = None

    def add(self, outcome: Outcome) -> None:
        """Store an outcome as soon as the device is known: what did not compile comes before."""
        self._pending.append((outcome, time.time()))
        if self._target.embedded or self._run.device:
            self.finish()

    def finish(self) -> None:
        """Store what is pending."""
        if self._shared is None:
            run = self._run
            self._shared = shared_key(
                run.library.direction.id, self._target, run.library.recipe, run.options, run.device
            )
        for outcome, known in self._pending:
            self._sink.append(self._attempt(outcome, known, self._shared))
            self._sequence += 1
        self._pending.clear()

    def _attempt(self, outcome: Outcome, known: float, base: SharedKey) -> Attempt:
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
            conditions=Conditions(started=known, round=self._round(shared, problem), order=self._sequence),
        )

    def _round(self, shared: SharedKey, problem: ConvProblem) -> int:
        """Return the number of the round that this run is, behind those that the store has."""
        place = (shared, problem)
        if place not in self._rounds:
            past = (
                self._sink.reader.past_visits(shared, problem) if isinstance(self._sink, StoreWriter) else []
            )
            self._rounds[place] = 1 + max((visit.round for visit in past), default=0)
        return self._rounds[place]
