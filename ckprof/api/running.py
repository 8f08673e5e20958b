"""Running a built library on problems."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.api.building import build_library
from ckprof.api.instances import choose_instances
from ckprof.api.library_run import Run
from ckprof.api.problems import parse_problems, problems_for
from ckprof.api.stages import Stages
from ckprof.flow.profile import as_run_instance
from ckprof.model.recipe import Purpose
from ckprof.model.results import RunResults
from ckprof.run.options import RunOptions

if TYPE_CHECKING:
    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions, InstanceQuery, RunPlanOptions, StoreOptions
    from ckprof.api.session import Session
    from ckprof.model.problem_run import ProblemRun


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
    #: the clock of the run so far
    stages: Stages = field(default_factory=Stages)


def plan_run(
    session: Session, query: InstanceQuery, build: BuildOptions, options: RunPlanOptions
) -> RunRequest:
    """Return what a query would build and run.

    :raises CkprofError: the query or a problem is wrong, or no instance is left.
    """
    stages = Stages()
    selection = choose_instances(session, query).require()
    direction = session.registry.direction(selection.direction)
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


def build_and_run(session: Session, request: RunRequest) -> RunResults:
    """Build a selection's library, run it on the problems, and return everything that was found out.

    :raises CkprofError: no toolchain, or a plugin broke its contract.
    """
    selection, stages = request.selection, request.stages
    library = build_library(
        session, selection.candidates, request.build, Purpose.RUN, keep_invalid=selection.keep_invalid
    )
    stages.done("build")
    if request.store is None:
        run = Run(session, library, request.problems, request.options)
        outcomes = tuple(run.outcomes())
    else:
        from ckprof.api.recording import run_and_record

        run, outcomes = run_and_record(session, library, request, request.store)
    stages.done("run")
    return RunResults(
        direction=library.direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run.environment(),
        conversions=selection.conversions,
        instances=tuple(as_run_instance(candidate) for candidate in selection.candidates),
        problems=tuple(one.problem for one in run.problems),
        build=library.summary,
        outcomes=outcomes,
        stages_s=stages.seconds,
        why=request.why,
    )
