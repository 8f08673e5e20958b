"""Sweeps: many kernels on many problems, in rounds, into a store, for as long as it takes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.building import build_dir_for, build_library
from ckprof.api.events import SweepMessage, SweepPlanned, SweepProgress, SweepRound, SweepWarning
from ckprof.api.observers import observers
from ckprof.build.jobs import available_cpus
from ckprof.model.recipe import Purpose
from ckprof.plugin.protocols import RoofTarget
from ckprof.run.opened_device import OpenedDevice
from ckprof.store.shard import ShardWriter
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.engine import Sweep, Watch
from ckprof.sweep.identity import built_kernels, new_session, planned_kernels, shared_key
from ckprof.sweep.kernel_bench import KernelBench, PluginHooks, bench_library
from ckprof.sweep.plan import PlanRequest, make_plan
from ckprof.sweep.roofs import evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.requests import StoreOptions, SweepOptions
    from ckprof.api.running import RunRequest
    from ckprof.api.session import Session
    from ckprof.api.tune_requests import TuneOptions
    from ckprof.model.problem import Problem
    from ckprof.model.recipe import BuildRecipe
    from ckprof.model.roof import Roof
    from ckprof.plugin.protocols import Target
    from ckprof.run.options import RunOptions
    from ckprof.store.key import DeviceKey
    from ckprof.store.query import PastVisit, SharedKey
    from ckprof.sweep.cluster.tally import ClusterSummary
    from ckprof.sweep.engine import Summary
    from ckprof.sweep.plan import Plan, PlannedKernel


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
    #: what the cards of an engine did; ``None`` without one
    cluster: ClusterSummary | None = None


def is_shard_folder(path: Path | str) -> bool:
    """Say whether ``--store`` names a folder for shards: an existing one, or a name that ends in a slash."""
    return str(path).endswith("/") or Path(path).is_dir()


def plan_sweep(session: Session, request: RunRequest, options: SweepOptions) -> Plan:
    """Plan without building: earlier objects of an instance count as its own.

    :raises CkprofError: the store cannot be read, or there is no toolchain.
    """
    build_dir = build_dir_for(session, request.selection.candidates, request.build, Purpose.RUN)
    run = sweep_run_options(request, build_dir.recipe)
    target = session.target(request.build.target)
    shared = shared_key(build_dir.direction.id, target, build_dir.recipe, run, OpenedDevice())
    kernels = planned_kernels(request.selection.candidates, None)
    path = Path(options.store)
    if is_shard_folder(options.store) or not path.exists():
        return make_plan(plan_request(request, options, kernels, shared), _nothing)
    with Store(path) as store:
        if target.embedded and options.on_engine:
            from ckprof.sweep.cluster.local import cpus_per_worker

            units = run.cpu_threads or cpus_per_worker(available_cpus(), len(options.devices))
            shared = replace(shared, device=replace(shared.device, compute_units=units))
        elif not target.embedded:
            shared = replace(shared, device=only_device(store, shared))
        return make_plan(plan_request(request, options, kernels, shared), store.past_visits)


def only_device(store: Store, shared: SharedKey) -> DeviceKey:
    """Return the store's device of that target and architecture, if there is just one.

    A device says its name only to a library that is built.
    """
    wanted = (shared.device.target, shared.device.arch)
    found = [one for one in store.devices() if (one.target, one.arch) == wanted]
    return found[0] if len(found) == 1 else shared.device


def run_sweep(session: Session, request: RunRequest, options: SweepOptions) -> SweepResult:
    """Build what is missing, measure what is left, and store every outcome before the next begins.

    :raises CkprofError: the store cannot be written, no toolchain, or a plugin broke its contract.
    """
    with ExitStack() as stack:
        # The store first: who cannot write it need not build for hours.
        sink = open_sink(session, options)
        stack.callback(sink.close)
        library = build_library(
            session,
            request.selection.candidates,
            request.build,
            Purpose.RUN,
            keep_invalid=request.selection.keep_invalid,
        )
        run = sweep_run_options(request, library.recipe)
        seen_by = observers(session)
        bench = stack.enter_context(
            KernelBench(
                bench_library(library), run, PluginHooks(library, session.manager), seen_by, session.tell
            )
        )
        target = session.target(request.build.target)
        shared = shared_key(library.direction.id, target, library.recipe, run, bench.device)
        past = sink.reader.past_visits if isinstance(sink, StoreWriter) else _nothing
        plan = make_plan(plan_request(request, options, built_kernels(library), shared), past)
        session.tell(SweepPlanned(plan=plan, dry_run=False))
        roofs = _roofs(target, bench, library.recipe.arch, run.device) if plan.open_contests else ()
        further = evidence(shared.device, roofs)
        record = new_session(run, options.rounds.seed, options.tags, bench.device.text, further)
        summary = Sweep(plan, bench, sink, record, _watch(session, options)).run()
    return SweepResult(plan=plan, summary=summary, path=sink.path, session=record.uid)


def _roofs(target: Target, bench: KernelBench, arch: str, device: int) -> tuple[Roof, ...]:
    """Return what the device reaches: by its record, and measured now."""
    recorded = target.theoretical_roofs(arch, device) if isinstance(target, RoofTarget) else ()
    return (*recorded, *bench.measure_roofs())


def open_sink(
    session: Session, options: SweepOptions | StoreOptions | TuneOptions
) -> StoreWriter | ShardWriter:
    """Open the store, or make a shard in a folder of shards."""
    if is_shard_folder(options.store):
        return ShardWriter(Path(options.store))
    return StoreWriter(
        options.store,
        wait_s=None if options.wait else 0,
        on_wait=lambda text: session.tell(SweepMessage(text=text)),
    )


def sweep_run_options(request: RunRequest, recipe: BuildRecipe) -> RunOptions:
    """Return how kernels are run: always verified, and with their raw samples."""
    return replace(
        request.options,
        last_level_cache_bytes=recipe.last_level_cache_bytes,
        peak_flops=recipe.peak_flops,
        verify=True,
        keep_samples=True,
    )


def plan_request(
    request: RunRequest, options: SweepOptions, kernels: Sequence[PlannedKernel], shared: SharedKey
) -> PlanRequest:
    return PlanRequest(
        kernels=kernels,
        problems=request.problems,
        splits=request.options.splits,
        shared=shared,
        rounds=options.rounds,
        fresh=options.fresh,
        retry_failed=options.retry_failed,
        one_card=options.on_engine,
    )


def _nothing(shared: SharedKey, problem: Problem) -> Sequence[PastVisit]:
    """Say what was measured where there is no store to ask."""
    del shared, problem
    return ()


def _watch(session: Session, options: SweepOptions) -> Watch:
    tell = session.tell
    return Watch(
        on_progress=lambda progress: tell(SweepProgress(progress=progress)),
        on_round=lambda planned, report: tell(SweepRound(planned=planned, report=report)),
        on_warning=lambda text: tell(SweepWarning(text=text)),
        should_stop=options.should_stop,
        max_time_s=options.max_time_s,
    )
