"""The bench of a search on a device: asks, builds and measures in batches, and stores every outcome."""

from __future__ import annotations

import copy
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.errors import InputError, UsageError
from ckprof.events import Progress, ProgressEnded
from ckprof.kernels.units import available_cpus
from ckprof.measure.observers import observers
from ckprof.measure.support import build_checked_library, support_answers
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.outcome import Status
from ckprof.model.ranking import kernel_time
from ckprof.store.writer import StoreWriter
from ckprof.sweep.device_sweep import open_library
from ckprof.sweep.evidence import layer_evidence
from ckprof.sweep.identity import new_session
from ckprof.sweep.plan import PlanRequest, make_plan
from ckprof.sweep.recording import Recorder, is_shard_folder, open_sink
from ckprof.sweep.sweep import Sweep, Watch
from ckprof_plugins.tuning.search.loop import BuildOutcome, MeasuredPair
from ckprof_plugins.tuning.search.observations import Observations, Pair
from ckprof_plugins.tuning.search_setup import SearchSetup, require_one_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ckprof.events import Event
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.rounds import KernelCell
    from ckprof.measure.rounds_loop import Sample
    from ckprof.model.outcome import RoundTime
    from ckprof.model.problem import Problem
    from ckprof.model.ranking import KernelTime
    from ckprof.session import Session
    from ckprof.store.attempt import Attempt
    from ckprof.store.store import Store
    from ckprof.sweep.device_sweep import OpenedLibrary
    from ckprof_plugins.tuning.options import TuneOptions


#: seconds that an abandoned build gets to end the compilers that are running
_END_S = 20.0


class _Abandoned(BaseException):
    """Nobody waits for the build any more."""


