"""How far a run is, and how long it still takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: weight of the latest measurement in the mean of what one takes
_WEIGHT: Final = 0.1


class Pace:
    """Counts measurements and what they take.

    :param cells: outcomes that the run has in the end: kernels x problems x splits.
    :param clock: monotonic seconds.
    """

    def __init__(self, cells: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._cells = cells
        self._known = 0
        self._clock = clock
        self._before = clock()
        self._mean_s: float | None = None
        #: measurements so far
        self.done = 0

    def begin(self) -> None:
        """Note that a round begins: what was before is no measurement."""
        self._before = self._clock()

    def outcome_known(self) -> None:
        """Note that nothing more is measured for one outcome."""
        self._known += 1

    def measured(self, left: int, unknown: int) -> tuple[int, float]:
        """Note a measurement.

        :param left: measurements that may still follow for the kernels that share its operands.
        :param unknown: how many of these have no outcome yet.
        :returns: measurements that are left at most, and the seconds that they take.
        """
        now = self._clock()
        took_s, self._before = now - self._before, now
        self._mean_s = took_s if self._mean_s is None else (1 - _WEIGHT) * self._mean_s + _WEIGHT * took_s
        self.done += 1
        # Those that come later take as many measurements each as those so far, these included.
        begun = self._known + unknown
        later = max(0, self._cells - begun)
        left += round(later * (self.done + left) / begun) if begun else later
        return left, left * self._mean_s
