"""Runs of libraries: what is built and run, its progress, what is known of its device, who is notified."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.kernels.candidates import same_kernels, substitutions
from ckprof.measure.baselines import Baselines, BesideBench, baseline_sources
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.host import run_environment
from ckprof.measure.observers import PluginHooks, observers
from ckprof.measure.options import ReferencePlace, options_on
from ckprof.measure.requests import NOTHING_BESIDE
from ckprof.measure.run_outcomes import RunPace, RunRounds, run_groups
from ckprof.measure.support import build_checked_library
from ckprof.model.device import DeviceIdentity
from ckprof.model.results import RunResults

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest, Unfused
    from ckprof.measure.run_outcomes import Recorder
    from ckprof.model.outcome import BaselineOutcome, Outcome
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.types import DataType
    from ckprof.session import Session


class Run:
    """One run of a library: outcomes as they come, and afterwards what is known of the device.

    :param session: whose plugins and listener are notified.
    :param library: the built kernels.
    :param problems: what they compute.
    :param options: how they are run, verified and timed.
    :param baselines: what is measured as well.
    :param should_stop: asked before each problem: whether it and those after it are left out.
    :param unfused: what is measured beside kernels.
    """

    def __init__(
        self,
        session: Session,
        library: BuiltLibrary,
        problems: Sequence[ProblemCase],
        options: RunOptions,
        baselines: Baselines | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        unfused: Unfused = NOTHING_BESIDE,
    ) -> None:
        self._session = session
        self.unfused = unfused
        self._should_stop = should_stop
        #: problems were left out
        self.stopped = False
        self.library = library
        self.problems = tuple(problems)
        self.options = options_on(options, library.recipe)
        #: what is compared with the kernels; it collects its outcomes itself
        self.baselines = Baselines() if baselines is None else baselines
        self._bench: KernelBench | None = None
        self._rounds: RunRounds | None = None
        self._recorder: Recorder | None = None
        self.baselines.on_measured = self._baseline_measured
        self._hooks = PluginHooks(session, library)
        self._total = sum(
            problem.takes(kernel) * len(problem.splits or self.options.splits)
            for problem in self.problems
            for kernel in library.kernels
        )
        self._pace = RunPace(self._total, len(self.problems) * self.baselines.count)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What disturbed the times."""
        return tuple(self._rounds.warnings) if self._rounds is not None else ()

    @property
    def abandoned(self) -> tuple[Outcome, ...]:
        """What was measured of kernels whose outcome was not known when the run was ended."""
        return self._rounds.abandoned if self._rounds is not None else ()

    @property
    def device(self) -> str:
        """What the target says of the device, in one line; empty until a worker has opened it."""
        return self._bench.device if self._bench is not None else ""

    @property
    def identity(self) -> DeviceIdentity:
        """What tells the device from others."""
        return self._bench.identity if self._bench is not None else DeviceIdentity()

    def measure_roof(self, dtype: DataType | None) -> float:
        """Return what the device reaches per second, see :meth:`KernelBench.measure_roof`.

        :raises ToolchainError: workers do not start any more.
        """
        return self._bench.measure_roof(dtype) if self._bench is not None else 0.0

    def environment(self) -> dict[str, object]:
        """Return what it takes to reproduce the run."""
        return run_environment(self.library.recipe, self.device, self.options.as_plain(), Path.cwd())

    def outcomes(
        self, open_recorder: Callable[[Run], Recorder] | None = None
    ) -> Generator[Outcome, None, None]:
        """Yield one outcome per kernel, problem and number of splits.

        Within a problem, kernels of the same layout and types are run together, because they share operands
        and reference: in shuffled rounds, or with ``options.rounds`` of 1 in the order given. Closing the
        generator, or an exception such as Ctrl-C inside it, ends the worker.

        :param open_recorder: called as soon as the device is known; returns what keeps each measurement.
        :raises CkprofError: the library cannot be used, or a plugin broke its contract.
        """
        tell = self._session.tell
        names = {kernel.key: kernel.name for kernel in self.library.kernels}
        tell(Progress(what="run", done=0, total=self._total))
        try:
            with ExitStack() as stack:
                bench = self._open(stack)
                self._recorder = open_recorder(self) if open_recorder is not None else None
                self._rounds = RunRounds(
                    bench, self.options, tell, self._recorder, bench.measure_baselines, self._pace
                )
                groups = run_groups(
                    bench.library, self.options, self.library.kernels, self._begun(), self.unfused
                )
                outcomes = stack.enter_context(closing(self._rounds.outcomes(groups)))
                for outcome in outcomes:
                    self._hooks.after_outcome(self.problems[outcome.problem_index].problem, outcome)
                    # First to who keeps it: what is shown must not be lost when a signal comes now.
                    yield outcome
                    text = f"{outcome.status.value}: {names[outcome.key]} {outcome.reason}".rstrip()
                    tell(Message(text, Level.DETAIL))
        finally:
            tell(ProgressEnded())

    def _open(self, stack: ExitStack) -> KernelBench | BesideBench:
        """Open the library for as long as the stack is open."""
        new_bench = partial(
            KernelBench,
            BenchLibrary.of(self.library),
            self.options,
            on_event=self._session.tell,
            before_problem=self._hooks.before_problem,
        )
        own = new_bench(observers=observers(self._session), baselines=self.baselines)
        self._bench = stack.enter_context(own)
        if not self.unfused.problems:
            return own
        return BesideBench(own, stack.enter_context(new_bench(lock=None)), self.baselines)

    def _begun(self) -> Iterator[ProblemCase]:
        """Yield the problems; their operands, and baselines before them, may take longer than kernels."""
        for problem in self.problems:
            self.stopped = self._should_stop()
            if self.stopped:
                return
            yield problem

    def _baseline_measured(self, measured: BaselineOutcome) -> None:
        if self._recorder is not None:
            self._recorder.add_baseline(measured)
        self._pace.baseline_measured()
        outcome = measured.outcome
        text = f"{outcome.status.value}: baseline {measured.baseline} {outcome.reason}".rstrip()
        self._session.tell(Message(text, Level.DETAIL))


