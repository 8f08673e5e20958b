"""Guided searches, on a device or in recorded measurements."""

from __future__ import annotations

import math
import time
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from ckprof.errors import InputError
from ckprof.events import Level, Message
from ckprof.measure.baselines import baseline_sources
from ckprof.model.architecture import architectures
from ckprof.model.outcome import RoundTime
from ckprof.model.ranking import kernel_time
from ckprof.model.types import DataType
from ckprof.sweep.requests import RoundRunOptions
from ckprof_plugins.tuning.baseline_comparison import compare_with_baselines, comparison_s
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.model_use import (
    KernelKind,
    gemm_sizes_of,
    kind_of_tables,
    load_model,
    require_device,
    require_target,
)
from ckprof_plugins.tuning.search.guarantee import GuaranteedSearch
from ckprof_plugins.tuning.search.loop import MeasuredPair, TuneLoop, TuneStop
from ckprof_plugins.tuning.search.observations import Costs, Observations, SearchKernel, SearchSpace
from ckprof_plugins.tuning.search.result import TuneResult, tune_result
from ckprof_plugins.tuning.search.strategy import SearchRequest, StrategySearch
from ckprof_plugins.tuning.strategies import STRATEGIES
from ckprof_plugins.tuning.time_model.selector import precedence
from ckprof_plugins.tuning.training import LEAST_PROBLEMS, fit_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.model.problem import Problem
    from ckprof.profiler import Profiler
    from ckprof.session import Session
    from ckprof_plugins.tuning.options import ReplayOptions, SearchOptions, TuneOptions
    from ckprof_plugins.tuning.search.loop import TuneBench
    from ckprof_plugins.tuning.search.observations import Pair
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import TimeModel


def replay_space(table: Measurements, counts: Mapping[Problem, int] | None = None) -> SearchSpace:
    """Return what can be searched in a table.

    Of kernels with equal predictions, those come first that the selector prefers.

    :param counts: occurrences of the problems; 1 for those that are missing.
    """
    splits: dict[str, list[int]] = {}
    for name, count in table.choices:
        splits.setdefault(name, []).append(count)
    names = precedence({name: table.kernels[name] for name in splits})
    return SearchSpace(
        problems=table.problems,
        counts=tuple((counts or {}).get(problem, 1) for problem in table.problems),
        kernels=tuple(SearchKernel(key=name, name=name, traits=table.kernels[name]) for name in names),
        choices=tuple((kernel, count) for kernel, name in enumerate(names) for count in splits[name]),
    )


