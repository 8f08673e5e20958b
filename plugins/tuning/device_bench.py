"""The bench of a search on a device: asks, builds and measures in batches, and stores every outcome."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.errors import InputError, UsageError
from ckprof.kernels.build_dir import build_dir_for
from ckprof.kernels.units import available_cpus, functions_per_unit, job_count, memory_budget_bytes
from ckprof.measure.rounds import KernelConfiguration
from ckprof.measure.support import support_answers
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.device import DeviceIdentity
from ckprof.model.outcome import Status
from ckprof.model.ranking import kernel_time
from ckprof.model.recipe import Purpose
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import layer_evidence
from ckprof.sweep.identity import new_session, shared_key
from ckprof.sweep.plan import PlanRequest, make_plan
from ckprof.sweep.recording import Recorder, is_shard_folder, open_sink
from ckprof.sweep.sweep import Sweep, Watch, as_stored, open_library, sweep_run_options
from ckprof_plugins.tuning.kernel_build import KernelBuild, without_counts
from ckprof_plugins.tuning.model_use import KernelKind, ran_on, traits_of
from ckprof_plugins.tuning.search.loop import MeasuredPair
from ckprof_plugins.tuning.search.observations import (
    Costs,
    Observations,
    Pair,
    SearchKernel,
    SearchSpace,
)
from ckprof_plugins.tuning.time_model.selector import precedence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.rounds import RoundOptions
    from ckprof.measure.rounds_loop import Sample
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.outcome import RoundTime
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.ranking import KernelTime
    from ckprof.model.recipe import BuildRecipe
    from ckprof.session import Session
    from ckprof.store.attempt import Attempt
    from ckprof.store.store import Store
    from ckprof.sweep.sweep import OpenedLibrary
    from ckprof_plugins.tuning.options import TuneOptions


#: CPUs that measuring on a device keeps busy: this process, and the one that launches kernels
_MEASURING_CPUS: Final = 2
#: kernels that are asked for support together, for each CPU: what compiling the question takes seconds for
_ASKED_PER_CPU: Final = 40
#: seconds of generating, linking, comparing strings and starting a worker, about
_START_S: Final = 2.0


@contextmanager
def open_bench(session: Session, request: RunRequest, options: TuneOptions) -> Iterator[DeviceBench]:
    """Open the store, read what it knows already, and yield the bench.

    :raises UsageError: the instances do not compete with one another, or the store is a folder of shards.
    :raises CkprofError: the store cannot be written, or there is no toolchain.
    """
    require_one_kind(request.selection.candidates)
    if is_shard_folder(options.store):
        raise UsageError("a search reads what it has measured: --store takes a file, no folder of shards")
    with ExitStack() as stack:
        sink = open_sink(session, options.store, wait=options.wait)
        stack.callback(sink.close)
        assert isinstance(sink, StoreWriter)  # noqa: S101 - it is no folder
        yield stack.enter_context(DeviceBench(session, request, options, sink))


class DeviceBench:
    """Builds libraries of a few kernels, batch after batch, and measures them in rounds.

    A context manager: leaving it ends the worker process.

    :param session: plugins and settings.
    :param request: kernels, problems, and how they are built and run.
    :param sink: where outcomes go, and what was measured before.
    :raises UsageError: no problem is for the instances.
    :raises CkprofError: there is no toolchain.
    """

    def __init__(
        self, session: Session, request: RunRequest, options: TuneOptions, sink: StoreWriter
    ) -> None:
        self._session, self._request, self._options, self._sink = session, request, options, sink
        self._target = session.target(request.build.target)
        candidates = request.selection.candidates
        build_dir = build_dir_for(session, candidates, request.build, Purpose.RUN)
        recipe = build_dir.recipe
        #: how kernels are run
        self._run = sweep_run_options(request.options, recipe)
        #: what measurements have in common, as far as the target knows it before anything is built
        self._shared = shared_key(build_dir.direction.id, self._target, recipe, self._run, DeviceIdentity())
        if not self._target.embedded:
            self._shared = as_stored(sink.reader, self._shared)
        #: what the times of kernels depend on here
        device, instance = self._shared.device, candidates[0].instance
        target, name = ran_on(session.registry, device, recipe.arch)
        self.kind = KernelKind(
            direction=instance.direction,
            dtype=instance.dtype.value,
            target=target,
            device=name,
            compute_units=device.compute_units,
        )
        traits = traits_of(session.registry, self.kind, candidates)
        by_name = {candidate.name: candidate for candidate in candidates}
        #: kernels, in the order of the space: of equal predictions the preferred ones come first
        self._candidates = [
            *(by_name[name] for name in precedence(traits)),
            *(candidate for candidate in candidates if candidate.name not in traits),
        ]
        cases = _problems_of(request)
        self.space = _space(self._candidates, traits, cases, request.options.splits)
        #: how the choices of the space are called where they are measured, and position of each
        self._cells = [
            KernelConfiguration(self.space.kernels[kernel].key, splits)
            for kernel, splits in self.space.choices
        ]
        self._choices = {cell: number for number, cell in enumerate(self._cells)}
        self._started = time.monotonic()
        #: kernels that were asked whether they support the problems
        self._asked: set[int] = set()
        self._stack = ExitStack()
        self._library: OpenedLibrary | None = None
        self._recorder: Recorder | None = None
        #: kernels that did not compile and whose failure is not stored yet
        self._unstored: list[int] = []
        #: visits of pairs, oldest first; ``None`` for one that failed
        self._visits: dict[Pair, list[RoundTime | None]] = {}
        self._build: KernelBuild | None = None
        self._building: frozenset[int] = frozenset()
        #: those of all measurements, by kind: the first of each is shown
        self._warnings: Counter[str] = Counter()
        jobs = request.build.jobs or session.settings.jobs
        if jobs is None and self.overlaps:
            jobs = max(1, available_cpus() - _MEASURING_CPUS)
        self._build_options = replace(request.build, jobs=jobs)
        self.observations = Observations(self.space, self._costs(recipe))
        # choices whose number of splits a problem does not ask for
        self.observations.possible[:] = [
            [not case.splits or splits in case.splits for _, splits in self.space.choices] for case in cases
        ]
        #: measurements of earlier sessions count
        self._remembers = self._remember(sink.reader)

    def _costs(self, recipe: BuildRecipe) -> Costs:
        """Return what the target declares, for as many compilers as the build will run."""
        jobs = job_count(self._build_options.jobs, recipe.compile_memory_bytes)
        return Costs(
            start_s=_START_S,
            unit_s=recipe.unit_s,
            kernel_s=recipe.function_s,
            jobs=jobs,
            per_unit=max(1, functions_per_unit(recipe, jobs, memory_budget_bytes())),
        )

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

    def unsupported(self, cells: Sequence[Pair]) -> Iterable[Pair]:
        """Ask kernels that were not asked yet about all problems; return everything that they reject.

        Others are asked with them: several cost little more than one.
        """
        space = self.space
        wanted = {int(space.kernel_of[cell.choice]) for cell in cells} - self._asked
        if not wanted:
            return ()
        left = sorted(set(range(len(space.kernels))) - self._asked - wanted)
        wanted.update(left[: max(0, _ASKED_PER_CPU * available_cpus() - len(wanted))])
        self._asked |= wanted
        kernels = sorted(wanted)
        splits = sorted({count for _, count in space.choices})
        queries = (
            SupportQuery(problem=problem, split_k=count) for problem in space.problems for count in splits
        )
        build = replace(self._request.build, build_dir=None)
        answers = support_answers(without_counts(self._session), self._selection(kernels), build, queries)
        return [
            Pair(index // len(splits), self._choices[KernelConfiguration(key, splits[index % len(splits)])])
            for key in (space.kernels[kernel].key for kernel in kernels)
            # one without answers does not compile; building it will say why
            for index, answer in enumerate(answers.get(key, ()))
            if not answer.supported
        ]

    def _selection(self, kernels: Sequence[int]) -> Selection:
        candidates = tuple(self._candidates[kernel] for kernel in kernels)
        return replace(self._request.selection, candidates=candidates)

    # --- builds -------------------------------------------------------------------------------------------

    @property
    def overlaps(self) -> bool:
        """Whether kernels run on a device, so that compilers do not disturb their times."""
        return not self._target.embedded

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Begin to build kernels, with those that are in the library already and the best ones so far."""
        observations = self.observations
        wanted = {*kernels, *observations.built.nonzero()[0].tolist()}
        wanted |= {int(self.space.kernel_of[pair.choice]) for pair in self._best()}
        wanted -= {*observations.broken.nonzero()[0].tolist()}
        self._build = KernelBuild(self._session, self._selection(sorted(wanted)), self._build_options)
        self._building = frozenset(kernels)
        if self.overlaps:
            self._build.begin()

    def build_is_over(self) -> bool:
        """Say whether the library is there, or would be built now."""
        return self._build is not None and self._build.is_over

    def end_build(self, costs: Costs) -> Mapping[int, str]:
        """Wait for the library, and measure with it from now on.

        :raises CkprofError: no toolchain, or no worker starts.
        :raises InputError: what the store has was measured on another device.
        """
        if self._build is None:
            raise ValueError("nothing is being built")
        started = time.monotonic()
        build, kernels, self._build = self._build, self._building, None
        library = build.wait()
        waited_s = time.monotonic() - started
        before = self._library
        self._stack.close()
        self._library = self._stack.enter_context(
            open_library(self._session, library, self._run, [*self._session.registry.observers])
        )
        if before is not None:
            self._library.bench.second.lines.update(before.bench.second.lines)
            self._library.bench.second.known = before.bench.second.known
            self._library.bench.second.failed.update(before.bench.second.failed)
        if self._library.shared != self._shared and self._remembers:
            raise InputError(
                "its measurements of these kernels are of another device or toolchain than the one that is "
                "found now; use another store",
                self._options.store,
            )
        self._shared = self._library.shared
        opened_s = time.monotonic() - started - waited_s
        costs.saw_build(len(kernels), build.seconds + opened_s, library.summary.units)
        rejected = {one.candidate.instance.key: one.reason for one in library.rejected}
        failures = {
            number: f"it cannot be built: {rejected[kernel.key]}"
            for number, kernel in enumerate(self.space.kernels)
            if kernel.key in rejected
        }
        self._unstored += [kernel for kernel in failures if kernel in kernels]
        return failures

    def abandon_build(self) -> None:
        """Abandon a running build, if there is one."""
        if self._build is not None:
            self._build.abandon()
            self._build = None

    def _best(self) -> list[Pair]:
        """Return the fastest choice of each problem on which something was measured."""
        filled = np.where(self.observations.measured, self.observations.log_us, np.inf)
        return [Pair(n, int(row.argmin())) for n, row in enumerate(filled) if np.isfinite(row).any()]

    # --- measurements -------------------------------------------------------------------------------------

    @property
    def visits(self) -> int:
        """Rounds of what may be the best, at least."""
        return self._options.rounds.min_rounds

    def confirm(self, pairs: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Measure pairs in as many rounds as :attr:`visits` says, and more where the first place is open.

        :raises CkprofError: an outcome cannot be stored, or no worker starts any more.
        """
        return self._measured(pairs, most_s, self._options.rounds)

    def measure(self, cells: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Measure cells in one round.

        :raises CkprofError: an outcome cannot be stored, or no worker starts any more.
        """
        return self._measured(cells, most_s, replace(self._options.rounds, min_rounds=1, max_rounds=1))

    def _measured(
        self, cells: Sequence[Pair], most_s: float | None, rounds: RoundOptions
    ) -> Iterable[MeasuredPair]:
        opened = self._library
        if opened is None:
            raise ValueError("nothing is built")
        # failures are to be stored as well
        pairs = {*cells}
        pairs.update(Pair(0, int((self.space.kernel_of == kernel).argmax())) for kernel in self._unstored)
        self._unstored = []
        if not pairs:
            return []
        if self._recorder is None:
            run, options = self._run, self._options
            record = new_session(
                self._session.manager,
                run,
                options.search.seed,
                options.tags,
                opened.bench.device,
                layer_evidence(self._request.problems),
            )
            self._recorder = Recorder(self._sink, record, opened.shared, least_samples=run.min_samples)
        fresh: dict[Pair, None] = {}
        numbers = {problem: number for number, problem in enumerate(self.space.problems)}

        def stored(sample: Sample, attempt: Attempt) -> None:
            problem = sample.group.problem
            pair = Pair(numbers[problem], self._choices[sample.planned.cell])
            self._visits.setdefault(pair, []).append(attempt.round_time)
            fresh[pair] = None
            opened.hooks.after_outcome(problem, sample.outcome)

        watch = Watch(
            emit=self._session.emit,
            warnings=self._warnings,
            on_stored=stored,
            should_stop=self._options.search.should_stop,
            max_time_s=most_s,
        )
        wanted = {(self.space.problems[pair.problem], self._cells[pair.choice]) for pair in pairs}
        keys = {cell.instance for _, cell in wanted}
        request = PlanRequest(
            kernels=[kernel for kernel in opened.library.kernels if kernel.key in keys],
            problems=[self.space.problems[number] for number in sorted({pair.problem for pair in pairs})],
            splits=sorted({cell.split_k for _, cell in wanted}),
            shared=self._shared,
            rounds=rounds,
            retry_failed=self._options.retry_failed,
            takes=lambda problem, cell: (problem, cell) in wanted,
        )
        plan = make_plan(request, self._sink.reader.past_visits)
        right = {key: second for key, second in plan.second.items() if second}
        opened.bench.second.known = {**opened.bench.second.known, **right}
        Sweep(plan, opened.bench, self._recorder, watch).run()
        return [(pair, self._time(pair)) for pair in fresh if self.observations.possible[pair]]

    def _time(self, pair: Pair) -> KernelTime | None:
        """Return the time by all visits of a pair; ``None`` if the latest one failed."""
        visits = self._visits[pair]
        return kernel_time(filter(None, visits)) if visits[-1] is not None else None

    # --- what is known before -----------------------------------------------------------------------------

    def _remember(self, store: Store) -> bool:
        """Take over what earlier sessions measured; say whether there is anything."""
        observations, instance = self.observations, self._candidates[0].instance
        shared = replace(self._shared, dtype=instance.dtype, layout=instance.layout.name)
        for number, problem in enumerate(self.space.problems):
            for visit in store.past_visits(shared, problem):
                choice = self._choices.get(visit.cell)
                if choice is None or (visit.round_time is None and self._options.retry_failed):
                    continue
                if visit.status == Status.COMPILE_ERROR.value:
                    observations.note_broken(int(self.space.kernel_of[choice]))
                self._visits.setdefault(Pair(number, choice), []).append(visit.round_time)
        for pair in self._visits:
            observations.note(pair, self._time(pair))
        return bool(self._visits)


def require_one_kind(candidates: Sequence[Candidate]) -> None:
    """Check that all instances compete with one another.

    :raises UsageError: they are of several types, layouts or numbers of dimensions.
    """
    kinds = {
        (candidate.instance.ndim, candidate.instance.dtype.value, candidate.instance.layout.name)
        for candidate in candidates
    }
    if len(kinds) > 1:
        listed = ", ".join(f"{ndim}D {dtype} {layout}" for ndim, dtype, layout in sorted(kinds))
        raise UsageError(
            f"the instances are of several kinds ({listed}), which do not compete: choose one with --dtype, "
            "--ndim or --filter"
        )


def _problems_of(request: RunRequest) -> list[ProblemCase]:
    """Return the problems that the kernels can be run on, each with the splits and counts of its lines."""
    ndim = request.selection.candidates[0].instance.ndim
    merged: dict[Problem, ProblemCase] = {}
    for run in request.problems:
        if run.problem.ndim == ndim:
            before = merged.get(run.problem, replace(run, splits=(), count=0))
            splits = tuple(dict.fromkeys((*before.splits, *run.splits)))
            merged[run.problem] = replace(before, count=before.count + run.count, splits=splits)
    if not merged:
        raise UsageError(f"no problem has {ndim} dimensions, as the instances have")
    return list(merged.values())


def _space(
    candidates: Sequence[Candidate],
    traits: Mapping[str, KernelTraits],
    cases: Sequence[ProblemCase],
    usual_splits: Sequence[int],
) -> SearchSpace:
    splits = dict.fromkeys(split for case in cases for split in case.splits or usual_splits)
    return SearchSpace(
        problems=tuple(case.problem for case in cases),
        counts=tuple(case.count for case in cases),
        kernels=tuple(
            SearchKernel(key=one.instance.key, name=one.shown, traits=traits.get(one.name))
            for one in candidates
        ),
        choices=tuple((kernel, split) for kernel in range(len(candidates)) for split in splits),
    )