def _check_reference(session: Session, request: RunRequest) -> None:
    """Say before anything is built that a target has no device that could compute references.

    :raises UsageError: it has none, and that was asked for.
    """
    target = session.target(request.build.target)
    if request.options.reference is ReferencePlace.DEVICE and target.embedded:
        raise UsageError(
            f"--reference device: the target {target.id} has no device; use --reference host or auto"
        )


def run_to_its_end(
    session: Session, request: RunRequest, open_recorder: Callable[[Run], Recorder] | None = None
) -> tuple[RunResults, BaseException | None]:
    """Build a selection's library, run it on the problems, and return everything that was found out.

    :param open_recorder: called as soon as the device is known; returns what keeps each measurement.
    :returns: the results, and what ended the run before its last outcome, if something did.
    :raises CkprofError: no toolchain, or a library that is asked for is missing: nothing was run.
    :raises KeyboardInterrupt: nothing was run yet.
    """
    selection, stages = request.selection, request.stages
    _check_reference(session, request)
    # Who lacks a library that is compared need not build for hours.
    sources = baseline_sources(session, request.baselines, request.build.target)
    library = build_checked_library(session, selection, request.build)
    stages.done("build")
    run = Run(
        session,
        library,
        request.problems,
        request.options,
        Baselines(sources),
        request.should_stop,
        request.unfused,
    )
    outcomes: list[Outcome] = []
    error: BaseException | None = None
    stopped = False
    try:
        with closing(run.outcomes(open_recorder)) as coming:
            for outcome in coming:
                outcomes.append(outcome)
                stopped = request.should_stop()
                if stopped:
                    break
    except BaseException as exc:
        # Whatever it is: what was measured until then must not be lost with it.
        error = exc
        outcomes += [outcome for outcome in run.abandoned if outcome not in outcomes]
    stages.done("run")
    partial = error is not None or stopped or run.stopped
    return _results(session, request, run, tuple(outcomes), partial=partial), error


def _results(
    session: Session, request: RunRequest, run: Run, outcomes: tuple[Outcome, ...], *, partial: bool
) -> RunResults:
    library, candidates = run.library, request.selection.candidates
    target = session.registry.targets.find(library.recipe.target)
    problems = tuple(problem.problem for problem in run.problems)
    return RunResults(
        direction=library.direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run.environment(),
        conversions=request.selection.conversions,
        instances=library.kernels,
        problems=problems,
        cases=run.problems,
        build=library.summary,
        outcomes=outcomes,
        stages_s=request.stages.seconds,
        why=request.why,
        same_kernels=same_kernels(target, candidates) if request.why else (),
        substitutions=substitutions(target, candidates, problems) if request.why else (),
        partial=partial,
        warnings=run.warnings,
        baseline_ids=request.baselines,
        baselines=tuple(run.baselines.outcomes),
        unfused_instances=dict(request.unfused.instances),
        unfused_problems={index: index + 1 for index in request.unfused.problems},
    )
