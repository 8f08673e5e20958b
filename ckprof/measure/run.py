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
from ckprof.model.results import RunResults

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest, Unfused
    from ckprof.measure.run_outcomes import Recorder
    from ckprof.model.outcome import BaselineOutcome, Outcome
    from ckprof.model.problem_case import ProblemCase
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
        self._session, self._should_stop, self.unfused = session, should_stop, unfused
        #: problems were left out
        self.stopped = False
        self.library = library
        self.problems = tuple(problems)
        self.options = options_on(options, library.recipe)
        #: what is compared with the kernels; it collects its outcomes itself
        self.baselines = Baselines() if baselines is None else baselines
        self.baselines.on_measured = self._baseline_measured
        self._hooks = PluginHooks(session, library)
        self._total = sum(
            problem.takes(kernel) * len(problem.splits or self.options.splits)
            for problem in self.problems
            for kernel in library.kernels
        )
        new_bench = partial(
            KernelBench,
            BenchLibrary.of(library),
            self.options,
            on_event=session.tell,
            before_problem=self._hooks.before_problem,
        )
        #: knows the device once :meth:`outcomes` has opened it
        self.bench = new_bench(observers=observers(session), baselines=self.baselines)
        self._benches = [self.bench]
        bench: KernelBench | BesideBench = self.bench
        if unfused.problems:
            self._benches.append(new_bench(lock=None))
            bench = BesideBench(self.bench, self._benches[1])
        self._pace = RunPace(self._total, len(self.problems) * self.baselines.count)
        #: knows what disturbed the times, and what was measured of kernels when the run was ended
        self.rounds = RunRounds(bench, self.options, session.tell, bench.measure_baselines, self._pace)

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
                for bench in self._benches:
                    stack.enter_context(bench)
                self.rounds.recorder = open_recorder(self) if open_recorder is not None else None
                groups = run_groups(
                    self.bench.library, self.options, self.library.kernels, self._begun(), self.unfused
                )
                outcomes = stack.enter_context(closing(self.rounds.outcomes(groups)))
                for outcome in outcomes:
                    self._hooks.after_outcome(self.problems[outcome.problem_index].problem, outcome)
                    # First to who keeps it: what is shown must not be lost when a signal comes now.
                    yield outcome
                    text = f"{outcome.status.value}: {names[outcome.key]} {outcome.reason}".rstrip()
                    tell(Message(text, Level.DETAIL))
        finally:
            tell(ProgressEnded())

    def _begun(self) -> Iterator[ProblemCase]:
        """Yield the problems; their operands, and baselines before them, may take longer than kernels."""
        for problem in self.problems:
            self.stopped = self._should_stop()
            if self.stopped:
                return
            yield problem

    def _baseline_measured(self, measured: BaselineOutcome) -> None:
        if self.rounds.recorder is not None:
            self.rounds.recorder.add_baseline(measured)
        self._pace.baseline_measured()
        outcome = measured.outcome
        text = f"{outcome.status.value}: baseline {measured.baseline} {outcome.reason}".rstrip()
        self._session.tell(Message(text, Level.DETAIL))


def _check_reference(session: Session, request: RunRequest) -> None:
    """Say before anything is built that a target has no device that could compute references."""
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
        outcomes += [outcome for outcome in run.rounds.abandoned if outcome not in outcomes]
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
        environment=run_environment(library.recipe, run.bench.device, run.options.as_plain(), Path.cwd()),
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
        warnings=tuple(run.rounds.warnings),
        baseline_ids=request.baselines,
        baselines=tuple(run.baselines.outcomes),
        unfused_instances=dict(request.unfused.instances),
        unfused_problems={index: index + 1 for index in request.unfused.problems},
    )
