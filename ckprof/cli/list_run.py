"""Building and running the instances of one call of ``ckprof run``, or of one list of a batch."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.building import build_candidates
from ckprof.errors import ExitCode
from ckprof.model.outcome import Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.conversion import Conversion
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import ConvProblem
    from ckprof.model.results import RunResults
    from ckprof.plugin.protocols import Direction, Target
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions


class Stages:
    """Wall seconds of the stages of a run."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.seconds: dict[str, float] = {}

    def done(self, name: str) -> None:
        """Count the time since the last stage as that of this one."""
        self.seconds[name] = time.monotonic() - self._started - sum(self.seconds.values())


def list_instances(candidates: Sequence[Candidate], session: Session) -> None:
    """Print the instances with their numbers."""
    for candidate in candidates:
        session.console.result(f"[{candidate.index}] {candidate.instance_string}")
    session.console.result(f"Total: {len(candidates)} instances")


def report_plan(
    candidates: Sequence[Candidate],
    problems: Sequence[ConvProblem],
    direction: Direction,
    target: Target,
    session: Session,
) -> None:
    """Print what would be built and run."""
    session.console.result(f"would build {len(candidates)} {direction.id} kernels for target {target.id}:")
    for candidate in candidates:
        session.console.result(f"  [{candidate.index}] {candidate.name}")
    session.console.result(f"and run them on {len(problems)} problem{'s' if len(problems) != 1 else ''}:")
    for problem in problems:
        session.console.result(f"  {problem.describe()}")


def build_and_run(
    arguments: argparse.Namespace,
    session: Session,
    *,
    candidates: Sequence[Candidate],
    conversions: Sequence[Conversion],
    problems: Sequence[ConvProblem],
    direction: Direction,
    target: Target,
    options: RunOptions,
    stages: Stages,
    keep_invalid: bool,
) -> RunResults:
    """Build the candidates' library, run it on the problems, and return everything that was found out.

    :param keep_invalid: try to build what the rules reject, too.
    :raises CkprofError: no toolchain, or a plugin broke its contract.
    """
    instances = [candidate.instance for candidate in candidates]
    session.call("ckprof_modify_instances", direction=direction.id, instances=instances)
    kept = {instance.key for instance in instances}
    candidates = [candidate for candidate in candidates if candidate.instance.key in kept]
    library = build_candidates(arguments, session, candidates, direction, target, keep_invalid=keep_invalid)
    stages.done("build")
    options = replace(options, last_level_cache_bytes=library.recipe.last_level_cache_bytes)
    watch = _Watch(session)
    outcomes = _outcomes(session, library, candidates, problems, direction, options, watch)
    stages.done("run")
    return _results(
        arguments, library, candidates, conversions, problems, direction, options, stages, watch, outcomes
    )


def exit_code_of(results: RunResults) -> ExitCode:
    """Failed outcomes fail the run, and so does a problem that no instance could serve."""
    if any(outcome.status.is_failure for outcome in results.outcomes):
        return ExitCode.FAILED
    served = {o.problem_index for o in results.outcomes if o.status is Status.OK}
    return ExitCode.OK if len(served) == len(results.problems) else ExitCode.FAILED


def _outcomes(
    session: Session,
    library: BuiltLibrary,
    candidates: Sequence[Candidate],
    problems: Sequence[ConvProblem],
    direction: Direction,
    options: RunOptions,
    watch: _Watch,
) -> list[Outcome]:
    from ckprof.flow.profile import profile

    total = len(candidates) * len(problems) * len(options.splits)
    names = {candidate.instance.key: candidate.name for candidate in candidates}
    outcomes: list[Outcome] = []
    with session.console.progress("run") as progress:
        for outcome in profile(library, candidates, problems, direction, options, session.manager, watch):
            outcomes.append(outcome)
            progress.update(len(outcomes), total, names[outcome.key])
            session.console.detail(f"{outcome.status.value}: {names[outcome.key]} {outcome.reason}".rstrip())
    return outcomes


def _results(
    arguments: argparse.Namespace,
    library: BuiltLibrary,
    candidates: Sequence[Candidate],
    conversions: Sequence[Conversion],
    problems: Sequence[ConvProblem],
    direction: Direction,
    options: RunOptions,
    stages: Stages,
    watch: _Watch,
    outcomes: Sequence[Outcome],
) -> RunResults:
    from ckprof.flow.profile import as_run_instance
    from ckprof.flow.run_environment import run_environment
    from ckprof.model.results import RunResults

    plain = {
        name: value.value if isinstance(value, Enum) else value for name, value in asdict(options).items()
    }
    return RunResults(
        direction=direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run_environment(library.recipe, watch.device, plain, Path.cwd()),
        conversions=tuple(conversions),
        instances=tuple(as_run_instance(candidate) for candidate in candidates),
        problems=tuple(problems),
        build=library.summary,
        outcomes=tuple(outcomes),
        stages_s=stages.seconds,
        why=arguments.why,
    )


class _Watch:
    """Says what a run is doing, and remembers the device."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.device = ""

    def __call__(self, event: RunEvent) -> None:
        from ckprof.run.events import OperandsReady, WaitingForDevice, WorkerLost, WorkerReady

        console = self._session.console
        if isinstance(event, WorkerReady):
            self.device = event.device
            console.detail(f"device: {event.device}")
        elif isinstance(event, WaitingForDevice):
            console.info(f"waiting for another run on {event.target} device {event.device}")
        elif isinstance(event, OperandsReady):
            console.detail(
                f"problem {event.problem_index}: {event.dtype.value} {event.layout.name} operands and "
                f"reference in {event.seconds:.2f} s"
            )
        elif isinstance(event, WorkerLost):
            console.detail(f"worker lost: {event.reason}")
