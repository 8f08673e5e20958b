"""One run of a built library on problems."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.events import OutcomeKnown, RunFinished, RunProgress, RunStarted, RunWarning
from ckprof.api.pace import Pace
from ckprof.api.run_conditions import RunConditions
from ckprof.flow.profile import profile
from ckprof.flow.run_environment import run_environment
from ckprof.run.baselines import Baselines
from ckprof.run.events import KernelMeasured, RoundsAbandoned, RoundStarted, WorkerReady, ignore_event
from ckprof.run.opened_device import OpenedDevice
from ckprof.run.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ckprof.api.session import Session
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem_run import ProblemRun
    from ckprof.run.events import RunEvent


class Run:
    """One run of a library: outcomes as they come, and afterwards what is known of the device.

    :param session: whose plugins and listener are notified.
    :param library: the built kernels.
    :param problems: what they compute.
    :param options: how they are run, verified and timed.
    :param baselines: what is measured as well.
    """

    def __init__(
        self,
        session: Session,
        library: BuiltLibrary,
        problems: Sequence[ProblemRun],
        options: RunOptions,
        baselines: Baselines | None = None,
    ) -> None:
        self._session = session
        self.library = library
        self.problems = tuple(problems)
        self.options = replace(
            options,
            last_level_cache_bytes=library.recipe.last_level_cache_bytes,
            peak_flops=library.recipe.peak_flops,
        )
        #: what is compared with the kernels; it collects its outcomes itself
        self.baselines = Baselines() if baselines is None else baselines
        #: what the target says of the device; empty until a worker has opened it
        self.device = OpenedDevice()
        #: what was measured of kernels whose outcome was not known when the run was ended
        self.abandoned: tuple[Outcome, ...] = ()
        #: told each event of the run before anybody else
        self.first_told: Callable[[RunEvent], None] = ignore_event
        self._conditions = RunConditions(session, library.recipe.target, options.device)
        self._names = {one.instance.key: one.name for one in library.candidates}
        self._pace = Pace(self._cells())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What disturbed the times."""
        return self._conditions.warnings

    def _cells(self) -> int:
        return sum(
            problem.takes(candidate.instance) * len(problem.splits or self.options.splits)
            for problem in self.problems
            for candidate in self.library.candidates
        )

    def outcomes(self) -> Generator[Outcome, None, None]:
        """Yield one outcome per candidate, problem and number of splits.

        :raises CkprofError: the library cannot be used, or a plugin broke its contract.
        """
        tell = self._session.tell
        names, total = self._names, self._cells()
        tell(RunStarted(total=total))
        try:
            with closing(
                profile(
                    self.library,
                    self.problems,
                    self.options,
                    self._session.manager,
                    self._on_event,
                    self.baselines,
                )
            ) as found:
                for done, outcome in enumerate(found, 1):
                    # First to who keeps it: what is shown must not be lost when a signal comes now.
                    yield outcome
                    self._pace.outcome_known()
                    tell(OutcomeKnown(outcome=outcome, name=names[outcome.key], done=done, total=total))
        finally:
            tell(RunFinished())

    def environment(self) -> dict[str, object]:
        """Return what it takes to reproduce the run."""
        return run_environment(self.library.recipe, self.device.text, self.options.as_plain(), Path.cwd())

    def _on_event(self, event: RunEvent) -> None:
        if isinstance(event, WorkerReady):
            self.device = OpenedDevice.of(event)
        elif isinstance(event, RoundsAbandoned):
            self.abandoned = event.outcomes
        self.first_told(event)
        tell = self._session.tell
        tell(event)
        if isinstance(event, RoundStarted):
            self._pace.begin()
            for text in self._conditions.look():
                tell(RunWarning(text=text))
        elif isinstance(event, KernelMeasured):
            tell(self._progress(event))

    def _progress(self, event: KernelMeasured) -> RunProgress:
        left, eta_s = self._pace.measured(event.left, event.unknown)
        return RunProgress(
            name=self._names[event.outcome.key],
            outcome=event.outcome,
            round=event.round,
            done=self._pace.done,
            total=self._pace.done + left,
            eta_s=eta_s,
        )
