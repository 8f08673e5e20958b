"""What is handed out next. The coordinator hands out by these rules, and so does the model of a cluster."""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

#: about how often a kernel is measured in a part, and in the last step
PART_VISITS: Final = 2
LAST_VISITS: Final = 4
#: share of the kernels that the last step has, as long as nobody knows
_LAST_SHARE: Final = 1 / 20
#: what takes longer than its effort says shall not begin last: it counts as so many times longer
_CAUTION: Final = 2.0


class Pace:
    """How long problems take per effort, learned from those that were begun."""

    def __init__(self) -> None:
        self._ratios: list[float] = []

    def __len__(self) -> int:
        return len(self._ratios)

    def add(self, problem_s: float, effort: float) -> float:
        """Take note of a problem; return its seconds per effort as a multiple of what is usual by now."""
        ratio = problem_s / effort
        insort(self._ratios, ratio)
        usual = self.usual
        return ratio / usual if usual else 1.0

    @property
    def usual(self) -> float | None:
        """The median, in seconds per effort; ``None`` before the first problem."""
        return self._ratios[len(self._ratios) // 2] if self._ratios else None


def remaining_s(visit_s: float, kernels: int, last: int) -> float:
    """Return about how long what is left of a divided problem takes on one card after the other.

    :param visit_s: seconds of an attempt.
    :param kernels: in the part that is handed out; 0 for the last step itself.
    :param last: kernels of the last step.
    """
    return visit_s * (PART_VISITS * kernels + LAST_VISITS * last)


def expected_last(kernels: int) -> int:
    """Return how many kernels of a problem the last step will have, before anybody knows."""
    return round(_LAST_SHARE * kernels)


class Schedule(Generic[T]):
    """What can be handed out.

    What somebody failed to finish comes first: others have waited for it. Then come problems to be divided:
    their first parts are small, and say how long they take. All else comes in the order of the time that it
    and what can only follow it take, the longest first, so that what is short fills the gaps at the end.

    :param divided: problems to be divided, in their order.
    :param whole: problems that one card gets, and their efforts, the longest first.
    """

    def __init__(self, divided: Iterable[T], whole: Iterable[tuple[float, T]]) -> None:
        self.pace = Pace()
        self._first = deque[T]()
        self._divided = deque(divided)
        self._whole = deque(whole)
        #: (minus seconds, number, unit)
        self._timed: list[tuple[float, int, T]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._first) + len(self._divided) + len(self._whole) + len(self._timed)

    def put_first(self, unit: T) -> None:
        """Hand a unit out before all that is there but those that were put first before it."""
        self._first.append(unit)

    def put(self, unit: T, seconds: float) -> None:
        """Hand a unit out when its turn comes.

        :param seconds: see :func:`remaining_s`.
        """
        heapq.heappush(self._timed, (-seconds, next(self._numbers), unit))

    def pop(self) -> T | None:
        """Take the next unit; ``None`` if there is none."""
        if self._first:
            return self._first.popleft()
        if self._divided:
            return self._divided.popleft()
        if self._whole and (not self._timed or self._whole_s() >= -self._timed[0][0]):
            return self._whole.popleft()[1]
        return heapq.heappop(self._timed)[2] if self._timed else None

    def keep(self, wanted: Callable[[T], bool]) -> None:
        """Drop all other units."""
        self._first = deque(filter(wanted, self._first))
        self._divided = deque(filter(wanted, self._divided))
        self._whole = deque(pair for pair in self._whole if wanted(pair[1]))
        self._timed = [entry for entry in self._timed if wanted(entry[2])]
        heapq.heapify(self._timed)

    def _whole_s(self) -> float:
        """Return about how long the longest whole problem takes, with caution."""
        return self._whole[0][0] * (self.pace.usual or 0.0) * _CAUTION
