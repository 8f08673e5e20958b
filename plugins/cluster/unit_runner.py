"""Measures units, and checks of the device, for the tasks of one job in one worker."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.measure.rounds import PlannedSample, Ranking
from ckprof.measure.rounds_loop import timing_of
from ckprof.model.problem_case import ProblemCase
from ckprof.store.attempt import ANCHOR, ANCHOR_MS, REFERENCE_MS, SCALE, Mark
from ckprof.store.key import MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import PastVisit, SharedKey
from ckprof.store.shard import ShardWriter
from ckprof.sweep.plan import PlanRequest, make_plan
from ckprof.sweep.recording import Recorder
from ckprof.sweep.sweep import Stop, Sweep, Watch
from ckprof_plugins.cluster.folder import HangFolder, SweepFolder
from ckprof_plugins.cluster.hang_watch import HangWatch
from ckprof_plugins.cluster.messages import (
    End,
    ReferenceCheck,
    Reply,
    WorkerDevice,
    decode_unit,
)
from ckprof_plugins.cluster.screening import anchor_time, out_of_part, part_rounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.measure.rounds import KernelConfiguration, VisitReport
    from ckprof.measure.rounds_loop import Bench, KernelGroup, Sample
    from ckprof.model.device import Reading
    from ckprof.model.outcome import Outcome
    from ckprof.store.attempt import Attempt, Session
    from ckprof.sweep.plan import Plan
    from ckprof.sweep.sweep import Summary
    from ckprof_plugins.cluster.messages import Anchor, Job, Task, Unit


#: seconds between looks for a request to stop while a device waits
_LOOK_S: Final = 0.2
#: kernels that are tried until one runs on the reference problem
_MOST_TRIED: Final = 50
#: seconds of outcomes that may be lost with a machine, not with a process; they are measured again
SYNC_S: Final = 1.0


class _UnitRecorder(Recorder):
    """Marks what is measured for parts of problems, and keeps what these leave to their coordinator."""

    #: what is measured is a part, and what was so far, with their numbers
    part = False
    visits: list[PastVisit]
    sequences: list[int]

    def add(self, sample: Sample) -> Attempt:
        """Store what a kernel gave in one round."""
        attempt = super().add(sample)
        if self.part:
            self.visits.append(PastVisit.of(attempt))
            self.sequences.append(attempt.sequence)
        return attempt

    def discount(self) -> None:
        """Mark the attempts of a part that others measure again, but for the kernel that hangs in it."""
        self._sink.add_marks([(self._session.uid, sequence, Mark.DISTURBED) for sequence in self.sequences])

    def end_visit(self, report: VisitReport[KernelConfiguration]) -> None:
        """Mark kernels that were pruned, and attempts of a disturbed visit."""
        super().end_visit(report)
        for index, past in enumerate(self.visits):
            if past.round in report.rounds and (report.disturbed or past.cell in report.dropped):
                self.visits[index] = past.marked(Mark.DISTURBED if report.disturbed else Mark.DROPPED)

    def _marks(self, sample: Sample) -> Iterable[Mark]:
        yield from super()._marks(sample)
        if self.part:
            yield Mark.PART


class UnitRunner:
    """Serves the tasks of one job in one worker.

    :param bench: open until the worker ends.
    :param session: of all its outcomes, which are in one shard.
    :param own_shards: where the shard goes that the coordinator cannot read.
    """

    def __init__(
        self, job: Job, bench: Bench, device: WorkerDevice, session: Session, own_shards: Path
    ) -> None:
        self.job, self.bench, self.device = job, bench, device
        self.session, self._own_shards = session, own_shards
        self._shard: ShardWriter | None = None
        self._sent = 0
        self._recorder: _UnitRecorder | None = None
        self._hangs = HangWatch(job.suspect_s)
        #: the task whose attempts are watched, if the coordinator sees its folder, and whether others do the
        #: rest of it
        self._watched: tuple[HangFolder, str] | None = None
        self._is_split = False
        #: what is measured now, and its anchor
        self._group: KernelGroup | None = None
        self._anchor: Anchor | None = None
        #: least time of the anchor in the unit so far
        self._anchor_ms = math.inf
        #: units since the last check; ``None`` before the first
        self._served: int | None = None
        self._instance = ""
        #: figures that the next round's evidence has besides
        self._evidence: dict[str, object] = {}

    def serve(self, task: Task) -> Reply:
        """Do what a task says.

        :raises CkprofError: outcomes cannot be stored, or kernels cannot be run at all any more.
        """
        folder = SweepFolder(Path(task.folder)) if task.folder else None
        if folder is not None:
            with suppress(OSError):
                folder.started_file(task.id).write_text(self._open_shard(folder).path.name)
        shared = task.shared
        if shared is not None and shared.device != self.device.key:
            self._wait(task, folder)
            return self._reply(task, End.OTHER_DEVICE)
        if self.device.id in task.quarantined:
            self._wait(task, folder)
            return self._reply(task, End.PARKED, self._check(task))
        due = self._served is None or self._served >= self.job.reference.every
        check = self._check(task) if due or self.device.id in task.suspected else None
        if not task.unit or shared is None:
            return self._reply(task, End.PROBED, check)
        unit, shard = decode_unit(task.unit), self._open_shard(folder)
        summary = self._measure(task, unit, shared, shard, folder)
        # a unit that is over is never handed out again: all of it has to outlive this machine
        shard.sync()
        self._served = (self._served or 0) + 1
        end = End.FINISHED if summary.stop is Stop.DONE or self._is_split else End.STOPPED
        return replace(
            self._reply(task, end, check),
            shard=b"" if folder is not None else self._unsent(shard),
            attempts=summary.attempts,
            rounds=summary.rounds,
            disturbed=summary.disturbed,
            dropped=summary.dropped,
            wall_s=summary.wall_s,
            warnings=dict(summary.warnings),
            resolution=next((resolution for _, resolution in summary.resolutions), None),
            visits=self._of_part() if end is End.FINISHED and unit.part else (),
        )

    def close(self) -> None:
        """Close the shard."""
        self._hangs.close()
        if self._shard is not None:
            self._shard.close()

    # --- units ----------------------------------------------------------------------------------------------

    def _measure(
        self, task: Task, unit: Unit, shared: SharedKey, shard: ShardWriter, folder: SweepFolder | None
    ) -> Summary:
        plan = self._plan(unit, shared)
        stop = folder.stop_file(task.run) if folder is not None else None
        watch = Watch(
            should_stop=lambda: self._is_split or (stop is not None and stop.exists()),
            max_time_s=task.max_time_s,
        )
        self._watched, self._is_split = (folder.hangs, task.id) if folder is not None else None, False
        if self._recorder is None:
            least = self.job.options.min_samples
            self._recorder = _UnitRecorder(shard, self.session, shared, least_samples=least)
        self._recorder.part, self._recorder.visits, self._recorder.sequences = unit.part > 0, [], []
        self._anchor, self._anchor_ms = unit.anchor, math.inf
        try:
            return Sweep(plan, self, self._recorder, watch).run()
        finally:
            self._anchor = None
            if self._is_split:
                self._recorder.discount()

    def _of_part(self) -> tuple[PastVisit, ...]:
        """Return the attempts on those kernels of a part that may be the fastest."""
        visits = self._recorder.visits if self._recorder is not None else []
        out = out_of_part(visits, self.job.rounds)
        return tuple(visit for visit in visits if visit.cell not in out)

    def _plan(self, unit: Unit, shared: SharedKey) -> Plan:
        """Return the plan of one unit: from its beginning, unless this device has measured a part of it."""
        kernels = [
            kernel
            for kernel in self.job.kernels
            if kernel.ndim == unit.problem.ndim
            and kernel.types == unit.types
            and kernel.layout == unit.layout
        ]
        wanted = frozenset(unit.cells)
        plan = make_plan(
            PlanRequest(
                kernels=kernels,
                problems=[ProblemCase(problem=unit.problem, layout=unit.layout, splits=unit.splits)],
                splits=unit.splits,
                shared=shared,
                rounds=self.job.rounds,
                fresh=unit.fresh or unit.device != self.device.id,
                retry_failed=unit.retry_failed,
                takes=(lambda problem, cell: cell in wanted) if wanted else None,
            ),
            lambda shared, problem: unit.past,
        )
        rounds, rankings = part_rounds(self.job.rounds), []
        for planned in plan.rankings:
            planned = replace(planned, problem_index=unit.problem_index)
            if unit.part:
                ranking = Ranking(planned.ranking.cells, rounds, rounds_before=unit.rounds_before)
                planned = replace(planned, ranking=ranking)
            rankings.append(planned)
        return replace(plan, rankings=rankings)

    def _open_shard(self, folder: SweepFolder | None) -> ShardWriter:
        if self._shard is None:
            self._shard = ShardWriter(folder.shards if folder else self._own_shards, sync_s=SYNC_S)
        return self._shard

    def _unsent(self, shard: ShardWriter) -> bytes:
        """Return what the shard got since the last reply."""
        with shard.path.open("rb") as stream:
            stream.seek(self._sent)
            data = stream.read()
        self._sent += len(data)
        return data

    # --- the bench of its sweeps: that of the worker, with evidence of checks of the device -----------------

    def open_group(self, group: KernelGroup) -> None:
        """Prepare operands and reference."""
        self._group = group
        self.bench.open_group(group)

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure one kernel once."""
        if self._watched is None:
            return self.bench.measure(group, planned)
        self._hangs.begin(*self._watched, planned.cell)
        try:
            return self.bench.measure(group, planned)
        finally:
            self._is_split |= self._hangs.end()

    def observe(self) -> Reading:
        """Return evidence about the machine, with the latest check of the device once."""
        reading = self.bench.observe()
        evidence, self._evidence = {**self._evidence, **self._scale()}, {}
        return replace(reading, extra={**reading.extra, **evidence}) if evidence else reading

    def _scale(self) -> dict[str, object]:
        """Measure the kernel that all parts of a problem run, for the round that begins.

        :raises ToolchainError: it does not run: what else is measured here could not be compared.
        """
        anchor, group = self._anchor, self._group
        if anchor is None or group is None:
            return {}
        cell, expected_ms = anchor.cell, min(self._anchor_ms, anchor.time_ms)
        here_ms = anchor_time(lambda: next(iter(self._times(group, cell, 1)), None), expected_ms)
        if here_ms is None:
            raise ToolchainError(
                f"{group.kernels[cell.instance].name} does not run on {self.device.id}: it is measured "
                "on all devices that share a problem"
            )
        self._anchor_ms = min(here_ms, expected_ms)
        return {ANCHOR: cell.instance, ANCHOR_MS: here_ms, SCALE: anchor.time_ms / here_ms}

    def new_process(self) -> None:
        """Have what follows measured by a new process."""
        self.bench.new_process()

    @property
    def process(self) -> str:
        """What identifies the pass of the last measurement."""
        return self.bench.process

    # --- the device -----------------------------------------------------------------------------------------

    def _wait(self, task: Task, folder: SweepFolder | None) -> None:
        """Keep this device from taking one task after the other just to hand it back."""
        end = time.monotonic() + self.job.reference.park_s
        while (left := end - time.monotonic()) > 0:
            if folder is not None and folder.stop_file(task.run).exists():
                return
            time.sleep(min(_LOOK_S, left))

    def _check(self, task: Task) -> ReferenceCheck | None:
        """Measure the reference kernel several times."""
        self._served = 0
        if not task.reference_problem:
            return None
        shared = task.shared or SharedKey(
            operation=OperationKey(direction=self.job.direction),
            device=self.device.key,
            toolchain=ToolchainKey(),
            method=MethodKey(),
        )
        unit = replace(decode_unit(task.reference_problem), past=(), device="", fresh=True)
        rankings = self._plan(unit, shared).rankings
        if not rankings:
            return None
        planned = rankings[0]
        self.bench.open_group(planned)
        wanted = task.reference_instance or self._instance
        cells = [cell for cell in planned.ranking.cells if wanted in ("", cell.instance)]
        for cell in cells[:_MOST_TRIED]:
            times = self._times(planned, cell, self.job.reference.samples)
            if times:
                break
        else:
            return None
        self._instance = cell.instance
        reading = self.bench.observe()
        self._evidence = {REFERENCE_MS: min(times)}
        return ReferenceCheck(
            instance=cell.instance,
            times_ms=tuple(times),
            clock_mhz=reading.clock_mhz,
            base_clock_mhz=reading.base_clock_mhz,
            temperature_c=reading.temperature_c,
        )

    def _times(self, planned: KernelGroup, cell: KernelConfiguration, count: int) -> list[float]:
        """Return the medians of some attempts; none if the kernel cannot be ranked."""
        times = []
        for number in range(count):
            # of no round: a check, or the measure of a round
            sample = PlannedSample(cell=cell, round=0, order=number)
            timing = timing_of(self.bench.measure(planned, sample))
            if timing is None:
                return []
            times.append(timing.time_ms)
        return times

    def _reply(self, task: Task, end: End, check: ReferenceCheck | None = None) -> Reply:
        return Reply(task=task.id, end=end, device=self.device, check=check)
