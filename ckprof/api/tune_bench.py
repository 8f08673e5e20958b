"""The bench of a search on a device: asks, builds and measures in batches, and stores every outcome."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.api.background_build import BuildTask, KernelBuild
from ckprof.api.build_costs import declared_costs
from ckprof.api.building import build_dir_for, build_limits
from ckprof.api.events import SweepProgress, SweepRound, SweepWarning
from ckprof.api.observers import observers
from ckprof.api.searched_device import SearchedDevice
from ckprof.api.support import SupportRequest, check_support
from ckprof.api.sweeping import is_shard_folder, only_device, open_sink, sweep_run_options
from ckprof.api.timed_kernels import KernelKind, device_of, executed_traits, runs_elsewhere
from ckprof.build.jobs import available_cpus
from ckprof.errors import InputError, UsageError
from ckprof.model.outcome import Status
from ckprof.model.recipe import Purpose
from ckprof.plugin.timing import TimedPipeline
from ckprof.run.opened_device import OpenedDevice
from ckprof.run.support_queries import SupportQuery
from ckprof.selection.selector import Candidate as Ranked
from ckprof.selection.selector import precedence
from ckprof.store.writer import StoreWriter
from ckprof.sweep.engine import Sweep, Watch
from ckprof.sweep.identity import built_kernels, new_session, shared_key
from ckprof.sweep.kernel_bench import KernelBench, PluginHooks, bench_library
from ckprof.sweep.plan import KernelCell, PlanRequest, make_plan
from ckprof.tune.costs import Costs, SeenBuild
from ckprof.tune.knowledge import Knowledge
from ckprof.tune.loop import BuildOutcome, MeasuredCell
from ckprof.tune.space import Cell, Choice, SearchKernel, SearchSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.api.requests import BuildOptions
    from ckprof.api.running import RunRequest
    from ckprof.api.session import Session
    from ckprof.api.tune_requests import TuneOptions
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.problem_run import ProblemRun
    from ckprof.store.attempt import Attempt
    from ckprof.store.attempt import Session as Evidence
    from ckprof.sweep.plan import PlannedContest

#: CPUs that measuring on a device keeps busy: this process, and the one that launches kernels
_MEASURING_CPUS: Final = 2
#: kernels that are asked for support together, for each CPU: what compiling the question takes seconds for
_ASKED_PER_CPU: Final = 40


@contextmanager
def open_bench(session: Session, request: RunRequest, options: TuneOptions) -> Iterator[DeviceBench]:
    """Open the store, read what it knows already, and yield the bench.

    :raises UsageError: the instances do not compete with one another, or the store is a folder of shards.
    :raises CkprofError: the store cannot be written, or there is no toolchain.
    """
    _require_one_kind(request)
    if is_shard_folder(options.store):
        raise UsageError("a search reads what it has measured: --store takes a file, no folder of shards")
    with ExitStack() as stack:
        sink = open_sink(session, options)
        stack.callback(sink.close)
        assert isinstance(sink, StoreWriter)  # noqa: S101 - it is no folder
        yield stack.enter_context(DeviceBench(session, request, options, sink))


class DeviceBench:
    """Builds libraries of a few kernels, batch after batch, and measures them in rounds.

    A context manager: leaving it ends the worker process.

    :param session: plugins and settings.
    :param request: kernels, problems, and how they are built and run.
    :param sink: where outcomes go, and what was measured before.
    """

    def __init__(
        self, session: Session, request: RunRequest, options: TuneOptions, sink: StoreWriter
    ) -> None:
        self._started = time.monotonic()
        self._session, self._request, self._options, self._sink = session, request, options, sink
        self._stack = ExitStack()
        build_dir = build_dir_for(session, request.selection.candidates, request.build, Purpose.RUN)
        recipe = build_dir.recipe
        self._target = session.target(request.build.target)
        self._run = sweep_run_options(request, recipe)
        shared = shared_key(build_dir.direction.id, self._target, recipe, self._run, OpenedDevice())
        if not self._target.embedded:
            shared = replace(shared, device=only_device(sink.reader, shared))
        self._shared = shared
        instance = request.selection.candidates[0].instance
        elsewhere = runs_elsewhere(session.registry, self._target.id)
        kind = KernelKind(
            direction=instance.direction,
            dtype=instance.dtype.value,
            target=self._target.id if elsewhere else "",
        )
        #: what the times of kernels depend on here
        self.searched = SearchedDevice(
            kind=kind,
            dtype=instance.dtype,
            name=device_of(session.registry, self._target.id, shared.device.model, recipe.arch),
            units=shared.device.compute_units,
        )
        timed = {
            one.name: executed_traits(
                session.registry, kind, one.instance.fields(), one.pipeline.traits(one.instance.fields())
            )
            for one in request.selection.candidates
            if isinstance(one.pipeline, TimedPipeline)
        }
        self._candidates = _ordered(request.selection.candidates, timed)
        self.space = _space(self._candidates, timed, request)
        self._place = {one.instance.key: number for number, one in enumerate(self._candidates)}
        self._choice = {(one.kernel, one.splits): number for number, one in enumerate(self.space.choices)}
        self._asked: set[int] = set()
        self._library: BuiltLibrary | None = None
        self._kernels: KernelBench | None = None
        self._bench_stack = self._stack.enter_context(ExitStack())
        self._evidence: Evidence | None = None
        self._attempts = 0
        #: kernels that did not compile and whose failure is not stored yet
        self._unstored: list[int] = []
        #: of each cell the times of all its visits in microseconds; ``None`` for one that failed
        self._times: dict[tuple[Problem, KernelCell], list[float | None]] = {}
        #: measurements of earlier sessions count
        self._remembers = False
        self._build: KernelBuild | None = None
        self._building: frozenset[int] = frozenset()
        self._build_options = self._with_jobs(request.build)
        self.knowledge = Knowledge(self.space, Costs(builds=declared_costs(recipe, self._build_options.jobs)))
        self._forbid_other_splits()
        self._remember()

    def __enter__(self) -> DeviceBench:
        return self

    def __exit__(self, *error: object) -> None:
        if self._build is not None:
            self._build.abandon(wait=error[0] is None)
        self._stack.close()

    def seconds(self) -> float:
        """Return the seconds since the bench was opened."""
        return time.monotonic() - self._started

    # --- support ------------------------------------------------------------------------------------------

    def unsupported(self, cells: Sequence[Cell]) -> Iterable[Cell]:
        """Ask kernels that were not asked yet about all problems; return everything that they reject.

        Others are asked with them: several cost little more than one.
        """
        wanted = {int(self.space.kernel_of[cell.choice]) for cell in cells} - self._asked
        if not wanted:
            return ()
        further = (
            one for one in range(len(self._candidates)) if one not in self._asked and one not in wanted
        )
        wanted.update(islice(further, max(0, _ASKED_PER_CPU * available_cpus() - len(wanted))))
        kernels = sorted(wanted)
        self._asked.update(kernels)
        splits = sorted({choice.splits for choice in self.space.choices})
        queries = [
            SupportQuery(problem=problem, split_k=count)
            for problem in self.space.problems
            for count in splits
        ]
        candidates = tuple(self._candidates[one] for one in kernels)
        report = check_support(
            self._session,
            SupportRequest(
                selection=replace(self._request.selection, candidates=candidates),
                build=replace(self._request.build, build_dir=None),
                queries=tuple(queries),
                model=False,
            ),
        )
        answers = report.table.answers if report.table is not None else {}
        rejected = []
        for kernel in kernels:
            own = answers.get(self._candidates[kernel].instance.key)
            if own is None:
                continue  # it does not compile; building it will say why
            for place, answer in enumerate(own):
                problem, split = divmod(place, len(splits))
                if not answer.supported:
                    rejected.append(Cell(problem, self._choice[kernel, splits[split]]))
        return rejected

    # --- builds -------------------------------------------------------------------------------------------

    @property
    def overlaps(self) -> bool:
        """Whether kernels run on a device, so that compilers do not disturb their times."""
        return not self._target.embedded

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Begin to build kernels, with those that are in the library already and the best ones so far."""
        known = self.knowledge
        wanted = {*kernels, *(int(one) for one in known.built.nonzero()[0]), *self._leaders()}
        wanted -= {int(one) for one in known.broken.nonzero()[0]}
        task = BuildTask(
            candidates=[self._candidates[one] for one in sorted(wanted)],
            options=self._build_options,
            keep_invalid=self._request.selection.keep_invalid,
        )
        self._build = KernelBuild(self._session, task)
        self._building = frozenset(kernels)
        if self.overlaps:
            self._build.begin()

    def build_is_over(self) -> bool:
        """Say whether the library is there, or would be built now."""
        return self._build is not None and self._build.is_over

    def end_build(self) -> BuildOutcome:
        """Wait for the library, and measure with it from now on.

        :raises CkprofError: no toolchain, or no worker starts.
        """
        if self._build is None:
            raise ValueError("nothing is being built")
        started = time.monotonic()
        build, kernels, self._build = self._build, self._building, None
        library = build.wait()
        waited_s = time.monotonic() - started
        self._open(library)
        opened_s = time.monotonic() - started - waited_s
        failures = {self._place[one.candidate.instance.key]: one.reason for one in library.rejected}
        self._unstored += [one for one in failures if one in kernels]
        return BuildOutcome(
            failures={kernel: f"it cannot be built: {reason}" for kernel, reason in failures.items()},
            seen=SeenBuild(
                kernels=len(kernels), seconds=build.seconds + opened_s, units=library.summary.units
            ),
        )

    def abandon_build(self) -> None:
        """End a build that nobody waits for any more."""
        if self._build is not None:
            self._build.abandon()
            self._build = None

    def _open(self, library: BuiltLibrary) -> None:
        """Close the library of before and have a worker load this one."""
        self._bench_stack.close()
        self._bench_stack = self._stack.enter_context(ExitStack())
        bench = KernelBench(
            bench_library(library),
            self._run,
            PluginHooks(library, self._session.manager),
            observers(self._session),
            self._session.tell,
        )
        self._kernels = self._bench_stack.enter_context(bench)
        self._library = library
        self._check_device(bench)

    def _with_jobs(self, options: BuildOptions) -> BuildOptions:
        """Leave some CPUs to what measures while others compile, unless a number of compilers is given."""
        jobs = build_limits(self._session, options).jobs
        if jobs is None and self.overlaps:
            jobs = max(1, available_cpus() - _MEASURING_CPUS)
        return replace(options, jobs=jobs)

    def _leaders(self) -> set[int]:
        """Return the best kernel of each problem: what new ones are measured against."""
        return {
            int(self.space.kernel_of[row.argmin()]) for row in self._filled() if bool(np.isfinite(row).any())
        }

    def _filled(self) -> NDArray[np.float64]:
        """Return problems x choices -> logarithm of microseconds; infinity without a measurement."""
        return np.where(self.knowledge.measured, self.knowledge.log_us, np.inf)

    def _check_device(self, bench: KernelBench) -> None:
        """Take over what the device says of itself.

        :raises InputError: what the store knows was measured on another one.
        """
        if self._library is None:
            return
        direction = self._library.direction.id
        shared = shared_key(direction, self._target, self._library.recipe, self._run, bench.device)
        if shared != self._shared and self._remembers:
            raise InputError(
                "its measurements of these kernels are of another device or toolchain than the one that is "
                "found now; use another store",
                self._options.store,
            )
        self._shared = shared

    # --- measurements -------------------------------------------------------------------------------------

    def measure(self, cells: Sequence[Cell], most_s: float | None) -> Iterable[MeasuredCell]:
        """Measure cells in rounds, against the best kernel of each problem so far.

        :raises CkprofError: an outcome cannot be stored, or no worker starts any more.
        """
        if self._kernels is None or self._library is None:
            raise ValueError("nothing is built")
        wanted = self._contestants(cells)
        if not wanted:
            return []
        if self._evidence is None:
            search, device = self._options.search, self._kernels.device.text
            self._evidence = new_session(self._run, search.seed, self._options.tags, device)
        fresh: dict[tuple[Problem, KernelCell], None] = {}
        plan = make_plan(self._plan_request(wanted, self._library), self._sink.reader.past_visits)
        watch = self._watch(fresh, most_s)
        sweep = Sweep(plan, self._kernels, self._sink, self._evidence, watch, first_sequence=self._attempts)
        self._attempts += sweep.run().attempts
        return list(self._results(fresh))

    def _contestants(self, cells: Sequence[Cell]) -> set[tuple[Problem, KernelCell]]:
        """Return what is measured: the cells, the best of their problems, and failures to be stored."""
        wanted = {self._cell(cell) for cell in cells}
        filled = self._filled()
        for problem in {cell.problem for cell in cells}:
            if self.knowledge.measured[problem].any():
                wanted.add(self._cell(Cell(problem, int(filled[problem].argmin()))))
        for kernel in self._unstored:
            choice = int((self.space.kernel_of == kernel).argmax())
            wanted.add(self._cell(Cell(0, choice)))
        self._unstored = []
        return wanted

    def _cell(self, cell: Cell) -> tuple[Problem, KernelCell]:
        choice = self.space.choices[cell.choice]
        key = self.space.kernels[choice.kernel].key
        return self.space.problems[cell.problem], KernelCell(key, choice.splits)

    def _plan_request(self, wanted: set[tuple[Problem, KernelCell]], library: BuiltLibrary) -> PlanRequest:
        keys = {cell.instance for _, cell in wanted}
        return PlanRequest(
            kernels=[one for one in built_kernels(library) if one.instance in keys],
            problems=[one for one in self.space.problems if any(one == problem for problem, _ in wanted)],
            splits=sorted({cell.split_k for _, cell in wanted}),
            shared=self._shared,
            rounds=self._options.rounds,
            retry_failed=self._options.retry_failed,
            takes=lambda problem, cell: (problem, cell) in wanted,
        )

    def _watch(self, fresh: dict[tuple[Problem, KernelCell], None], most_s: float | None) -> Watch:
        tell = self._session.tell

        def seen(planned: PlannedContest, attempt: Attempt) -> None:
            measured = attempt.measurement
            cell = KernelCell(attempt.key.kernel.instance, attempt.key.split_k)
            usable = attempt.ranked and measured is not None and measured.median_ms > 0
            time_us = 1000 * measured.median_ms if usable and measured is not None else None
            self._times.setdefault((planned.problem, cell), []).append(time_us)
            fresh[planned.problem, cell] = None

        return Watch(
            on_progress=lambda progress: tell(SweepProgress(progress=progress)),
            on_round=lambda planned, report: tell(SweepRound(planned=planned, report=report)),
            on_warning=lambda text: tell(SweepWarning(text=text)),
            on_attempt=seen,
            should_stop=self._options.search.should_stop,
            max_time_s=most_s,
        )

    def _results(self, fresh: dict[tuple[Problem, KernelCell], None]) -> Iterator[MeasuredCell]:
        """Return what is known of cells by all their visits, as a later session reads it from the store."""
        number: dict[Problem, int] = {one: place for place, one in enumerate(self.space.problems)}
        for problem, cell in fresh:
            place = Cell(number[problem], self._choice[self._place[cell.instance], cell.split_k])
            if self.knowledge.possible[place]:
                yield MeasuredCell(cell=place, time_us=_time_of(self._times[problem, cell]))

    # --- what is known before -----------------------------------------------------------------------------

    def _forbid_other_splits(self) -> None:
        """Leave choices out whose number of splits a problem does not ask for."""
        for number, run in enumerate(_runs_of(self._request, self._candidates[0].instance.ndim)):
            if run.splits:
                for place, choice in enumerate(self.space.choices):
                    if choice.splits not in run.splits:
                        self.knowledge.possible[number, place] = False

    def _remember(self) -> None:
        """Take over what earlier sessions measured."""
        instance = self._candidates[0].instance
        shared = replace(self._shared, dtype=instance.dtype, layout=instance.layout.name)
        known = self.knowledge
        for number, problem in enumerate(self.space.problems):
            times: dict[int, list[float | None]] = {}
            for visit in self._sink.reader.past_visits(shared, problem):
                kernel = self._place.get(visit.instance)
                choice = self._choice.get((kernel, visit.split_k)) if kernel is not None else None
                if kernel is None or choice is None:
                    continue
                ok = visit.status == Status.OK.value and visit.median_ms and visit.wrong_elements == 0
                if not ok and self._options.retry_failed:
                    continue
                if visit.status == Status.COMPILE_ERROR.value:
                    known.note_broken(kernel)
                times.setdefault(choice, []).append(
                    1000 * visit.median_ms if ok and visit.median_ms else None
                )
            for choice, seen in times.items():
                self._remembers = True
                self._times[self._cell(Cell(number, choice))] = seen
                time_us = _time_of(seen)
                if time_us is None:
                    known.note_failure(Cell(number, choice))
                else:
                    known.note_time(Cell(number, choice), time_us)