class ReplayBench:
    """Looks times up.

    :param table: what was measured; a choice without a time on a problem counts as not supported there.
    :param space: that of :func:`replay_space`.
    :param options: what is counted for builds and measurements.
    """

    def __init__(self, table: Measurements, space: SearchSpace, options: ReplayOptions) -> None:
        self._space = space
        self._costs = Costs(
            start_s=options.start_s,
            unit_s=options.unit_s,
            kernel_s=options.build_s,
            visit_s=options.visit_s,
            jobs=options.jobs,
            per_unit=options.per_unit,
        )
        #: whether kernels are measured while others are built
        self.overlaps = options.overlap
        self._seconds = 0.0
        #: kernels of the build under way, when it began, and when it is over
        self._building: tuple[int, float, float] | None = None
        self._times = np.full(space.shape, np.nan)
        places = {(space.kernels[kernel].name, splits): i for i, (kernel, splits) in enumerate(space.choices)}
        for (problem, name, splits), time_us in table.times.items():
            self._times[problem, places[name, splits]] = time_us
        self.possible = np.isfinite(self._times)

    def observations(self) -> Observations:
        """Return what a search knows at its beginning: what is supported, and what things cost."""
        observations = Observations(self._space, deepcopy(self._costs))
        observations.possible[:] = self.possible
        # what takes no time is done
        observations.built[:] = self._costs.build_s(1) == 0.0
        return observations

    def seconds(self) -> float:
        """Return the seconds that were counted."""
        return self._seconds

    def unsupported(self, pairs: Sequence[Pair]) -> Iterable[Pair]:
        """Return nothing: support is known from the beginning."""
        del pairs
        return ()

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Note when the build will be over."""
        seconds = self._costs.build_s(len(kernels))
        self._building = len(kernels), self._seconds, self._seconds + seconds

    def build_is_over(self) -> bool:
        """Say whether as many seconds have passed."""
        return self._building is not None and self._seconds >= self._building[2]

    def end_build(self, costs: Costs) -> Mapping[int, str]:
        """Let the seconds pass that are left.

        :raises ValueError: nothing is being built.
        """
        if self._building is None:
            raise ValueError("nothing is being built")
        kernels, began, over = self._building
        self._building = None
        # without overlap, the build waits until it is waited for
        self._seconds = max(self._seconds, over) if self.overlaps else self._seconds + over - began
        costs.saw_build(kernels, over - began)
        return {}

    def abandon_build(self) -> None:
        """Forget the build."""
        self._building = None

    def measure(self, pairs: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Look the times up, as many as there is time for."""
        begun = self._seconds
        for pair in pairs:
            if most_s is not None and self._seconds - begun >= most_s:
                return
            self._seconds += self._costs.visit_s
            yield pair, kernel_time([RoundTime(time_ms=float(self._times[pair]) / 1000, spread_ms=0.0)])

    #: recorded times have nothing more to tell
    visits = 1

    def confirm(self, pairs: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Return nothing."""
        del pairs, most_s
        return ()


#: share of the time of a search on a device that planning may take
_PLANNING_SHARE = 0.01


def replay(session: Session, options: ReplayOptions) -> TuneResult:
    """Search recorded measurements, and count the time that building and measuring would take.

    :raises UsageError: the strategy is unknown or cannot begin, or the direction is no matrix product.
    :raises InputError: a table or the model is wrong, or none of the kernels is in the table.
    """
    direction = session.registry.operation(options.direction)
    kind = kind_of_tables(session, direction.id, options.dtype, options.target)
    table = read_tables(session.registry, options.files, kind).without_glitches()
    if options.selection is not None:
        names, path = {candidate.name for candidate in options.selection.candidates}, options.files[0]
        kernels = {name: traits for name, traits in table.kernels.items() if name in names}
        if not kernels:
            raise InputError("it has no time of the kernels of the list: their names differ", path)
        times = {key: time_us for key, time_us in table.times.items() if key[1] in kernels}
        left = tuple(sorted({index for index, _, _ in times}))
        table = replace(table, kernels=kernels, times=times).subset(left)
    space = replay_space(table, dict(options.counts))
    bench = ReplayBench(table, space, options)
    known = architectures().get(table.arch)
    compute_units = table.compute_units or (known.compute_units if known else 0)
    kind = replace(kind, target=table.target, device=table.arch, compute_units=compute_units)
    request = search_request(session, space, options.search, kind)
    return search(session, bench, bench.observations(), request, options.search)


def tune(
    profiler: Profiler,
    query: InstanceQuery,
    problems: Sequence[str | Problem],
    options: TuneOptions,
    *,
    build: BuildOptions | None = None,
    run: RunOptions | None = None,
) -> TuneResult:
    """Find the best kernels for some problems without measuring them all: what ``ckprof tune`` does.

    A problem that is named several times counts as often. The same call resumes an earlier one that was
    stopped, at whatever moment.

    :param query: which instances, all of one direction, type, layout and number of dimensions.
    :param problems: lines or problems.
    :param options: how kernels are looked for, how long, and where the outcomes go.
    :param run: how kernels are run and timed in each round; by default shorter than ``ckprof run`` does.
    :raises CkprofError: as planning a run, or the store cannot be written.
    """
    run = run or RoundRunOptions(timeout_s=profiler.settings.timeout)
    return tune_planned(profiler, profiler.plan(query, problems, build=build, run=run), options)


def tune_planned(session: Session, request: RunRequest, options: TuneOptions) -> TuneResult:
    """Search on a device: build and measure what promises most, and store every outcome.

    :raises UsageError: the instances are of several types, layouts or dimensions, or the strategy
        or a baseline is unknown.
    :raises CkprofError: the store cannot be written, there is no toolchain, or a plugin broke its contract.
    """
    from ckprof_plugins.tuning.device_bench import open_bench

    # who cannot be compared with what is missing need not search for hours
    baseline_sources(session, options.baselines, request.build.target)
    sought, end = options.search, math.inf
    if options.baselines and sought.budget_s is not None:
        end = time.monotonic() + sought.budget_s
        sought = replace(sought, budget_s=sought.budget_s - comparison_s(request, options))
    with open_bench(session, request, options) as bench:
        asked = search_request(session, bench.space, sought, bench.kind)
        asked = replace(asked, planning_share=_PLANNING_SHARE)
        result = search(session, bench, bench.observations, asked, sought)
    if not options.baselines or result.stop is TuneStop.REQUESTED:
        return result
    return replace(result, comparison=compare_with_baselines(session, request, options, result, end))


def search(
    session: Session,
    bench: TuneBench,
    observations: Observations,
    request: SearchRequest,
    options: SearchOptions,
) -> TuneResult:
    """Run a search on a bench."""
    strategy = StrategySearch(session.registry.entries(STRATEGIES), options.strategy, request)
    loop = TuneLoop(observations, bench, options, session.emit)
    # Matrices are small, those of the result as well. Threads that share them wait for one another in turn
    # with the compilers that run in the background, which was seen to take ten times as long.
    with threadpool_limits(1, "blas"):
        stop = loop.run(GuaranteedSearch(strategy, request.forecaster, options))
        return tune_result(loop, request.forecaster, stop)


def search_request(
    session: Session, space: SearchSpace, options: SearchOptions, kind: KernelKind
) -> SearchRequest:
    """Return what a strategy is given.

    :raises InputError: the model or the transfer data are of another device, target or direction.
    """
    dtype = DataType.parse(kind.dtype)
    transfer_data = _transfer_data(session, options, kind) if options.transfer_data else None
    sizes = gemm_sizes_of(session.registry, kind.direction, kind.dtype)
    model: TimeModel | None = None
    if options.model is not None:
        model = load_model(options.model, kind.direction)
        if not options.force:
            require_target(model, kind.target, options.model)
            require_device(model, kind.device, options.model)
    elif (
        transfer_data is not None and len(transfer_data.problems) >= LEAST_PROBLEMS and kind.compute_units > 0
    ):
        model = fit_model(transfer_data, sizes, kind)
    if model is not None:
        for line in _doubts(model, space, sizes):
            session.emit(Message(line, Level.WARNING))
    return SearchRequest(
        space=space,
        gemm_sizes=sizes,
        element_bytes=dtype.properties.size_bytes,
        compute_units=kind.compute_units,
        model=model,
        transfer_data=transfer_data,
        tie=options.tie,
        seed=options.seed,
    )


def _doubts(model: TimeModel, space: SearchSpace, sizes: GemmSizes) -> list[str]:
    """Return a line for problems, and one for kernels, that are unlike what a model was trained on."""
    problems = {problem: model.warnings(sizes(problem)) for problem in space.problems}
    kernels = {
        kernel.name: model.kernel_warning(kernel.traits)
        for kernel in space.kernels
        if kernel.traits is not None and kernel.name not in model.kernels
    }
    lines = [*filter(None, [model.basis])]
    for what, total, doubts in (
        ("problems", len(problems), [why[0] for why in problems.values() if why]),
        ("kernels", len(space.kernels), [why for why in kernels.values() if why]),
    ):
        if doubts:
            lines.append(
                f"{len(doubts)} of {total} {what} are unlike the training data, so that predictions may "
                f"be off until they are measured; the first: {doubts[0]}"
            )
    return lines


def _transfer_data(session: Session, options: SearchOptions, kind: KernelKind) -> Measurements:
    """Read earlier measurements."""
    transfer_data = read_tables(session.registry, options.transfer_data, kind).without_glitches()
    other = transfer_data.arch and kind.device and transfer_data.arch != kind.device
    if (other or transfer_data.target != kind.target) and not options.force:
        was = f"{transfer_data.target} {transfer_data.arch}".strip()
        here = f"{kind.target} {kind.device}".strip()
        raise InputError(
            f"it was measured on {was}, which says little about {here}; use it anyway with --force",
            options.transfer_data[0],
        )
    return transfer_data
