"""What a report is told besides the measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ckprof.errors import UsageError


class RoofKind(Enum):
    """Where a roof comes from."""

    #: computed from the device's record
    THEORETICAL = "theoretical"
    #: measured on the device: copy bandwidth, peak multiply-add
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What a device can reach at most."""

    kind: RoofKind
    #: floating-point operations in 1e9 per second; infinite where only the bandwidth is known
    gflops: float
    #: memory traffic in 1e9 bytes per second; infinite where only the arithmetic is known
    gbytes_per_s: float

    def at(self, intensity: float) -> float:
        """Return the GFLOP/s that can be reached at most with so many operations per byte."""
        return min(self.gflops, self.gbytes_per_s * intensity)

    @classmethod
    def parse(cls, text: str) -> Roof:
        """Parse ``KIND=GFLOPS,GBYTES``, e.g. ``measured=95000,1350``; either number may be ``-``.

        :raises UsageError: it is something else.
        """
        kind, _, numbers = text.partition("=")
        try:
            values = [math.inf if part.strip() == "-" else float(part) for part in numbers.split(",")]
            gflops, gbytes = values
            found = cls(kind=RoofKind(kind.strip()), gflops=gflops, gbytes_per_s=gbytes)
        except ValueError:
            known = " or ".join(one.value for one in RoofKind)
            raise UsageError(
                f"the roof {text!r} is not KIND=GFLOPS,GBYTES_PER_S with {known}, e.g. measured=95000,1350"
            ) from None
        if not min(values) > 0 or min(values) == math.inf:
            raise UsageError(f"the roof {text!r} needs positive numbers, and one of them at least")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Choices of a report."""

    title: str = ""
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
