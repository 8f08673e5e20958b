"""Running a built library on problems."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.api.baselines import baseline_sources
from ckprof.api.building import build_library
from ckprof.api.instances import choose_instances
from ckprof.api.library_run import Run
from ckprof.api.problems import parse_problems, problems_for
from ckprof.api.stages import Stages
from ckprof.errors import UsageError
from ckprof.flow.profile import as_run_instance
from ckprof.flow.same_kernels import same_kernels, substitutions
from ckprof.model.recipe import Purpose
from ckprof.model.results import RunResults
from ckprof.run.baselines import Baselines
from ckprof.run.options import ReferencePlace, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions, InstanceQuery, RunPlanOptions, StoreOptions
    from ckprof.api.session import Session
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem_run import ProblemRun


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A selection to be built and run."""

    selection: Selection
    problems: tuple[ProblemRun, ...]
    build: BuildOptions
    options: RunOptions
    #: reports shall say every condition that rejected an instance
    why: bool = False
    #: store that the outcomes are added to
    store: StoreOptions | None = None
    #: ids of the baselines that are measured as well
    baselines: tuple[str, ...] = ()
    #: the clock of the run so far
    stages: Stages = field(default_factory=Stages)
    #: asked after each outcome; the run ends where it says so
    should_stop: Callable[[], bool] = _never


def plan_run(
    session: Session, query: InstanceQuery, build: BuildOptions, options: RunPlanOptions
) -> RunRequest:
    """Return what a query would build and run.

    :raises CkprofError: the query or a problem is wrong, or no instance is left.
    """
    stages = Stages()
    selection = choose_instances(session, query).require()
    direction = session.registry.operation(selection.direction)
    parsed = parse_problems(session, direction, options.problems, options.files)
    problems = problems_for(
        session, parsed, direction, selection.candidates, strict_layout=options.strict_layout
    )
    run = options.run or RunOptions(timeout_s=session.settings.timeout)
    if options.splits:
        # said for every problem: what the lines name does not count
        run = replace(run, splits=options.splits)
        problems = [replace(problem, splits=()) for problem in problems]
    stages.done("convert")
    return RunRequest(
        selection=selection,
        problems=tuple(problems),
        build=build,
        options=run,
        why=options.why,
        stages=stages,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What is known when a run is over, however it ended."""

    results: RunResults
    #: what ended the run before its last outcome
    error: BaseException | None = None


def _recording(
    session: Session, options: StoreOptions | None, stack: ExitStack
) -> Callable[[Run], Generator[Outcome, None, None]]:
    """Return what runs a run and yields its outcomes; those for a store go there first."""
    if options is None:
        return Run.outcomes
    from ckprof.api.recording import recorded
    from ckprof.api.sweeping import open_sink

    sink = open_sink(session, options)
    stack.callback(sink.close)
    return lambda run: recorded(session, run, options, sink)


def _check_reference(session: Session, request: RunRequest) -> None:
    """Say before anything is built that a target has no device that could compute references.

    :raises UsageError: it has none, and that was asked for.
    """
    target = session.target(request.build.target)
    if request.options.reference is ReferencePlace.DEVICE and target.embedded:
        raise UsageError(
            f"--reference device: the target {target.id} has no device; use --reference host or auto"
        )


def build_and_run(session: Session, request: RunRequest) -> RunResults:
    """Build a selection's library, run it on the problems, and return everything that was found out.

    :raises CkprofError: no toolchain, the store cannot be written, or a plugin broke its contract.
    """
    end = run_to_its_end(session, request)
    if end.error is not None:
        raise end.error
    return end.results


def run_to_its_end(session: Session, request: RunRequest) -> RunEnd:
    """Do what :func:`build_and_run` does, but return what was found out even if something ends the run.

    :raises CkprofError: no toolchain, or the store cannot be written: nothing was run.
    :raises KeyboardInterrupt: nothing was run yet.
    """
    selection, stages = request.selection, request.stages
    outcomes: list[Outcome] = []
    error: BaseException | None = None
    stopped = False
    with ExitStack() as stack:
        _check_reference(session, request)
        # The store first: who cannot write it need not build for hours. So with a library that is missing.
        sources = baseline_sources(session, request.baselines, request.build.target)
        record = _recording(session, request.store, stack)
        library = build_library(
            session, selection.candidates, request.build, Purpose.RUN, keep_invalid=selection.keep_invalid
        )
        stages.done("build")
        run = Run(session, library, request.problems, request.options, Baselines(sources))
        try:
            with closing(record(run)) as found:
                for outcome in found:
                    outcomes.append(outcome)
                    stopped = request.should_stop()
                    if stopped:
                        break
        except BaseException as exc:
            # Whatever it is: what was measured until then must not be lost with it.
            error = exc
            outcomes += [one for one in run.abandoned if one not in outcomes]
    stages.done("run")
    target = session.registry.targets.find(library.recipe.target)
    problems = tuple(one.problem for one in run.problems)
    results = RunResults(
        direction=library.direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run.environment(),
        conversions=selection.conversions,
        instances=tuple(as_run_instance(candidate) for candidate in selection.candidates),
        problems=problems,
        build=library.summary,
        outcomes=tuple(outcomes),
        stages_s=stages.seconds,
        why=request.why,
        same_kernels=same_kernels(target, selection.candidates) if request.why else (),
        substitutions=substitutions(target, selection.candidates, problems) if request.why else (),
        partial=error is not None or stopped,
        warnings=run.warnings,
        baseline_ids=request.baselines,
        baselines=tuple(run.baselines.outcomes),
    )
    return RunEnd(results=results, error=error)
