"""What a run is asked for, before anything is built."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.kernels.candidates import with_unfused
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.fitting import problems_for
from ckprof.measure.beside import Unfused, problems_beside
from ckprof.measure.options import RunOptions
from ckprof.problems.choose import parse_problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.measure.requests import RunPlanOptions, StoreOptions
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session


def _never() -> bool:
    return False


class Stages:
    """A clock that counts each second for one stage."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.seconds: dict[str, float] = {}

    def done(self, name: str) -> None:
        """Count the time since the last stage as that of this one."""
        self.seconds[name] = time.monotonic() - self._started - sum(self.seconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A selection to be built and run."""

    selection: Selection
    problems: tuple[ProblemCase, ...]
    build: BuildOptions
    options: RunOptions
    #: reports shall say every condition that rejected an instance
    why: bool = False
    #: kernels and problems that are measured beside others
    unfused: Unfused = field(default_factory=Unfused)
    #: store that the outcomes are added to, by :func:`~ckprof.sweep.recording.run_into_store`
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
    unfused = Unfused()
    if options.epilogue_cost:
        own = frozenset(candidate.instance.key for candidate in selection.candidates)
        selection, pairs = with_unfused(selection)
        problems, unfused = problems_beside(problems, own, pairs)
    run = options.run or RunOptions(timeout_s=session.settings.timeout)
    if options.splits:
        # said for every problem: what the lines name does not count
        run = replace(run, splits=options.splits)
        problems = [replace(problem, splits=()) for problem in problems]
    stages.done("convert")
    return RunRequest(
        selection=selection,
        problems=tuple(problems),
        build=run.built_for(build),
        options=run,
        why=options.why,
        unfused=unfused,
        stages=stages,
    )