class KernelBuild:
    """One build of a library.

    :param session: plugins and settings. While a build runs in the background, its events are kept until it
        is waited for, and plugins are called in its thread.
    :param selection: what is built.
    """

    def __init__(self, session: Session, selection: Selection, options: BuildOptions) -> None:
        self._session, self._selection, self._options = session, selection, options
        #: seconds that the build took, without waiting for its turn
        self.seconds = 0.0
        self._thread: threading.Thread | None = None
        self._library: BuiltLibrary | None = None
        self._error: BaseException | None = None
        self._abandoned = threading.Event()
        self._events: list[Event] = []

    def begin(self) -> None:
        """Run it in the background from now on."""
        self._thread = threading.Thread(target=self._in_thread, name="ckprof-build", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether waiting for it takes no time; also if it has not begun."""
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> BuiltLibrary:
        """Return the library; build it now if the build has not begun.

        :raises CkprofError: no toolchain, the build system failed, or the kernels cannot be run here.
        """
        if self._thread is None:
            self._build(self._session)
        else:
            self._thread.join()
            for event in self._events:
                self._session.tell(event)
        if self._error is not None:
            raise self._error
        if self._library is None:
            raise RuntimeError("an abandoned build has no library")
        return self._library

    def abandon(self, *, wait: bool = True) -> None:
        """End it as soon as the compilers that are running have ended.

        :param wait: do not return before, unless it takes very long.
        """
        self._abandoned.set()
        if self._thread is not None and wait:
            self._thread.join(_END_S)

    def _in_thread(self) -> None:
        session = copy.copy(self._session)
        session.tell = self._keep
        try:
            self._build(session)
        except _Abandoned:
            pass
        except BaseException as error:
            # it is raised where the build is waited for
            self._error = error

    def _build(self, session: Session) -> None:
        started = time.monotonic()
        self._library = build_checked_library(session, self._selection, self._options)
        self.seconds = time.monotonic() - started

    def _keep(self, event: Event) -> None:
        if self._abandoned.is_set():
            raise _Abandoned
        # its progress would hide that of measurements
        if not isinstance(event, (Progress, ProgressEnded)):
            self._events.append(event)


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
    require_one_kind(request.selection.candidates)
    if is_shard_folder(options.store):
        raise UsageError("a search reads what it has measured: --store takes a file, no folder of shards")
    with ExitStack() as stack:
        sink = open_sink(session, options.store, wait=options.wait)
        stack.callback(sink.close)
        assert isinstance(sink, StoreWriter)  # noqa: S101 - it is no folder
        setup = SearchSetup.of(session, request, sink.reader)
        yield stack.enter_context(DeviceBench(session, request, options, sink, setup))


class DeviceBench:
    """Builds libraries of a few kernels, batch after batch, and measures them in rounds.

    A context manager: leaving it ends the worker process.

    :param session: plugins and settings.
    :param request: kernels, problems, and how they are built and run.
    :param sink: where outcomes go, and what was measured before.
    :param setup: what is searched.
    """

    def __init__(
        self,
        session: Session,
        request: RunRequest,
        options: TuneOptions,
        sink: StoreWriter,
        setup: SearchSetup,
    ) -> None:
        self._started = time.monotonic()
        self._session, self._request, self._options, self._sink = session, request, options, sink
        self.setup = setup
        self._shared = setup.shared
        #: kernels that were asked whether they support the problems
        self._asked: set[int] = set()
        self._stack = ExitStack()
        self._library: OpenedLibrary | None = None
        self._library_stack = self._stack.enter_context(ExitStack())
        self._recorder: Recorder | None = None
        #: kernels that did not compile and whose failure is not stored yet
        self._unstored: list[int] = []
        #: visits of cells, oldest first; ``None`` for one that failed
        self._visits: dict[tuple[Problem, KernelCell], list[RoundTime | None]] = {}
        self._build: KernelBuild | None = None
        self._building: frozenset[int] = frozenset()
        self._build_options = self._with_jobs(request.build)
        self.observations = Observations(setup.space, setup.costs(self._build_options.jobs))
        self._forbid_other_splits()
        #: measurements of earlier sessions count
        self._remembers = self._remember(sink.reader)

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
        setup, space = self.setup, self.setup.space
        wanted = {int(space.kernel_of[cell.choice]) for cell in cells} - self._asked
        if not wanted:
            return ()
        left = sorted(set(range(len(space.kernels))) - self._asked - wanted)
        wanted.update(left[: max(0, _ASKED_PER_CPU * available_cpus() - len(wanted))])
        self._asked |= wanted
        kernels = sorted(wanted)
        splits = sorted({choice.splits for choice in space.choices})
        queries = (
            SupportQuery(problem=problem, split_k=count) for problem in space.problems for count in splits
        )
        build = replace(self._request.build, build_dir=None)
        answers = support_answers(self._session, self._selection(kernels), build, queries)
        return [
            Pair(index // len(splits), setup.choice_numbers[kernel, splits[index % len(splits)]])
            for kernel in kernels
            # one without answers does not compile; building it will say why
            for index, answer in enumerate(answers.get(space.kernels[kernel].key, ()))
            if not answer.supported
        ]

    def _selection(self, kernels: Sequence[int]) -> Selection:
        candidates = tuple(self.setup.candidates[kernel] for kernel in kernels)
        return replace(self._request.selection, candidates=candidates)

    # --- builds -------------------------------------------------------------------------------------------

    @property
    def overlaps(self) -> bool:
        """Whether kernels run on a device, so that compilers do not disturb their times."""
        return not self.setup.target.embedded

    def begin_build(self, kernels: Sequence[int]) -> None:
        """Begin to build kernels, with those that are in the library already and the best ones so far."""
        observations = self.observations
        wanted = {*kernels, *map(int, observations.built.nonzero()[0]), *self._leaders()}
        wanted -= set(map(int, observations.broken.nonzero()[0]))
        self._build = KernelBuild(self._session, self._selection(sorted(wanted)), self._build_options)
        self._building = frozenset(kernels)
        if self.overlaps:
            self._build.begin()

    def build_is_over(self) -> bool:
        """Say whether the library is there, or would be built now."""
        return self._build is not None and self._build.is_over

    def end_build(self) -> BuildOutcome:
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
        self._library_stack.close()
        self._library_stack = self._stack.enter_context(ExitStack())
        self._library = self._library_stack.enter_context(
            open_library(self._session, library, self.setup.run, observers(self._session))
        )
        if self._library.shared != self._shared and self._remembers:
            raise InputError(
                "its measurements of these kernels are of another device or toolchain than the one that is "
                "found now; use another store",
                self._options.store,
            )
        self._shared = self._library.shared
        opened_s = time.monotonic() - started - waited_s
        numbers = self.setup.kernel_numbers
        failures = {
            numbers[rejection.candidate.instance.key]: rejection.reason for rejection in library.rejected
        }
        self._unstored += [kernel for kernel in failures if kernel in kernels]
        return BuildOutcome(
            failures={kernel: f"it cannot be built: {reason}" for kernel, reason in failures.items()},
            kernels=len(kernels),
            seconds=build.seconds + opened_s,
            units=library.summary.units,
        )

    def abandon_build(self) -> None:
        """Abandon a running build, if there is one."""
        if self._build is not None:
            self._build.abandon()
            self._build = None

    def _with_jobs(self, options: BuildOptions) -> BuildOptions:
        """Leave some CPUs to what measures while others compile, unless a number of compilers is given."""
        jobs = options.jobs or self._session.settings.jobs
        if jobs is None and self.overlaps:
            jobs = max(1, available_cpus() - _MEASURING_CPUS)
        return replace(options, jobs=jobs)

    def _leaders(self) -> set[int]:
        """Return the best kernel of each problem: what new ones are measured against."""
        kernel_of = self.setup.space.kernel_of
        return {int(kernel_of[row.argmin()]) for row in self._filled() if bool(np.isfinite(row).any())}

    def _filled(self) -> NDArray[np.float64]:
        """Return problems x choices -> logarithm of microseconds; infinity without a measurement."""
        return np.where(self.observations.measured, self.observations.log_us, np.inf)

    # --- measurements -------------------------------------------------------------------------------------

    def measure(self, cells: Sequence[Pair], most_s: float | None) -> Iterable[MeasuredPair]:
        """Measure cells in rounds, against the best kernel of each problem so far.

        :raises CkprofError: an outcome cannot be stored, or no worker starts any more.
        """
        opened = self._library
        if opened is None:
            raise ValueError("nothing is built")
        wanted = self._to_measure(cells)
        if not wanted:
            return []
        if self._recorder is None:
            run, options = self.setup.run, self._options
            record = new_session(
                self._session.manager,
                run,
                options.search.seed,
                options.tags,
                opened.bench.device,
                layer_evidence(self._request.problems),
            )
            self._recorder = Recorder(self._sink, record, opened.shared, least_samples=run.min_samples)
        fresh: dict[tuple[Problem, KernelCell], None] = {}

        def stored(sample: Sample, attempt: Attempt) -> None:
            problem, cell = sample.group.problem, sample.visit.cell
            self._visits.setdefault((problem, cell), []).append(attempt.round_time)
            fresh[problem, cell] = None
            opened.hooks.after_outcome(problem, sample.outcome)

        watch = Watch(
            tell=self._session.tell,
            on_stored=stored,
            should_stop=self._options.search.should_stop,
            max_time_s=most_s,
        )
        plan = make_plan(self._plan_request(wanted, opened), self._sink.reader.past_visits)
        Sweep(plan, opened.bench, self._recorder, watch).run()
        return list(self._results(fresh))

    def _to_measure(self, cells: Sequence[Pair]) -> set[tuple[Problem, KernelCell]]:
        """Return what is measured: the cells, the best of their problems, and failures to be stored."""
        space = self.setup.space
        wanted = set(cells)
        filled = self._filled()
        for problem in {cell.problem for cell in cells}:
            if self.observations.measured[problem].any():
                wanted.add(Pair(problem, int(filled[problem].argmin())))
        wanted.update(Pair(0, int((space.kernel_of == kernel).argmax())) for kernel in self._unstored)
        self._unstored = []
        return {self.setup.measured_pair(cell) for cell in wanted}

    def _plan_request(self, wanted: set[tuple[Problem, KernelCell]], opened: OpenedLibrary) -> PlanRequest:
        keys = {cell.instance for _, cell in wanted}
        problems = {problem for problem, _ in wanted}
        return PlanRequest(
            kernels=[kernel for kernel in opened.library.kernels if kernel.key in keys],
            problems=[problem for problem in self.setup.space.problems if problem in problems],
            splits=sorted({cell.split_k for _, cell in wanted}),
            shared=self._shared,
            rounds=self._options.rounds,
            retry_failed=self._options.retry_failed,
            takes=lambda problem, cell: (problem, cell) in wanted,
        )

    def _results(self, fresh: Iterable[tuple[Problem, KernelCell]]) -> Iterator[MeasuredPair]:
        """Return what is known of cells by all their visits, as a later session reads it from the store."""
        numbers = {problem: number for number, problem in enumerate(self.setup.space.problems)}
        for problem, kernel_cell in fresh:
            choice = self.setup.choice_of(kernel_cell)
            if choice is not None and self.observations.possible[numbers[problem], choice]:
                cell = Pair(numbers[problem], choice)
                yield cell, self._time(problem, kernel_cell)

    def _time(self, problem: Problem, cell: KernelCell) -> KernelTime | None:
        """Return the time of a cell by all its visits; ``None`` if the latest one failed."""
        visits = self._visits[problem, cell]
        return kernel_time(filter(None, visits)) if visits[-1] is not None else None

    # --- what is known before -----------------------------------------------------------------------------

    def _forbid_other_splits(self) -> None:
        """Leave choices out whose number of splits a problem does not ask for."""
        for number, run in enumerate(self.setup.problems):
            for choice, (_, splits) in enumerate(self.setup.space.choices):
                if run.splits and splits not in run.splits:
                    self.observations.possible[number, choice] = False

    def _remember(self, store: Store) -> bool:
        """Take over what earlier sessions measured; say whether there is anything."""
        setup, observations = self.setup, self.observations
        instance = setup.candidates[0].instance
        shared = replace(setup.shared, dtype=instance.dtype, layout=instance.layout.name)
        seen: dict[Pair, None] = {}
        for number, problem in enumerate(setup.space.problems):
            for visit in store.past_visits(shared, problem):
                choice = setup.choice_of(visit.cell)
                if choice is None or (visit.round_time is None and self._options.retry_failed):
                    continue
                if visit.status == Status.COMPILE_ERROR.value:
                    observations.note_broken(int(setup.space.kernel_of[choice]))
                self._visits.setdefault((problem, visit.cell), []).append(visit.round_time)
                seen[Pair(number, choice)] = None
        for cell in seen:
            observations.note(cell, self._time(*setup.measured_pair(cell)))
        return bool(seen)
