"""What a report is told besides the measurements."""

from __future__ import annotations

from dataclasses import dataclass

from ckprof.errors import UsageError
from ckprof.model.roof import Roof


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Choices of a report."""

    title: str = ""
    #: given by hand; each replaces those of its kind that the sweeps have kept
    roofs: tuple[Roof, ...] = ()
    #: runner-ups within this share of the best count as ties
    tie: float = 0.02
    #: shares of the best's time that the coverage counts as good enough
    tolerances: tuple[float, ...] = (0.02, 0.05, 0.10)
    #: kernels per problem whose rounds are drawn over time
    traced: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.tie < 1:
            raise UsageError(f"the tie is {self.tie}, expected more than 0 and less than 1")
        if not self.tolerances or not all(0 < one < 1 for one in self.tolerances):
            raise UsageError("the tolerances of the coverage must be more than 0 and less than 1")