def _require_one_kind(request: RunRequest) -> None:
    """Check that all instances compete with one another.

    :raises UsageError: they are of several types, layouts or numbers of dimensions.
    """
    kinds = {
        (one.instance.ndim, one.instance.dtype.value, one.instance.layout.name)
        for one in request.selection.candidates
    }
    if len(kinds) > 1:
        known = ", ".join(f"{ndim}D {dtype} {layout}" for ndim, dtype, layout in sorted(kinds))
        raise UsageError(
            f"the instances are of several kinds ({known}), which do not compete: choose one with --dtype, "
            "--ndim or --filter"
        )


def _time_of(seen: Sequence[float | None]) -> float | None:
    """Return the geometric mean of times; ``None`` if any visit failed."""
    logs = [math.log(one) for one in seen if one is not None]
    if len(logs) < len(seen) or not logs:
        return None
    return math.exp(math.fsum(logs) / len(logs))


def _ordered(candidates: Sequence[Candidate], timed: Mapping[str, KernelTraits]) -> list[Candidate]:
    """Return kernels such that of equal predictions the preferred ones come first."""
    by_name = {one.name: one for one in candidates}
    ranked = [Ranked(name=name, traits=traits) for name, traits in timed.items()]
    return [
        *(by_name[one.name] for one in precedence(ranked)),
        *(one for one in candidates if one.name not in timed),
    ]


