"""Many tests at once: the procedure of Benjamini and Hochberg (1995)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float], rate: float) -> list[bool]:
    """Say which hypotheses are rejected so that the expected share of wrong rejections stays below ``rate``.

    With m tests, all hypotheses up to the largest rank k with p(k) <= k / m * rate are rejected.
    """
    count = len(p_values)
    order = sorted(range(count), key=p_values.__getitem__)
    last = 0
    for rank, index in enumerate(order, start=1):
        if p_values[index] <= rank / count * rate:
            last = rank
    rejected = [False] * count
    for index in order[:last]:
        rejected[index] = True
    return rejected
