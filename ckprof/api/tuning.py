"""Guided searches, on a device or in recorded measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.baselines import baseline_sources
from ckprof.api.events import TuneProgress
from ckprof.api.measured_tables import read_tables
from ckprof.api.model_training import gemm_sizes_of, load_model, require_device, require_target
from ckprof.api.searched_device import SearchedDevice
from ckprof.api.timed_kernels import KernelKind, runs_elsewhere
from ckprof.api.tune_comparison import compare_with_baselines
from ckprof.arch.architectures import architectures
from ckprof.errors import InputError
from ckprof.selection.training import LEAST_PROBLEMS, TrainRequest, train
from ckprof.tune.library_plan import confirm_library
from ckprof.tune.loop import TuneLimits, TuneLoop, TuneStop
from ckprof.tune.outlook import Forecaster
from ckprof.tune.replay import ReplayBench, replay_space
from ckprof.tune.result import TuneResult, tune_result
from ckprof.tune.strategies import SearchStrategies
from ckprof.tune.strategy import SearchRequest

if TYPE_CHECKING:
    from ckprof.api.running import RunRequest
    from ckprof.api.session import Session
    from ckprof.api.tune_requests import ReplayOptions, SearchOptions, TuneOptions
    from ckprof.selection.measurements import Measurements
    from ckprof.selection.model import TimeModel
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.loop import TuneBench
    from ckprof.tune.space import SearchSpace

#: share of the time of a search on a device that planning may take
_PLANNING_SHARE = 0.01


def replay(session: Session, options: ReplayOptions) -> TuneResult:
    """Search recorded measurements, and count the time that building and measuring would take.

    :raises UsageError: the strategy is unknown or cannot begin, or the direction is no matrix product.
    :raises InputError: a table or the model is wrong, or none of the kernels is in the table.
    """
    direction = session.registry.operation(options.direction)
    target = session.target(options.target).id if options.target else ""
    kind = KernelKind(
        direction=direction.id,
        dtype=options.dtype.value,
        target=target if runs_elsewhere(session.registry, target) else "",
    )
    table = read_tables(session.registry, options.files, kind).without_glitches()
    if options.selection is not None:
        table = _restricted(table, {one.name for one in options.selection.candidates}, options.files[0])
    space = replay_space(table, dict(options.counts))
    bench = ReplayBench(table, space, options.costs)
    known = architectures().get(table.arch)
    units = options.units or table.units or (known.compute_units if known is not None else 0)
    searched = SearchedDevice(
        kind=replace(kind, target=table.target), dtype=options.dtype, name=table.arch, units=units
    )
    request = search_request(session, space, options.search, searched)
    return search(session, bench, bench.knowledge(space), request, options.search)


def tune(session: Session, request: RunRequest, options: TuneOptions) -> TuneResult:
    """Search on a device: build and measure what promises most, and store every outcome.

    :raises UsageError: the instances are of several types, layouts or dimensions, or the strategy
        or a baseline is unknown.
    :raises CkprofError: the store cannot be written, there is no toolchain, or a plugin broke its contract.
    """
    from ckprof.api.tune_bench import open_bench

    # who cannot be compared with what is missing need not search for hours
    baseline_sources(session, options.baselines, request.build.target)
    with open_bench(session, request, options) as bench:
        asked = search_request(session, bench.space, options.search, bench.searched)
        asked = replace(asked, planning_share=_PLANNING_SHARE)
        found = search(session, bench, bench.knowledge, asked, options.search)
    if not options.baselines or found.stop is TuneStop.REQUESTED:
        return found
    return replace(found, comparison=compare_with_baselines(session, request, options, found))


def search(
    session: Session,
    bench: TuneBench,
    knowledge: Knowledge,
    request: SearchRequest,
    options: SearchOptions,
) -> TuneResult:
    """Run a search on a bench."""
    strategy = SearchStrategies(session.manager).start(options.strategy, request)
    limits = TuneLimits(
        budget_s=options.budget_s,
        should_stop=options.should_stop,
        on_progress=lambda progress: session.tell(TuneProgress(progress=progress, space=request.space)),
        most_cells=options.most_measurements,
    )
    loop = TuneLoop(knowledge, bench, limits)
    stop = loop.run(strategy)
    forecaster = Forecaster(request)
    if stop is TuneStop.SETTLED:
        stop = confirm_library(loop, forecaster, options.kernels, options.tie) or stop
    return tune_result(
        loop, forecaster, stop, strategy=options.strategy, tie=options.tie, most=options.kernels
    )


def search_request(
    session: Session, space: SearchSpace, options: SearchOptions, searched: SearchedDevice
) -> SearchRequest:
    """Return what a strategy is told.

    :raises InputError: the model or the lessons are of another device, target or direction.
    """
    kind, dtype = searched.kind, searched.dtype
    lessons = None
    if options.lessons:
        lessons = read_tables(session.registry, options.lessons, kind).without_glitches()
        other = lessons.arch and searched.name and lessons.arch != searched.name
        if (other or lessons.target != kind.target) and not options.force_model:
            was = f"{lessons.target} {lessons.arch}".strip()
            here = f"{kind.target} {searched.name}".strip()
            raise InputError(
                f"it was measured on {was}, which says little about {here}; take it with --force",
                options.lessons[0],
            )
    sizes = gemm_sizes_of(session.registry, kind.direction, dtype.value)
    model: TimeModel | None = None
    if options.model is not None:
        model = load_model(options.model)
        if model.direction != kind.direction:
            raise InputError(f"the model is of {model.direction}, not {kind.direction}", options.model)
        if not options.force_model:
            require_target(model, kind.target, options.model)
            require_device(model, searched.name, options.model)
    elif lessons is not None and len(lessons.problems) >= LEAST_PROBLEMS and searched.units > 0:
        model = train(
            TrainRequest(
                table=lessons,
                direction=kind.direction,
                gemm_sizes=sizes,
                dtype=dtype.value,
                element_bytes=dtype.properties.size_bytes,
                device=searched.name,
                units=searched.units,
                target=lessons.target,
            )
        )
    return SearchRequest(
        space=space,
        gemm_sizes=sizes,
        element_bytes=dtype.properties.size_bytes,
        units=searched.units,
        model=model,
        lessons=lessons,
        tie=options.tie,
        seed=options.seed,
    )


def _restricted(table: Measurements, names: set[str], path: Path) -> Measurements:
    """Return the part of a table that is about some kernels.

    :raises InputError: there is none.
    """
    kernels = {name: traits for name, traits in table.kernels.items() if name in names}
    if not kernels:
        raise InputError("it has no time of the kernels of the list: their names differ", path)
    times = {key: time for key, time in table.times.items() if key[1] in kernels}
    left = tuple(sorted({index for index, _, _ in times}))
    return replace(table, kernels=kernels, times=times).subset(left)
