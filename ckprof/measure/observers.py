"""Who is notified while kernels are measured: plugins, and observers of the machine.

What these read explains a time; it is never what the time is filed under.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ckprof.model.device import Reading

if TYPE_CHECKING:
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.session import Session


#: what one reading says for all
_VALUES: Final = ("load", "cores", "clock_mhz", "base_clock_mhz", "temperature_c", "other_processes")


def combine(readings: list[Reading]) -> Reading:
    """Return one reading of several: the first that knows a value gives it; further evidence is collected."""
    known: dict[str, Any] = {}
    for reading in reversed(readings):
        known |= {name: value for name in _VALUES if (value := getattr(reading, name)) is not None}
    return Reading(
        **known,
        throttled_by=tuple(dict.fromkeys(text for reading in readings for text in reading.throttled_by)),
        extra={name: value for reading in readings for name, value in reading.extra.items()},
    )


class PluginHooks:
    """Calls the hooks of a measurement.

    :param session: its plugins are notified.
    :param library: the built kernels.
    """

    def __init__(self, session: Session, library: BuiltLibrary) -> None:
        self._session = session
        self._direction = library.direction.id
        self._instances = {candidate.instance.key: candidate.instance for candidate in library.candidates}

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
