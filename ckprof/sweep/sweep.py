"""Sweeps: many kernels on many problems, in rounds, each attempt stored before the next begins."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.events import Level, Message
from ckprof.formatting import counted, factor
from ckprof.kernels.build_dir import build_dir_for
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.canary import find_canary
from ckprof.measure.observers import PluginHooks
from ckprof.measure.options import options_on
from ckprof.measure.rounds_loop import RoundsLoop, timing_of
from ckprof.measure.support import build_needed_library
from ckprof.model.device import DeviceIdentity
from ckprof.model.recipe import Purpose
from ckprof.model.results import second_text
from ckprof.session import ignore
from ckprof.store.attempt import PLANNED, Attempt, Mark
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.identity import device_key, identify_device, shared_key
from ckprof.sweep.plan import PlanRequest, announce, make_plan, whole_rankings
from ckprof.sweep.recording import Recorder, is_shard_folder, open_sink, session_record
from ckprof.sweep.requests import SweepProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.events import Event
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.rounds import KernelConfiguration, VisitReport
    from ckprof.measure.rounds_loop import Bench, KernelGroup, Sample
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.outcome import Status
    from ckprof.model.ranking import Resolution
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Observer
    from ckprof.session import Session
    from ckprof.store.query import SharedKey
    from ckprof.sweep.plan import Counting, Plan
    from ckprof.sweep.requests import SweepOptions


class Stop(Enum):
    """Why a sweep ended."""

    #: nothing is left to do
    DONE = "done"
    MAX_TIME = "max-time"
    #: asked for from outside: Ctrl-C, SIGTERM, SIGHUP
    REQUESTED = "requested"


@dataclass(slots=True, kw_only=True)
class Summary:
    """What a sweep did, or has done so far."""

    stop: Stop = Stop.DONE
    wall_s: float = 0.0
    #: of the attempts of this session
    statuses: Counter[Status] = field(default_factory=Counter)
    #: rankings that are finished, and all of them
    rankings_done: int
    rankings: int
    rounds: int = 0
    #: visits in which the canaries were off
    disturbed: int = 0
    dropped: int = 0
    #: passes of this session
    passes: int = 0
    #: position of the problem, and what is known of its first place, of each ranking that is finished
    resolutions: list[tuple[int, Resolution]] = field(default_factory=list)
    #: warning -> how often
    warnings: Counter[str] = field(default_factory=Counter)

    @property
    def attempts(self) -> int:
        """Attempts of this session."""
        return self.statuses.total()

    @property
    def failures(self) -> int:
        """Attempts that failed."""
        return sum(count for status, count in self.statuses.items() if status.is_failure)


@dataclass(slots=True, kw_only=True)
class Watch:
    """What the caller of a sweep is notified of, and how it ends one."""

    #: called with what happens, see :mod:`ckprof.sweep.requests`
    emit: Callable[[Event], None] = ignore
    #: called with each sample, and its attempt, after it is stored
    on_stored: Callable[[Sample, Attempt], None] = lambda sample, attempt: None
    #: asked before every attempt
    should_stop: Callable[[], bool] = lambda: False
    #: seconds after which no further attempt begins
    max_time_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    #: how many were seen of each kind; the first is emitted. Sweeps that follow one another may share them
    warnings: Counter[str] = field(default_factory=Counter)


class Sweep(RoundsLoop):
    """Runs the open rankings of a plan.

    :param bench: where to measure.
    :param recorder: stores each attempt before the next begins.
    """

    def __init__(self, plan: Plan, bench: Bench, recorder: Recorder, watch: Watch) -> None:
        super().__init__(bench, watch.clock)
        self._plan = plan
        self._recorder = recorder
        self._watch = watch
        rankings = len(plan.rankings)
        self._summary = Summary(
            rankings=rankings,
            rankings_done=rankings - len(plan.open_rankings),
            warnings=watch.warnings,
        )
        self._seen_warnings = watch.warnings
        self._attempt_s = plan.usual_attempt_s
        self._started = 0.0
        #: name and time of the fastest attempt of each ranking
        self._best: dict[int, tuple[str, float]] = {}

    def run(self) -> Summary:
        """Measure until nothing is left, the time is over, or a stop is requested.

        :raises CkprofError: attempts cannot be stored or measured any more; what is stored stays.
        """
        self._started = self._clock()
        for planned, samples in self.visits(self._plan.open_rankings):
            for sample in samples:
                self._store(sample)
            if self._summary.stop is not Stop.DONE:
                break
            self._summary.rankings_done += planned.ranking.ending is not None
        self._summary.resolutions = self._plan.resolutions
        self._summary.wall_s = self._clock() - self._started
        self._summary.passes = self._passes
        return self._summary

    def _warned(self, text: str) -> None:
        self._watch.emit(Message(text, Level.WARNING))

    def _device_lost(self, sample: Sample) -> None:
        self._recorder.add_lost(sample)

    def _stops(self) -> bool:
        limit = self._watch.max_time_s
        if self._watch.should_stop():
            self._summary.stop = Stop.REQUESTED
        elif limit is not None and self._clock() - self._started >= limit:
            self._summary.stop = Stop.MAX_TIME
        return self._summary.stop is not Stop.DONE

    def _store(self, sample: Sample) -> None:
        attempt = self._recorder.add(sample)
        self._summary.statuses[attempt.status] += 1
        wall_s = attempt.conditions.wall_s or 0.0
        self._attempt_s = wall_s if self._attempt_s is None else 0.9 * self._attempt_s + 0.1 * wall_s
        if Mark.BIMODAL in attempt.marks:
            text = f"the samples of {attempt.kernel.name} fall into two groups: the machine has two speeds"
            self._warn(text, kind="samples in two groups")
        if Mark.CUT_OFF in attempt.marks:
            text = f"{attempt.kernel.name} got too little time for its samples; see --round-time"
            self._warn(text, kind="samples cut off")
        if Mark.NOT_LAUNCHED in attempt.marks:
            text = f"kernels cannot be launched, {attempt.reason}; the same command measures them again"
            self._warn(text, kind="kernels that were not launched")
        self._watch.on_stored(sample, attempt)
        timing, ranking = timing_of(sample.outcome), id(sample.group.ranking)
        best = self._best.get(ranking)
        if timing is not None and (best is None or timing.time_ms < best[1]):
            self._best[ranking] = best = attempt.kernel.shown, timing.time_ms
        if attempt.status.is_failure:
            text = f"{attempt.status.value}: {attempt.kernel.name} {attempt.reason}".rstrip()
            self._watch.emit(Message(text, Level.DETAIL))
        left = self.left(sample.group)
        self._watch.emit(
            SweepProgress(
                rankings_done=self._summary.rankings_done,
                rankings=self._summary.rankings,
                attempts=self._summary.attempts,
                failures=self._summary.failures,
                left=left,
                eta_s=self._attempt_s * left,
                last=attempt,
                best=best,
            )
        )

    def _visit_over(self, planned: KernelGroup, report: VisitReport[KernelConfiguration]) -> None:
        self._summary.rounds += len(report.rounds)
        self._summary.dropped += len(report.dropped)
        self._summary.disturbed += report.disturbed
        self._recorder.end_visit(report)
        emit, kernels = self._watch.emit, planned.kernels
        where = f"problem {planned.problem_index}, pass {self._passes}"
        if report.disturbed:
            then = "the visit is repeated" if report.repeats else "its times are marked"
            emit(Message(f"{where}: the canaries are off, the machine is not as it was; {then}"))
        for cell, ratio in report.dropped.items():
            text = f"{where}: {kernels[cell.instance].name} is pruned, {factor(ratio)} the time of the best"
            emit(Message(text, Level.DETAIL))
        if report.ending is not None:
            best = kernels[report.best.instance].name if report.best is not None else "none"
            emit(Message(f"{where}: {report.ending.value}, best: {best}", Level.DETAIL))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLibrary:
    """A library whose kernels can be measured."""

    library: BuiltLibrary
    bench: KernelBench
    #: what its measurements have in common, but for data type and layout
    shared: SharedKey
    hooks: PluginHooks


@contextmanager
def open_library(
    session: Session,
    library: BuiltLibrary,
    options: RunOptions,
    observers: Sequence[Observer] = (),
    lock: str | None = "",
) -> Iterator[OpenedLibrary]:
    """Have a worker load a library inside of a block; plugins learn of its problems.

    :param options: of :func:`sweep_run_options`.
    :param lock: see :class:`~ckprof.measure.bench.KernelBench`.
    :raises ToolchainError: the library cannot be loaded, or its target rejects the device.
    """
    hooks, target = PluginHooks(session, library), session.registry.targets.find(library.recipe.target)
    own = BenchLibrary.of(library)
    before = hooks.before_problem
    with KernelBench(own, options, observers, session.emit, before_problem=before, lock=lock) as bench:
        shared = shared_key(library.direction.id, target, library.recipe, options, bench.identity)
        yield OpenedLibrary(library=library, bench=bench, shared=shared, hooks=hooks)


def sweep_run_options(options: RunOptions, recipe: BuildRecipe) -> RunOptions:
    """Return how the kernels of sweeps are run: always verified, and with their raw samples."""
    return replace(options_on(options, recipe), verify=True, keep_samples=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What a sweep did."""

    plan: Plan
    #: ``None`` after a dry run
    summary: Summary | None
    #: where the outcomes are: the store, or this session's shard; ``None`` after a dry run
    path: Path | None
    #: uid of the session in the store; empty on an engine, where each worker has its own
    session: str = ""
    #: what else the runner of the sweep says of it, for people
    details: tuple[str, ...] = ()
    #: a ranking was given up, since nothing could measure it to its end
    unfinished: bool = False


