"""Sweeps on an engine: build once, hand problems to workers, merge what they leave."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, Interrupted, ToolchainError, UsageError
from ckprof.events import Message
from ckprof.measure.host import cpu_model
from ckprof.measure.observers import PluginHooks
from ckprof.measure.options import CacheMode, timing_settings
from ckprof.measure.support import build_checked_library
from ckprof.model.problem_case import ProblemCase
from ckprof.store.writer import StoreWriter
from ckprof.sweep.device_sweep import SweepResult, plan_request, sweep_run_options
from ckprof.sweep.evidence import layer_evidence
from ckprof.sweep.identity import new_session, shared_key_of
from ckprof.sweep.plan import announce
from ckprof.sweep.recording import open_sink
from ckprof.wording import counted
from ckprof_plugins.cluster.coordinator import Coordinator
from ckprof_plugins.cluster.engine_choice import choose_engine, possible, possible_pools
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.merging import Merger
from ckprof_plugins.cluster.messages import (
    End,
    Job,
    Reply,
    Task,
    Unit,
    answer_of,
    architecture_files,
    decode_reply,
    encode,
    loose_plugins,
)
from ckprof_plugins.cluster.partial import MergePool, default_processes
from ckprof_plugins.cluster.pool_build import build_missing
from ckprof_plugins.cluster.screening import rankings_of_one_device
from ckprof_plugins.cluster.settings import ClusterSettings
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
    from ckprof.sweep.plan import PlannedContest
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.cluster.engines import Engine, EngineRequest, EngineSession
    from ckprof_plugins.cluster.runner import EngineRunner

#: workers that may fail in a row before the first one says who it is
_MOST_PROBES: Final = 3
_LOOK_S: Final = 0.5


def run_on_engine(
    session: Session, request: RunRequest, options: SweepOptions, runner: EngineRunner
) -> SweepResult:
    """Build what is missing, hand what is left to an engine's workers, and merge what they measure.

    :raises CkprofError: the store cannot be written, no toolchain, the engine cannot be used, or no worker
        can measure anything.
    """
    engine, engine_request = choose_engine(session, request, options, runner)
    # what is wrong with the settings shows before anything is built
    pools = possible_pools(engine, engine_request)
    settings = engine_request.settings or ClusterSettings()
    with ExitStack() as stack:
        writer = open_sink(session, options.store, wait=options.wait)
        stack.callback(writer.close)
        if not isinstance(writer, StoreWriter):
            raise UsageError(f"--store {options.store}: name a file")
        folder = SweepFolder(engine_request.folder)
        folder.make()
        pool = _merge_pool(session, writer, settings.merge.processes, stack)
        merger = Merger(writer, folder.shards, folder.merged, pool)
        left = merger.merge()
        if left.new:
            session.tell(Message(f"merged {counted(left.new, 'outcome')} of workers of an earlier call"))
        if pools.get(Pool.BUILD, 0):
            build_missing(
                session,
                request,
                folder if settings.folder is not None else None,
                lambda: engine.open(replace(engine_request, wanted=(Pool.BUILD,))),
                options.should_stop,
            )
        library = build_checked_library(session, request.selection, request.build)
        sweep = _Sweep(session, request, options, settings, folder)
        return sweep.run(library, engine, engine_request, writer, merger)


def _merge_pool(
    session: Session, writer: StoreWriter, asked: int | None, stack: ExitStack
) -> MergePool | None:
    """Return the processes that read shards; they start when there is much to read."""
    processes = default_processes() if asked is None else asked
    if processes < 1:
        return None
    pool = MergePool(
        writer.path.with_name(f"{writer.path.name}.merging"),
        processes,
        plugins=loose_plugins(session),
        architectures=architecture_files(session),
    )
    return stack.enter_context(pool)


class _Sweep:
    """One sweep on an engine."""

    def __init__(
        self,
        session: Session,
        request: RunRequest,
        options: SweepOptions,
        settings: ClusterSettings,
        folder: SweepFolder,
    ) -> None:
        self._session = session
        self._request = request
        self._options = options
        self._settings = settings
        self._folder = folder

    def run(
        self,
        library: BuiltLibrary,
        chosen: Engine,
        request: EngineRequest,
        writer: StoreWriter,
        merger: Merger,
    ) -> SweepResult:
        """Open the engine, and coordinate its workers."""
        run = self._run_options(library)
        kernels = library.kernels
        job = self._folder.objects.put(encode(self._job(library, run)))
        reference = self._reference_unit(kernels)
        engine = chosen.open(request)
        # objects and shards travel through the engine
        sends = not engine.shares_files and self._settings.folder is None
        try:
            task = Task(
                id=uuid.uuid4().hex,
                run="probe",
                job=job,
                folder="" if sends else str(self._folder.root),
                reference_problem=reference,
            )
            first = _probe(task, engine, self._folder, self._options)
            device = first.device
            if device is None:
                raise ToolchainError(f"no worker can be used: {first.message or 'it does not say why'}")
            how = (device.driver, device.clock)
            shared = shared_key_of(library.direction.id, library.recipe, run, device.key, how)
            planning = plan_request(self._request, self._options, kernels, shared, rankings_of_one_device)
            units = Units(planning, writer.reader.past_visits)
            announce(units.plan, self._session.tell)
            opened = units.open()
            planned = [unit.planned for unit in opened]
            work = Work(
                job=job,
                shared=shared,
                units=opened,
                plans=units,
                parts=part_counts(planned, planning.rounds, possible(chosen, engine.slots(Pool.RUN))),
                reference=self._settings.reference,
                reference_problem=reference,
                leases=self._settings.lease,
                folder=self._folder,
                sends=sends,
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

    def _run_options(self, library: BuiltLibrary) -> RunOptions:
        run = sweep_run_options(self._request.options, library.recipe)
        if run.cache is CacheMode.COLD:
            # the same for all workers, whatever the caches of their hosts
            run = replace(run, flush_bytes=timing_settings(run).flush_bytes)
        return run

    def _job(self, library: BuiltLibrary, run: RunOptions) -> Job:
        recipe, session, rounds = library.recipe, self._session, self._options.rounds
        digest = ""
        if library.path is not None:
            try:
                digest = self._folder.objects.put(library.path.read_bytes())
            except OSError as exc:
                raise InputError(f"cannot be read: {exc.strerror}", library.path) from None
        return Job(
            direction=library.direction.id,
            target=recipe.target,
            arch=recipe.arch,
            machine_identity=recipe.machine_identity,
            cpu_model=cpu_model() if session.target(self._request.build.target).embedded else "",
            library=digest,
            kernels=library.kernels,
            rejections=tuple(rejection.outcome for rejection in library.rejected),
            options=run,
            worker_variables=recipe.worker_variables,
            rounds=rounds,
            reference=self._settings.reference,
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
            plugins=loose_plugins(session),
            architectures=architecture_files(session),
        )

    def _reference_unit(self, kernels: Sequence[SelectedKernel]) -> bytes:
        """Return the encoded problem of middling work with kernels: it is measured on every device."""

        def fits(kernel: SelectedKernel, run: ProblemCase) -> bool:
            return kernel.ndim == run.problem.ndim and run.takes(kernel)

        problems = [
            problem for problem in self._request.problems if any(fits(kernel, problem) for kernel in kernels)
        ]
        if not problems:
            return b""
        ordered = sorted(problems, key=lambda problem: problem.problem.real_flop)
        chosen = ordered[len(ordered) // 2]
        kernel = next(kernel for kernel in kernels if fits(kernel, chosen))
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

        def before(planned: PlannedContest) -> None:
            if planned.problem not in announced:
                announced.add(planned.problem)
                hooks.before_problem(planned.problem, planned.problem_index)

        def after(attempt: Attempt) -> None:
            problem = attempt.key.problem
            hooks.after_outcome(problem, attempt.outcome(problems.get(problem, 0)))

        return ClusterWatch(
            tell=session.tell,
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
