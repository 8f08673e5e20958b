"""Which visits were disturbed, as the times of canaries in them show: the machine was not as in others."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.model.noise import DISTURBED_SHARE, DISTURBED_SIGMAS, MEDIAN_TO_SIGMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: visits that say what is usual: the latest so many, and at least
_MOST_VISITS: Final = 200
_FEWEST_VISITS: Final = 4


class CanaryTimes:
    """Times of the canaries in the visits so far."""

    def __init__(self) -> None:
        #: name of a canary -> logarithm of its time in each visit
        self._logs: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=_MOST_VISITS))

    def is_disturbed(self, rounds: Sequence[Mapping[str, float]]) -> bool:
        """Take note of a visit; say whether a canary is off by more than its scatter.

        :param rounds: times of the canaries in milliseconds in each round; empty where there are none.
        """
        disturbed = False
        for name in {name for times in rounds for name in times}:
            log = median(math.log(times[name]) for times in rounds if name in times)
            before = self._logs[name]
            if len(before) >= _FEWEST_VISITS:
                usual = median(before)
                sigma = MEDIAN_TO_SIGMA * median(abs(one - usual) for one in before)
                disturbed |= abs(log - usual) > max(DISTURBED_SIGMAS * sigma, DISTURBED_SHARE)
            before.append(log)
        return disturbed
