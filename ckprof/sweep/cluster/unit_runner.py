"""What a worker does with its tasks: check the card, measure a unit, leave everything in its own shard."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.model.outcome import Status
from ckprof.model.problem_run import ProblemRun
from ckprof.rounds.visit import Visit
from ckprof.store.attempt import REFERENCE_MS
from ckprof.store.key import MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey
from ckprof.store.shard import ShardWriter
from ckprof.sweep.cluster.folder import SweepFolder
from ckprof.sweep.cluster.messages import End, ReferenceCheck, Reply
from ckprof.sweep.engine import Stop, Sweep, Watch
from ckprof.sweep.plan import PlanRequest, make_plan

if TYPE_CHECKING:
    from ckprof.store.attempt import Session
    from ckprof.sweep.cluster.messages import Card, Job, Task, Unit
    from ckprof.sweep.engine import Bench, Summary, VisitResult
    from ckprof.sweep.observer import Reading
    from ckprof.sweep.plan import KernelCell, Plan, PlannedContest

#: seconds between looks for a request to stop while a card waits
_LOOK_S: Final = 0.2
#: kernels that are tried until one runs on the reference problem
_MOST_TRIED: Final = 50


@dataclass(kw_only=True)
class UnitRunner:
    """Serves the tasks of one job in one worker.

    Its outcomes are one session, in one shard.
    """

    job: Job
    #: open until the worker ends
    bench: Bench
    card: Card
    session: Session
    #: where the shard goes that the coordinator cannot read
    own_shards: Path
    _shard: ShardWriter | None = None
    _sent: int = 0
    _sequence: int = 0
    #: units since the last check; ``None`` before the first
    _units: int | None = None
    _instance: str = ""
    #: figures that the next round's evidence has besides
    _evidence: dict[str, object] = field(default_factory=dict)

    def serve(self, task: Task) -> Reply:
        """Do what a task says.

        :raises CkprofError: outcomes cannot be stored, or kernels cannot be run at all any more.
        """
        folder = SweepFolder(root=Path(task.folder)) if task.folder else None
        if folder is not None:
            with suppress(OSError):
                folder.started_file(task.id).write_text(self._open_shard(folder).path.name)
        known = task.shared
        if known is not None and known.device != self.card.device:
            self._wait(task, folder)
            return self._reply(task, End.OTHER_DEVICE)
        if self.card.id in task.quarantined:
            self._wait(task, folder)
            return self._reply(task, End.PARKED, checks=self._check(task))
        checks: tuple[ReferenceCheck, ...] = ()
        due = self._units is None or self._units >= self.job.reference.every
        if due or self.card.id in task.suspected:
            checks = self._check(task)
        if task.unit is None or task.shared is None:
            return self._reply(task, End.PROBED, checks=checks)
        shard = self._open_shard(folder)
        summary = self._measure(task, task.unit, task.shared, shard, folder)
        self._units = (self._units or 0) + 1
        end = End.STOPPED if summary.stop is not Stop.DONE else End.FINISHED
        return replace(
            self._reply(task, end, checks=checks),
            shard=b"" if folder is not None else self._unsent(shard),
            attempts=summary.attempts,
            rounds=summary.rounds,
            drifted_rounds=summary.drifted_rounds,
            dropped=summary.dropped,
            wall_s=summary.wall_s,
            warnings=dict(summary.warnings),
        )

    def close(self) -> None:
        """Close the shard."""
        if self._shard is not None:
            self._shard.close()

    # --- units ----------------------------------------------------------------------------------------------

    def _measure(
        self, task: Task, unit: Unit, shared: SharedKey, shard: ShardWriter, folder: SweepFolder | None
    ) -> Summary:
        plan = self._plan(unit, shared)
        stop = folder.stop_file(task.run) if folder is not None else None
        watch = Watch(
            should_stop=stop.exists if stop is not None else lambda: False, max_time_s=task.max_time_s
        )
        sweep = Sweep(plan, _CardBench(self), shard, self.session, watch, first_sequence=self._sequence)
        try:
            summary = sweep.run()
        finally:
            self._sequence += sweep.attempts
        return summary

    def _plan(self, unit: Unit, shared: SharedKey) -> Plan:
        """Return the plan of one unit: from its beginning, unless this card has measured a part of it."""
        kernels = [
            one.planned
            for one in self.job.kernels
            if one.planned.ndim == unit.problem.ndim
            and one.planned.info.dtype is unit.dtype
            and one.planned.info.layout == unit.layout
        ]
        own = unit.card == self.card.id
        plan = make_plan(
            PlanRequest(
                kernels=kernels,
                problems=[
                    ProblemRun(problem=unit.problem, dtype=unit.dtype, layout=unit.layout, splits=unit.splits)
                ],
                splits=unit.splits,
                shared=shared,
                rounds=self.job.rounds,
                fresh=unit.fresh or not own,
                retry_failed=unit.retry_failed,
            ),
            lambda shared, problem: unit.past,
        )
        contests = [replace(one, problem_index=unit.problem_index) for one in plan.contests]
        return replace(plan, contests=contests)

    def _open_shard(self, folder: SweepFolder | None) -> ShardWriter:
        if self._shard is None:
            self._shard = ShardWriter(folder.shards if folder is not None else self.own_shards)
        return self._shard

    def _unsent(self, shard: ShardWriter) -> bytes:
        """Return what the shard got since the last reply."""
        with shard.path.open("rb") as stream:
            stream.seek(self._sent)
            data = stream.read()
        self._sent += len(data)
        return data

    def observe(self) -> Reading:
        """Return evidence about the machine, with the latest check of the card once."""
        reading = self.bench.observe()
        if self._evidence:
            reading = replace(reading, extra={**reading.extra, **self._evidence})
            self._evidence = {}
        return reading

    # --- the card -------------------------------------------------------------------------------------------

    def _wait(self, task: Task, folder: SweepFolder | None) -> None:
        """Keep this card from taking one task after the other just to hand it back."""
        end = time.monotonic() + self.job.reference.park_s
        while (left := end - time.monotonic()) > 0:
            if folder is not None and folder.stop_file(task.run).exists():
                return
            time.sleep(min(_LOOK_S, left))

    def _check(self, task: Task) -> tuple[ReferenceCheck, ...]:
        """Measure the reference kernel several times."""
        self._units = 0
        if task.reference_problem is None:
            return ()
        shared = task.shared or SharedKey(
            operation=OperationKey(direction=self.job.direction),
            device=self.card.device,
            toolchain=ToolchainKey(),
            method=MethodKey(),
        )
        unit = replace(task.reference_problem, past=(), card="", fresh=True)
        contests = self._plan(unit, shared).contests
        if not contests:
            return ()
        planned = contests[0]
        started = time.time()
        self.bench.open_problem(planned)
        wanted = task.reference_instance or self._instance
        cells = [cell for cell in planned.contest.cells if wanted in ("", cell.instance)]
        for cell in cells[:_MOST_TRIED]:
            times = self._times(planned, cell)
            if times:
                break
        else:
            return ()
        self._instance = cell.instance
        reading = self.bench.observe()
        self._evidence = {REFERENCE_MS: min(times)}
        return (
            ReferenceCheck(
                card=self.card.id,
                started=started,
                instance=cell.instance,
                kernel=planned.kernels[cell.instance].info.name,
                times_ms=tuple(times),
                clock_mhz=reading.clock_mhz,
                base_clock_mhz=reading.base_clock_mhz,
                temperature_c=reading.temperature_c,
            ),
        )

    def _times(self, planned: PlannedContest, cell: KernelCell) -> list[float]:
        """Return the medians of some attempts; none if the kernel cannot be ranked."""
        times = []
        for number in range(self.job.reference.samples):
            visit = Visit(cell=cell, round=1, order=number, reference=True)
            result = self.bench.measure(planned, visit)
            verified = result.verification is not None and result.verification.passed
            if result.status is not Status.OK or result.measurement is None or not verified:
                return []
            times.append(result.measurement.median_ms)
        return times

    def _reply(self, task: Task, end: End, checks: tuple[ReferenceCheck, ...] = ()) -> Reply:
        return Reply(task=task.id, end=end, card=self.card, checks=checks)


class _CardBench:
    """The worker's bench, whose evidence includes checks of the card."""

    def __init__(self, runner: UnitRunner) -> None:
        self._runner = runner

    def open_problem(self, planned: PlannedContest) -> None:
        self._runner.bench.open_problem(planned)

    def measure(self, planned: PlannedContest, visit: Visit[KernelCell]) -> VisitResult:
        return self._runner.bench.measure(planned, visit)

    def observe(self) -> Reading:
        return self._runner.observe()
