"""Notifies plugins of problems and outcomes, whoever measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.measure.events import ProblemStarted

if TYPE_CHECKING:
    from ckprof.events import Event
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.session import Session


class PluginHooks:
    """Calls the hooks of a measurement.

    :param session: its plugins are notified, and then its listener.
    :param library: the built kernels.
    """

    def __init__(self, session: Session, library: BuiltLibrary) -> None:
        self._session = session
        self._direction = library.direction.id
        self._instances = {candidate.instance.key: candidate.instance for candidate in library.candidates}

    def tell(self, event: Event) -> None:
        """Pass an event on to the listener; plugins learn of problems."""
        if isinstance(event, ProblemStarted):
            self.before_problem(event.problem, event.problem_index)
        self._session.tell(event)

    def before_problem(self, problem: Problem, problem_index: int) -> None:
        """Call ``ckprof_before_problem``."""
        self._session.manager.call(
            "ckprof_before_problem", direction=self._direction, problem=problem, problem_index=problem_index
        )

    def after_outcome(self, problem: Problem, outcome: Outcome) -> None:
        """Call ``ckprof_after_outcome``; outcomes of kernels that are not in the library are left out."""
        instance = self._instances.get(outcome.key)
        if instance is not None:
            self._session.manager.call(
                "ckprof_after_outcome", instance=instance, problem=problem, outcome=outcome
            )
