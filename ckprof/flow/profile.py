"""Running a built library on problems and collecting the outcomes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError
from ckprof.model.outcome import Outcome
from ckprof.model.results import RunInstance
from ckprof.run.events import ProblemStarted
from ckprof.run.schedule import run_instances
from ckprof.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary, Rejection
    from ckprof.model.problem_run import ProblemRun
    from ckprof.plugin.manager import PluginManager
    from ckprof.run.baselines import Baselines
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions


def profile(
    library: BuiltLibrary,
    problems: Sequence[ProblemRun],
    options: RunOptions,
    manager: PluginManager,
    on_event: Callable[[RunEvent], None],
    baselines: Baselines | None = None,
) -> Generator[Outcome, None, None]:
    """Yield one outcome per candidate of a library, problem and number of splits, as they come.

    Candidates that have no kernel come first: their outcome is known.

    :param on_event: called with what happens, for progress display.
    :param baselines: what is measured as well.
    :raises ToolchainError: the library cannot be loaded.
    """
    hooks = _Hooks(library, problems, manager, on_event)
    if library.path is None:
        for index in range(len(problems)):
            hooks.start(index)
    for (index, problem), rejection in product(enumerate(problems), library.rejected):
        if problem.takes(rejection.candidate.instance):
            for split_k in problem.splits or options.splits:
                yield hooks.announce(_not_built(rejection, index, split_k))
    if library.path is None:
        return
    with scratch_folder() as folder:
        for outcome in run_instances(
            library.path,
            library.recipe.arch,
            library.direction,
            [candidate.instance for candidate in library.built],
            problems,
            options,
            Path(folder),
            hooks.pass_on,
            baselines=baselines,
        ):
            yield hooks.announce(outcome)


class _Hooks:
    """Tells plugins of problems and outcomes."""

    def __init__(
        self,
        library: BuiltLibrary,
        problems: Sequence[ProblemRun],
        manager: PluginManager,
        on_event: Callable[[RunEvent], None],
    ) -> None:
        self._direction = library.direction.id
        self._instances = {candidate.instance.key: candidate.instance for candidate in library.candidates}
        self._problems = problems
        self._manager = manager
        self._on_event = on_event

    def start(self, index: int) -> None:
        """Tell that the instances are about to run on a problem."""
        self._manager.call(
            "ckprof_before_problem",
            direction=self._direction,
            problem=self._problems[index].problem,
            problem_index=index,
        )

    def pass_on(self, event: RunEvent) -> None:
        """Pass an event on, and tell of the problem that it says is started."""
        if isinstance(event, ProblemStarted):
            self.start(event.problem_index)
        self._on_event(event)

    def announce(self, outcome: Outcome) -> Outcome:
        """Tell an outcome, and return it."""
        self._manager.call(
            "ckprof_after_outcome",
            instance=self._instances[outcome.key],
            problem=self._problems[outcome.problem_index].problem,
            outcome=outcome,
        )
        return outcome


def _not_built(rejection: Rejection, problem_index: int, split_k: int) -> Outcome:
    return Outcome(
        key=rejection.candidate.instance.key,
        problem_index=problem_index,
        status=rejection.status,
        reason=rejection.reason,
        unmet_requirements=rejection.unmet_requirements,
        split_k=split_k,
        split_k_deduced=split_k < 1,
    )


def _instance_string(candidate: Candidate) -> str:
    """Return the text, or why there is none: a wrong instance must not cost the results of the others."""
    try:
        return candidate.instance_string
    except CkprofError as exc:
        return f"(none: {exc})"


def as_run_instance(candidate: Candidate) -> RunInstance:
    """Return the candidate as reports show it."""
    return RunInstance(
        key=candidate.instance.key,
        index=candidate.index,
        id=candidate.instance.id,
        name=candidate.name,
        instance_string=_instance_string(candidate),
        pipeline=candidate.pipeline.id,
        dtype=candidate.instance.dtype,
        source=candidate.source,
        layout=candidate.instance.layout.name,
        compute_type=candidate.instance.types.compute_type,
    )
