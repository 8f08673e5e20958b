"""What the samples of one attempt look like."""

from __future__ import annotations

from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: fewer samples say nothing about groups
_FEWEST: Final = 10
#: each group has at least this share of the samples
_LEAST_SHARE: Final = 0.2
#: the groups are at least this share of the median apart, and this many times their own spread
_LEAST_GAP: Final = 0.03
_LEAST_SEPARATION: Final = 4.0


def is_bimodal(samples: Sequence[float]) -> bool:
    """Say whether samples fall into two groups with a gap between them, as with a clock that has two states.

    The samples are split at their widest gap. Neither group may be small, and the spread of each must be
    small against the distance of the two.
    """
    if len(samples) < _FEWEST:
        return False
    ordered = sorted(samples)
    least = max(2, round(_LEAST_SHARE * len(ordered)))
    places = range(least, len(ordered) - least + 1)
    place = max(places, key=lambda index: ordered[index] - ordered[index - 1])
    low, high = ordered[:place], ordered[place:]
    distance = fmean(high) - fmean(low)
    if distance < _LEAST_GAP * median(ordered):
        return False
    return distance > _LEAST_SEPARATION * (pstdev(low) + pstdev(high)) / 2
