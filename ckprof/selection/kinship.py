"""How alike two kernels are: what is known about one tells something about the other."""

from __future__ import annotations

from math import exp, log2
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.kernel_traits import KernelTraits

#: Kernels closer than this differ in labels alone.
NEAR: Final = 0.75
_SCHEDULE_STEP: Final = 4.0
_STAGE_STEP: Final = 2.0
_LABEL_STEP: Final = 0.5
_NEIGHBOURS: Final = 4


def distance(one: KernelTraits, other: KernelTraits) -> float:
    """Return a distance: 0 for equal traits, 1 for a tile twice as long along one axis.

    Kernels that keep another number of tiles in local memory are farther apart than those that merely
    schedule their instructions otherwise, which only their labels tell.
    """
    total = sum(log2(a / b) ** 2 for a, b in zip(one.tile, other.tile, strict=True))
    total += _SCHEDULE_STEP**2 * (
        (one.schedule is not other.schedule) + (one.reduction is not other.reduction)
    )
    total += (_STAGE_STEP * log2(one.lds_stages / other.lds_stages)) ** 2
    if one.labels != other.labels:
        equal = 0
        for a, b in zip(one.labels, other.labels, strict=False):
            if a != b:
                break
            equal += 1
        total += (_LABEL_STEP / (1 + equal)) ** 2
    return float(total**0.5)


def weights(target: KernelTraits, known: Sequence[KernelTraits]) -> Mapping[int, float]:
    """Return how much each known kernel says about another one: index -> share, of sum 1.

    Where a kernel differs in labels alone, it speaks alone; otherwise the nearest ones share.
    """
    ranked = sorted((distance(target, one), index) for index, one in enumerate(known))[:_NEIGHBOURS]
    nearest = ranked[0][0]
    if nearest < NEAR:
        return {ranked[0][1]: 1.0}
    shares = {index: exp(-((gap / nearest) ** 2)) for gap, index in ranked}
    total = sum(shares.values())
    return {index: share / total for index, share in shares.items()}
