"""Sweeps on engines with simulated kernels: what workers run, and engines of the tests' own."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ckprof.measure.options import RunOptions
from ckprof.measure.rounds import RoundOptions
from ckprof.model.device import Reading
from ckprof.model.outcome import Outcome, Status
from ckprof.store.attempt import DEVICE
from ckprof.store.writer import StoreWriter
from ckprof.sweep.plan import PlanRequest
from ckprof_plugins.cluster.coordinator import Coordinator
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.folder import LeasePolicy, ObjectFolder, SweepFolder
from ckprof_plugins.cluster.merging import Merger
from ckprof_plugins.cluster.messages import (
    End,
    Job,
    ReferencePolicy,
    Reply,
    Task,
    WorkerDevice,
    decode_job,
    decode_task,
    encode,
)
from ckprof_plugins.cluster.screening import rankings_of_one_device
from ckprof_plugins.cluster.unit_runner import UnitRunner
from ckprof_plugins.cluster.units import ClusterWatch, Units, Work, part_counts
from tests.store.samples import make_session
from tests.sweep.bench import SHARED, SimulatedBench, make_kernels, make_problems

HANDLER = "plugins.cluster.tests.simulated:handle"
#: seconds that each attempt takes, for workers that are processes
VISIT_VARIABLE = "CKPROF_TEST_VISIT_S"
#: what the first attempt on some kernels gives, after how many seconds, and the names of these kernels
HANG_VARIABLE = "CKPROF_TEST_HANG"

ROUNDS = RoundOptions(min_rounds=2, max_rounds=3)


class TimedBench(SimulatedBench):
    """Attempts take a known time; a slow device multiplies what it measures.

    :param lean: by what share a device may prefer one kernel to another.
    """

    def __init__(self, *, visit_s=0.0, factor=1.0, lean=0.0, **options):
        super().__init__(**options)
        self.visit_s = visit_s
        self.factor = factor
        self.lean = lean
        self._taste = self.chance.random()
        self._hung = set()

    def measure(self, planned, visit):
        status, seconds, *names = os.environ.get(HANG_VARIABLE, "ok 0").split()
        name = planned.kernels[visit.cell.instance].name
        if name in names and visit.round and (planned.problem, name) not in self._hung:
            self._hung.add((planned.problem, name))
            time.sleep(float(seconds))
            if status != Status.OK.value:
                return Outcome(key=visit.cell.instance, problem_index=0, status=Status(status), reason="slow")
        if self.visit_s:
            time.sleep(self.visit_s)
        result = super().measure(planned, visit)
        measured = result.measurement
        factor = self.factor
        if self.lean:
            factor *= 1 + self.lean * random.Random(f"{visit.cell} {self._taste}").uniform(-0.5, 0.5)
        if measured is None or factor == 1.0:
            return result
        changed = {name: getattr(measured, name) * factor for name in ("time_ms", "min_ms", "mean_ms")}
        changed["samples_ms"] = tuple(sample * factor for sample in measured.samples_ms)
        return replace(result, measurement=replace(measured, **changed))


def make_runner(job, label, folder, *, bench=None, device=SHARED.device, number=None):
    device = WorkerDevice(id=f"host:{label}", key=device)
    uid = number if number is not None else int.from_bytes(os.urandom(8), "big")
    session = make_session(uid, started=1.7e9, environment={DEVICE: {"id": device.id}}, tags=job.session.tags)
    own = bench or TimedBench(seed=hash(label) % 1000)
    return UnitRunner(job, own, device, session, Path(folder))


def lose(runner, task, attempts):
    """Have a worker serve a task, whose node is gone after so many attempts: they are on the disk."""
    bench, measure = runner.bench, runner.bench.measure
    stop_after = len(bench.samples) + attempts

    def measure_some(planned, visit):
        if len(bench.samples) >= stop_after:
            raise ConnectionResetError("the node is gone")
        return measure(planned, visit)

    bench.measure = measure_some
    try:
        runner.serve(task)
    finally:
        del bench.measure


def pids(session):
    """Return the process ids of the workers of a session of the local engine that run."""
    return [process.pid for lane in session._lanes if (process := lane._process) is not None]


_runner = None


def handle(payload, slot):
    """Serve a task in a worker process."""
    global _runner
    task = decode_task(payload)
    if _runner is None:
        own, shared = ObjectFolder(Path(task.folder) / "own"), SweepFolder(Path(task.folder)).objects
        job = decode_job(own.find(task.job, shared, task.objects).read_bytes())
        bench = TimedBench(visit_s=float(os.environ.get(VISIT_VARIABLE, "0")))
        _runner = make_runner(job, slot.label, task.folder, bench=bench)
    return encode(_runner.serve(task))


@dataclass
class Setup:
    """A store, a folder and a job."""

    writer: StoreWriter
    folder: SweepFolder
    merger: Merger
    units: Units
    job: Job
    digest: str
    problems: list
    #: that the problems are sharded for
    devices: int = 1

    def work(self, *, sends=False, **changes):
        opened = self.units.open()
        values = {
            "task": Task(
                id="",
                run=os.urandom(6).hex(),
                job=self.digest,
                folder="" if sends else str(self.folder.root),
                reference_problem=encode(replace(opened[0].unit, id="reference")) if opened else b"",
            ),
            "shared": SHARED,
            "units": opened,
            "plans": self.units,
            "parts": part_counts([unit.planned for unit in opened], self.job.rounds, self.devices),
            "reference": self.job.reference,
            "leases": LeasePolicy(silence_s=30.0),
            "timeout_s": 60.0,
            "devices": self.devices,
            "folder": self.folder,
        }
        return Work(**{**values, **changes})

    def start_workers(self, session, count):
        """Have as many workers say who they are, so that none starts while it has a unit."""
        task = self.work().task
        probes = [replace(task, id=f"probe{number}", run="probe") for number in range(count)]
        for probe in [session.submit(Pool.RUN, encode(probe)) for probe in probes]:
            probe.result(120)

    def coordinate(self, session, watch=None, **changes):
        coordinator = Coordinator(
            self.work(**changes), session, self.writer, self.merger, watch or ClusterWatch(poll_s=0.02)
        )
        coordinator.run()
        return coordinator.finish()

    def sweep(self, runners, watch=None, *, interfere=lambda worker, task: None, **changes):
        """Coordinate workers that are threads until they have ended, see :class:`ThreadSession`."""
        session = ThreadSession(runners, interfere)
        try:
            return self.coordinate(session, watch, **changes)
        finally:
            session.close(now=True)


def make_setup(path, *, problems=6, kernels=4, rounds=ROUNDS, reference=None, suspect_s=math.inf, **planning):
    """Open a store and everything around it; what workers left before is merged."""
    writer = StoreWriter(path)
    folder = SweepFolder.beside(Path(path))
    folder.make()
    merger = Merger(writer, folder.shards, folder.merged)
    merger.merge()
    own = make_kernels(kernels)
    places = make_problems(problems)
    units = Units(
        PlanRequest(
            kernels=own,
            problems=places,
            splits=(1,),
            shared=SHARED,
            rounds=rounds,
            counting=rankings_of_one_device,
            **planning,
        ),
        writer.reader.past_visits,
    )
    job = Job(
        direction="fwd",
        target="simulated",
        arch="",
        machine_identity="",
        cpu_model="",
        library="",
        kernels=tuple(own),
        options=RunOptions(),
        rounds=rounds,
        reference=reference or ReferencePolicy(park_s=0.0),
        suspect_s=suspect_s,
        session=make_session(0, tags=("test",)),
    )
    digest = folder.objects.put(encode(job))
    return Setup(writer, folder, merger, units, job, digest, places)


class ThreadSession:
    """An engine of threads: each serves one runner, and does what a test has it do before.

    :param runners: one per worker.
    :param interfere: called with (worker, task); what it returns is the reply, what it raises fails the task.
    """

    outlives_coordinator = False
    shares_files = True

    def __init__(self, runners, interfere=lambda worker, task: None):
        self.runners = runners
        self.interfere = interfere
        self.tasks = []
        self._free = list(range(len(runners)))
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(len(runners))

    def slots(self, pool):
        return len(self.runners) if pool is Pool.RUN else 0

    def submit(self, pool, payload):
        assert pool is Pool.RUN
        return self._threads.submit(self._serve, payload)

    def _serve(self, payload):
        task = decode_task(payload)
        with self._lock:
            worker = self._free.pop(0)
            self.tasks.append((worker, task))
        try:
            reply = self.interfere(worker, task) or self.runners[worker].serve(task)
            return encode(reply)
        finally:
            with self._lock:
                self._free.append(worker)

    def close(self, *, now):
        self._threads.shutdown(wait=True)


__all__ = ["End", "Reading", "Reply"]