def plan_sweep(
    session: Session,
    request: RunRequest,
    options: SweepOptions,
    *,
    cpus: int | None = None,
    counting: Counting = whole_rankings,
) -> Plan:
    """Plan without building: earlier objects of an instance count as its own.

    :param cpus: that a worker on this host is bound to, if not all that this process may use.
    :param counting: what counts of earlier attempts.
    :raises CkprofError: the store cannot be read, or there is no toolchain.
    """
    build_dir = build_dir_for(session, request.selection.candidates, request.build, Purpose.RUN)
    run = sweep_run_options(request.options, build_dir.recipe)
    target = session.target(request.build.target)
    shared = shared_key(build_dir.direction.id, target, build_dir.recipe, run, DeviceIdentity())
    kernels = [candidate.selected() for candidate in request.selection.candidates]
    path = Path(options.store)
    if is_shard_folder(options.store) or not path.exists():
        return make_plan(plan_request(request, options, kernels, shared, counting), lambda *_: ())
    with Store(path) as store:
        on_host = target.embedded or bool(run.device_name)
        if on_host and cpus is not None:
            recipe = build_dir.recipe
            identity = identify_device(
                target, recipe.arch, recipe.machine_identity, run, DeviceIdentity(), cpus
            )
            shared = replace(shared, device=device_key(recipe.target, recipe.arch, identity))
        if not target.embedded:
            shared = as_stored(store, shared)
        return make_plan(plan_request(request, options, kernels, shared, counting), store.past_visits)


