"""Sweeps on an engine: build once, hand problems to workers, merge what they leave."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, Interrupted, PluginError, ToolchainError, UsageError, system_errors
from ckprof.events import Message
from ckprof.formatting import counted, duration
from ckprof.kernels.units import available_cpus
from ckprof.measure.bench import BenchLibrary
from ckprof.measure.host import cpu_model
from ckprof.measure.observers import PluginHooks
from ckprof.measure.options import CacheMode, timing_settings
from ckprof.measure.support import build_needed_library
from ckprof.model.problem_case import ProblemCase
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import layer_evidence
from ckprof.sweep.identity import new_session, shared_key_of
from ckprof.sweep.plan import announce, describe
from ckprof.sweep.recording import is_shard_folder, open_sink
from ckprof.sweep.sweep import SweepResult, plan_request, plan_sweep, sweep_run_options
from ckprof_plugins.cluster.coordinator import Coordinator
from ckprof_plugins.cluster.engines import ENGINES, EngineRequest, Pool
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.local import cpus_per_worker
from ckprof_plugins.cluster.merging import Merger
from ckprof_plugins.cluster.messages import (
    End,
    Job,
    Loaded,
    Reply,
    Task,
    Unit,
    answer_of,
    decode_reply,
    encode,
)
from ckprof_plugins.cluster.partial import MergePool, default_processes
from ckprof_plugins.cluster.pool_build import BUILD_HANDLER, build_missing
from ckprof_plugins.cluster.screening import rankings_of_one_device
from ckprof_plugins.cluster.settings import ClusterSettings, read_settings
from ckprof_plugins.cluster.sharding import most_parts
from ckprof_plugins.cluster.sweep_worker import HANDLER
from ckprof_plugins.cluster.units import ClusterWatch, Units, Work, last_line, part_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.session import Session
    from ckprof.store.attempt import Attempt
    from ckprof.sweep.plan import Plan, PlannedRanking
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.cluster.engines import Engine, EngineSession
    from ckprof_plugins.cluster.runner import EngineRunner


#: what is used unless ``--engine`` or the settings file names another one
_DEFAULT_ENGINE: Final = "local"
#: what no engine has: the plan of a sweep takes memory for each worker
_MOST_WORKERS: Final = 1_000_000
#: bytes of an outcome in a shard, raw samples included; measured
ATTEMPT_BYTES: Final = 2_600
#: bytes of a kernel in a library, where none was built to look at
KERNEL_BYTES: Final = 150_000
#: bytes of a kernel in the description of a job; measured
_JOB_KERNEL_BYTES: Final = 900


def possible(engine: Engine, workers: int) -> int:
    """Return a number of workers that an engine has named.

    :raises PluginError: no engine can have as many.
    """
    if 0 <= workers <= _MOST_WORKERS:
        return workers
    raise PluginError(
        f"engine {engine.id!r}: reports "
        f"{'a negative number of' if workers < 0 else f'more than {_MOST_WORKERS:,}'} workers in a pool"
    )


def choose_engine(
    session: Session, request: RunRequest, options: SweepOptions, runner: EngineRunner
) -> tuple[Engine, EngineRequest]:
    """Return the engine that a runner asks for, and what it is opened for.

    :raises UsageError: there is no such engine, or options contradict each other.
    :raises InputError: the settings file is wrong.
    """
    if is_shard_folder(options.store):
        raise UsageError(
            f"--store {options.store}: an engine merges the shards of its workers itself; name a file"
        )
    repeated = sorted({str(device) for device in runner.devices if runner.devices.count(device) > 1})
    if repeated:
        raise UsageError(f"--devices: {', '.join(repeated)} is named more than once")
    given = read_settings(runner.cluster) if runner.cluster is not None else None
    settings, store = given or ClusterSettings(), Path(options.store)
    engine = session.registry.entries(ENGINES).find(runner.engine or settings.engine or _DEFAULT_ENGINE)
    shared = settings.folder
    return engine, EngineRequest(
        handler=HANDLER,
        build_handler=BUILD_HANDLER,
        devices=runner.devices,
        embedded=session.target(request.build.target).embedded or bool(request.options.device_name),
        settings=given,
        folder=(SweepFolder.below(shared, store) if shared else SweepFolder.beside(store)).root,
    )


def describe_cost(plan: Plan, parts: Sequence[int], *, build_slots: int, run_slots: int) -> list[str]:
    """Return an estimate of what is left of a plan, in a few lines for people.

    :param parts: see :func:`~ckprof_plugins.cluster.sharding.parts_of`.
    """
    kernels = len({instance for ranking in plan.rankings for instance in ranking.kernels})
    units = len(plan.open_rankings)
    sharded = sum(count > 1 for count in parts)
    all_parts = sum(
        min(count, most_parts(len(planned.ranking.active)))
        for planned, count in zip(plan.open_rankings, parts, strict=True)
        if count > 1
    )
    builds = f"{counted(build_slots, 'build worker')}" if build_slots else "builds on this machine"
    shared = f", {sharded} of them sharded into {counted(all_parts, 'part')}" if sharded else ""
    # each worker gets the library and the description of the job once
    download = run_slots * (KERNEL_BYTES + _JOB_KERNEL_BYTES) * kernels
    low, high = ATTEMPT_BYTES * plan.least_attempts, ATTEMPT_BYTES * plan.most_attempts
    lines = [
        f"tasks: {counted(units, 'problem')}{shared} for {counted(run_slots, 'device')}; "
        f"{builds}, {counted(kernels, 'kernel')}",
        f"bytes: {_size(download)} to the workers, {_size(low)} to {_size(high)} back",
    ]
    seconds = plan.estimated_s()
    if seconds is None:
        lines.append("time of the devices: unknown, nothing was measured before")
    elif units:
        least, most = seconds
        used = max(1, min(run_slots, units - sharded + all_parts))
        lines.append(
            f"time of the devices: {duration(least)} to {duration(most)} in all, "
            f"{duration(least / used)} to {duration(most / used)} on {used} of them"
        )
    return lines


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


#: workers that may fail in a row before the first one says who it is
_MOST_PROBES: Final = 3
_LOOK_S: Final = 0.5


class EngineSweep:
    """One sweep on an engine.

    :raises CkprofError: as :func:`choose_engine`, or the engine cannot be used.
    """

    def __init__(
        self, session: Session, request: RunRequest, options: SweepOptions, runner: EngineRunner
    ) -> None:
        self._session, self._request, self._options = session, request, options
        self._engine, self._asked = choose_engine(session, request, options, runner)
        # what is wrong with the settings shows before anything is built
        pools = self._engine.pools(self._asked)
        self._pools = {pool: possible(self._engine, count) for pool, count in pools.items()}
        self._settings = self._asked.settings or ClusterSettings()
        self._folder = SweepFolder(self._asked.folder)

    def describe(self) -> list[str]:
        """Return what is left to do, and the tasks, bytes and hours that it takes, for people.

        :raises CkprofError: the store cannot be read.
        """
        cpus = cpus_per_worker(available_cpus(), len(self._asked.devices))
        plan = plan_sweep(
            self._session, self._request, self._options, cpus=cpus, counting=rankings_of_one_device
        )
        devices = self._pools.get(Pool.RUN, 0)
        parts = part_counts(plan.open_rankings, self._options.rounds, devices)
        slots = self._pools.get(Pool.BUILD, 0)
        return [*describe(plan), *describe_cost(plan, parts, build_slots=slots, run_slots=devices)]

    def run(self) -> SweepResult:
        """Build what is missing, hand what is left to the engine's workers, and merge what they measure.

        :raises CkprofError: the store cannot be written, no toolchain, or no worker can measure anything.
        """
        session, request, options, folder = self._session, self._request, self._options, self._folder
        with ExitStack() as stack:
            writer = open_sink(session, options.store, wait=options.wait)
            stack.callback(writer.close)
            if not isinstance(writer, StoreWriter):
                raise UsageError(f"--store {options.store}: name a file")
            folder.make()
            asked = self._settings.merge.processes
            pool: MergePool | None = None
            if (processes := default_processes() if asked is None else asked) > 0:
                pool = MergePool(
                    writer.path.with_name(f"{writer.path.name}.merging"),
                    processes,
                    Loaded.of(session),
                )
                stack.enter_context(pool)
            merger = Merger(writer, folder.shards, folder.merged, pool)
            left = merger.merge()
            if left.new:
                session.emit(Message(f"merged {counted(left.new, 'outcome')} of workers of an earlier call"))
            if self._pools.get(Pool.BUILD, 0):
                build_missing(
                    session,
                    request,
                    folder if self._settings.folder is not None else None,
                    lambda: self._engine.open(replace(self._asked, wanted=(Pool.BUILD,))),
                    options.should_stop,
                )
            library = build_needed_library(session, request)
            return self._measure(library, writer, merger)

    def _measure(self, library: BuiltLibrary, writer: StoreWriter, merger: Merger) -> SweepResult:
        """Open the engine, and coordinate its workers."""
        run = sweep_run_options(self._request.options, library.recipe)
        if run.cache is CacheMode.COLD:
            # the same for all workers, whatever the caches of their hosts
            run = replace(run, flush_bytes=timing_settings(run).flush_bytes)
        kernels = library.kernels
        job = self._folder.objects.put(encode(self._job(library, run)))
        reference = self._reference_unit(kernels)
        engine = self._engine.open(self._asked)
        shares = engine.shares_files or self._settings.folder is not None
        task = Task(
            id=uuid.uuid4().hex,
            run=uuid.uuid4().hex[:12],
            job=job,
            folder=str(self._folder.root) if shares else "",
            reference_problem=reference,
        )
        try:
            first = _probe(task, engine, self._folder, self._options)
            device = first.device
            if device is None:
                raise ToolchainError(f"no worker can be used: {first.message or 'it does not say why'}")
            how = (device.driver, device.clock)
            shared = shared_key_of(library.direction.id, library.recipe, run, device.key, how)
            planning = plan_request(self._request, self._options, kernels, shared, rankings_of_one_device)
            units = Units(planning, writer.reader.past_visits)
            announce(units.plan, self._session.emit)
            task = replace(task, known={} if self._options.fresh else units.plan.second)
            opened = units.open()
            planned = [unit.planned for unit in opened]
            devices = possible(self._engine, engine.slots(Pool.RUN))
            work = Work(
                task=task,
                shared=shared,
                units=opened,
                plans=units,
                parts=part_counts(planned, planning.rounds, devices),
                devices=devices,
                reference=self._settings.reference,
                leases=self._settings.lease.beyond(run.timeout_s),
                timeout_s=run.timeout_s,
                folder=self._folder,
            )
            coordinator = Coordinator(work, engine, writer, merger, self._watch(library))
            coordinator.note_device(first)
            coordinator.run()
        finally:
            engine.close(now=True)
        # the devices are free while the rest is merged
        summary = coordinator.finish()
        if not coordinator.outstanding and not merger.merge().bad:
            # everything is in the store; a new store of that name shall not begin with these outcomes
            self._folder.remove()
        return SweepResult(
            plan=units.plan,
            summary=summary,
            path=writer.path,
            details=tuple(summary.lines()),
            unfinished=bool(summary.given_up),
        )

    def _job(self, library: BuiltLibrary, run: RunOptions) -> Job:
        recipe, session, rounds = library.recipe, self._session, self._options.rounds
        digest = ""
        if library.path is not None:
            with system_errors(InputError, "cannot be read", library.path):
                digest = self._folder.objects.put(library.path.read_bytes())
        return Job(
            direction=library.direction.id,
            target=recipe.target,
            arch=recipe.arch,
            machine_identity=recipe.machine_identity,
            cpu_model=cpu_model() if session.target(self._request.build.target).embedded else "",
            library=digest,
            kernels=library.kernels,
            rejections=tuple(rejection.outcome for rejection in library.rejected),
            second_problems=msgspec.msgpack.encode(
                BenchLibrary.of(library).second_problems, order="deterministic"
            ),
            options=run,
            worker_variables=recipe.worker_variables,
            rounds=rounds,
            reference=self._settings.reference,
            suspect_s=self._settings.lease.suspect_s,
            # equal for equal calls, so that workers that live know the job
            session=replace(
                new_session(
                    session.manager,
                    run,
                    rounds.seed,
                    self._options.tags,
                    further=layer_evidence(self._request.problems),
                ),
                uid="",
                started=0.0,
            ),
            loaded=Loaded.of(session),
        )

    def _reference_unit(self, kernels: Sequence[SelectedKernel]) -> bytes:
        """Return the encoded problem of middling work with kernels: it is measured on every device."""
        fitting: list[tuple[ProblemCase, SelectedKernel]] = []
        for run in sorted(self._request.problems, key=lambda run: run.problem.real_flop):
            fits = (one for one in kernels if one.ndim == run.problem.ndim and run.takes(one))
            fitting += [(run, kernel) for kernel in islice(fits, 1)]
        if not fitting:
            return b""
        chosen, kernel = fitting[len(fitting) // 2]
        unit = Unit(
            id="reference",
            problem=chosen.problem,
            problem_index=0,
            types=kernel.types,
            layout=kernel.layout,
            splits=(1,),
            fresh=True,
        )
        return encode(unit)

    def _watch(self, library: BuiltLibrary) -> ClusterWatch:
        session, options = self._session, self._options
        hooks = PluginHooks(session, library)
        problems = {run.problem: index for index, run in enumerate(self._request.problems)}
        announced: set[Problem] = set()

        def before(planned: PlannedRanking) -> None:
            if planned.problem not in announced:
                announced.add(planned.problem)
                hooks.before_problem(planned.problem, planned.problem_index)

        def after(attempt: Attempt) -> None:
            problem = attempt.key.problem
            hooks.after_outcome(problem, attempt.outcome(problems.get(problem, 0)))

        return ClusterWatch(
            emit=session.emit,
            on_unit=before,
            # what nobody asks for is not read back
            on_attempt=after if session.manager.listens("ckprof_after_outcome") else None,
            should_stop=options.should_stop,
            max_time_s=options.max_time_s,
        )


def _probe(task: Task, engine: EngineSession, folder: SweepFolder, options: SweepOptions) -> Reply:
    """Ask one worker who it is; it also opens the library, and checks its device.

    :raises ToolchainError: several workers in a row cannot be used.
    :raises Interrupted: a stop was requested meanwhile.
    """
    reason = ""
    for _ in range(_MOST_PROBES):
        future = engine.submit(Pool.RUN, encode(task))
        while not wait([future], timeout=_LOOK_S).done:
            if options.should_stop():
                raise Interrupted
        reply = answer_of(future, decode_reply)
        if isinstance(reply, str):
            reason = last_line(reply)
        elif reply.end is End.MISSING:
            task = replace(
                task, objects={digest: folder.objects.get(digest) or b"" for digest in reply.missing}
            )
            reason = "a worker did not get what it was sent"
        elif reply.end is End.ERROR:
            reason = reply.message
            time.sleep(0.1)
        else:
            return reply
    raise ToolchainError(f"no worker can measure: {reason}")