def _merged_runs(request: RunRequest) -> list[ProblemRun]:
    """Return the problems once each, with the splits and occurrences of all their lines."""
    merged: dict[Problem, ProblemRun] = {}
    for run in request.problems:
        known = merged.get(run.problem)
        if known is None:
            merged[run.problem] = run
        else:
            splits = tuple(dict.fromkeys((*known.splits, *run.splits)))
            merged[run.problem] = replace(known, count=known.count + run.count, splits=splits)
    return list(merged.values())


def _runs_of(request: RunRequest, ndim: int) -> list[ProblemRun]:
    """Return the problems that the kernels can be run on.

    :raises UsageError: there is none.
    """
    runs = [run for run in _merged_runs(request) if run.problem.ndim == ndim]
    if not runs:
        raise UsageError(f"no problem has {ndim} dimensions, as the instances have")
    return runs


def _space(
    candidates: Sequence[Candidate], timed: Mapping[str, KernelTraits], request: RunRequest
) -> SearchSpace:
    ndim = candidates[0].instance.ndim
    runs = _runs_of(request, ndim)
    splits = dict.fromkeys(split for run in runs for split in run.splits or request.options.splits)
    kernels = [
        SearchKernel(key=one.instance.key, name=one.name, traits=timed.get(one.name)) for one in candidates
    ]
    return SearchSpace(
        problems=tuple(run.problem for run in runs),
        counts=tuple(run.count for run in runs),
        kernels=tuple(kernels),
        choices=tuple(Choice(kernel, split) for kernel in range(len(kernels)) for split in splits),
    )