def as_stored(store: Store, shared: SharedKey) -> SharedKey:
    """Return the key with the store's device of that target and architecture, if there is just one.

    A device says its name only to a library that is built; an emulated one its driver and its clock, too.
    """
    own = shared.device
    wanted = own.target, own.arch, own.host
    devices = [one for one in store.devices() if (one.target, one.arch, one.host) == wanted]
    if len(devices) != 1:
        return shared
    (device,) = devices
    query = StoreQuery(target=device.target, arch=device.arch)
    measured = (row.key for row in store.measurements(query) if row.key.device == device)
    toolchain, method = shared.toolchain, shared.method
    if device.is_emulated and (known := next(measured, None)) is not None:
        toolchain = replace(toolchain, driver=known.toolchain.driver)
        method = replace(method, clock=known.method.clock)
    return replace(shared, device=device, toolchain=toolchain, method=method)


def run_sweep(session: Session, request: RunRequest, options: SweepOptions) -> SweepResult:
    """Build what is missing, measure what is left, and store every outcome before the next begins.

    :raises CkprofError: the store cannot be written, no toolchain, or a plugin broke its contract.
    """
    with ExitStack() as stack:
        # The store first: who cannot write it need not build for hours.
        sink = open_sink(session, options.store, wait=options.wait)
        stack.callback(sink.close)
        library = build_needed_library(session, request)
        run = sweep_run_options(request.options, library.recipe)
        opened = stack.enter_context(open_library(session, library, run, [*session.registry.observers]))
        bench, seconds = opened.bench, opened.bench.second
        bench.canary = find_canary(session, library.recipe.target, library.recipe.arch, run)
        past = sink.reader.past_visits if isinstance(sink, StoreWriter) else lambda *_: ()
        plan = make_plan(plan_request(request, options, library.kernels, opened.shared), past)
        announce(plan, session.emit)
        seconds.known, seconds.should_stop = {} if options.fresh else plan.second, options.should_stop
        seed, measures = options.rounds.seed, bool(plan.open_rankings)
        of_all = session, library, run, bench, opened.shared, seed, options.tags, request.problems
        record = session_record(*of_all, measures=measures)
        planned = {"known": plan.known, "missing": plan.least_attempts}
        record = replace(record, environment={**record.environment, PLANNED: planned})
        recorder = Recorder(sink, record, opened.shared, least_samples=run.min_samples)
        watch = Watch(
            emit=session.emit,
            on_stored=lambda sample, _: opened.hooks.after_outcome(sample.group.problem, sample.outcome),
            should_stop=options.should_stop,
            max_time_s=options.max_time_s,
        )
        summary = Sweep(plan, bench, recorder, watch).run()
    details = [second_text(seconds.lines)] if seconds.lines else []
    unproven = [key for key in plan.second if not seconds.digest(key)]
    if run.second_problem and unproven:
        text = "not verified on second problems, or wrong there; --fresh measures them again"
        details.append(f"{counted(len(unproven), 'kernel')} with times in the store: {text}")
    return SweepResult(plan=plan, summary=summary, path=sink.path, session=record.uid, details=tuple(details))


def plan_request(
    request: RunRequest,
    options: SweepOptions,
    kernels: Sequence[SelectedKernel],
    shared: SharedKey,
    counting: Counting = whole_rankings,
) -> PlanRequest:
    """Return what is asked of a plan."""
    return PlanRequest(
        kernels=kernels,
        problems=request.problems,
        splits=request.options.splits,
        shared=shared,
        rounds=options.rounds,
        fresh=options.fresh,
        retry_failed=options.retry_failed,
        counting=counting,
    )
