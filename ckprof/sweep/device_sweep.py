"""Sweeps: many kernels on many problems, in rounds, into a store, for as long as it takes."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.kernels.build_dir import build_dir_for
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.observers import PluginHooks, observers
from ckprof.measure.options import options_on
from ckprof.measure.support import build_checked_library
from ckprof.model.device import DeviceIdentity
from ckprof.model.recipe import Purpose
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.identity import device_key, identify_device, shared_key
from ckprof.sweep.plan import PlanRequest, announce, make_plan
from ckprof.sweep.recording import Recorder, is_shard_folder, open_sink, session_record
from ckprof.sweep.resuming import whole_rankings
from ckprof.sweep.sweep import Sweep, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Observer
    from ckprof.session import Session
    from ckprof.store.query import PastVisit, SharedKey
    from ckprof.sweep.plan import Plan
    from ckprof.sweep.requests import SweepOptions
    from ckprof.sweep.resuming import Counting
    from ckprof.sweep.sweep import Summary


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
    with KernelBench(own, options, observers, session.tell, before_problem=before, lock=lock) as bench:
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
        return make_plan(plan_request(request, options, kernels, shared, counting), _nothing)
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
    if not device.is_emulated:
        return replace(shared, device=device)
    query = StoreQuery(target=device.target, arch=device.arch)
    known = next((row.key for row in store.measurements(query) if row.key.device == device), None)
    if known is None:
        return replace(shared, device=device)
    return replace(
        shared,
        device=device,
        toolchain=replace(shared.toolchain, driver=known.toolchain.driver),
        method=replace(shared.method, clock=known.method.clock),
    )


def run_sweep(session: Session, request: RunRequest, options: SweepOptions) -> SweepResult:
    """Build what is missing, measure what is left, and store every outcome before the next begins.

    :raises CkprofError: the store cannot be written, no toolchain, or a plugin broke its contract.
    """
    with ExitStack() as stack:
        # The store first: who cannot write it need not build for hours.
        sink = open_sink(session, options.store, wait=options.wait)
        stack.callback(sink.close)
        library = build_checked_library(session, request.selection, request.build)
        run = sweep_run_options(request.options, library.recipe)
        opened = stack.enter_context(open_library(session, library, run, observers(session)))
        bench = opened.bench
        past = sink.reader.past_visits if isinstance(sink, StoreWriter) else _nothing
        plan = make_plan(plan_request(request, options, library.kernels, opened.shared), past)
        announce(plan, session.tell)
        seed, measures = options.rounds.seed, bool(plan.open_contests)
        of_all = session, library, run, bench, opened.shared, seed, options.tags, request.problems
        record = session_record(*of_all, measures=measures)
        recorder = Recorder(sink, record, opened.shared, least_samples=run.min_samples)
        summary = Sweep(plan, bench, recorder, _watch(session, options, opened.hooks)).run()
    return SweepResult(plan=plan, summary=summary, path=sink.path, session=record.uid)


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


def _nothing(shared: SharedKey, problem: Problem) -> Sequence[PastVisit]:
    """Say what was measured where there is no store to ask."""
    del shared, problem
    return ()


def _watch(session: Session, options: SweepOptions, hooks: PluginHooks) -> Watch:
    return Watch(
        tell=session.tell,
        on_stored=lambda sample, _: hooks.after_outcome(sample.group.problem, sample.outcome),
        should_stop=options.should_stop,
        max_time_s=options.max_time_s,
    )
