"""What a report is told besides the measurements."""

from __future__ import annotations

from dataclasses import dataclass

from ckprof.errors import UsageError
from ckprof.model.roofline import Ceiling
from ckprof.option import percent, settable, share


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Choices of a report."""

    title: str = settable("", "heading of the report", metavar="TEXT")
    #: given by hand; each replaces those of its kind that the sweeps have kept
    ceilings: tuple[Ceiling, ...] = settable(
        (),
        "a ceiling of the roofline: theoretical=95000,5300 or measured=80000,4100; - where one number is "
        "not known (repeatable)",
        flag="--ceiling",
        metavar="KIND=GFLOPS,GBYTES",
        parse=Ceiling.parse,
    )
    #: a share of the best
    tie: float = settable(
        0.02,
        "kernels within this share of the best are tied with it",
        metavar="SHARE",
        parse=share,
        show=percent,
    )
    samples: bool = settable(
        False, "draw the raw samples of the leading kernels as box plots", flag="--box-plots"
    )
    #: shares of the best's time that the coverage counts as good enough
    tolerances: tuple[float, ...] = (0.02, 0.05, 0.10)
    #: kernels per problem whose rounds are drawn over time
    traced: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.tie < 1:
            raise UsageError(f"the tie is {self.tie}, expected more than 0 and less than 1")
        if not self.tolerances or not all(0 < tolerance < 1 for tolerance in self.tolerances):
            raise UsageError("the tolerances of the coverage must be more than 0 and less than 1")
