"""Under which conditions a side was measured: load, clock, temperature, and who else used the machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from ckprof.store.attempt import CONTENDED, Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.store.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """Medians over the attempts of a side; ``None`` for what none of them says."""

    load: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    #: shares of the attempts with a mark that says what may have slowed them down; none with a share of 0
    contended: Mapping[Mark, float] = field(default_factory=dict)


class StateCounter:
    """Sums up the conditions of attempts."""

    def __init__(self) -> None:
        self._loads: list[float] = []
        self._clocks: list[float] = []
        self._temperatures: list[float] = []
        self._marks: Counter[Mark] = Counter()
        self._attempts = 0

    def add(self, attempt: Attempt) -> None:
        """Take an attempt into account."""
        seen = attempt.conditions
        for values, value in (
            (self._loads, seen.load),
            (self._clocks, seen.clock_mhz),
            (self._temperatures, seen.temperature_c),
        ):
            if value is not None:
                values.append(value)
        self._attempts += 1
        self._marks.update(mark for mark in attempt.marks if mark in CONTENDED)

    def state(self) -> MachineState:
        """Return what they were like."""
        return MachineState(
            load=median(self._loads) if self._loads else None,
            clock_mhz=median(self._clocks) if self._clocks else None,
            temperature_c=median(self._temperatures) if self._temperatures else None,
            contended={mark: self._marks[mark] / self._attempts for mark in Mark if self._marks[mark]},
        )
