"""How many compute units a device has, from measured times alone.

Times rise in steps where one more round of workgroups begins. Only the right number of compute units puts the
model's steps where the data have theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.selection.fit import FitRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsGuess:
    """The number that explains the times best."""

    units: int
    #: cost of the next best number divided by its own: about 1 means that the data do not tell
    margin: float


def guess_units(request: FitRequest, numbers: Sequence[int]) -> UnitsGuess:
    """Return the number that explains measured times best.

    :param request: what would be fitted; its own number is not used.
    :param numbers: those to try, two or more.
    """
    from ckprof.selection.fit import fit

    costs = sorted((fit(replace(request, units=units)).cost, units) for units in sorted(set(numbers)))
    (best, units), (second, _) = costs[:2]
    return UnitsGuess(units=units, margin=second / best)
