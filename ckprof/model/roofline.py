"""What a device reaches, and what it can reach at most: rates, and the two lines of a roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import UsageError
from ckprof.model.problem import traffic_of
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof.model.types import TypeSet


class CeilingKind(Enum):
    """Where a ceiling comes from."""

    #: computed from the device's record
    THEORETICAL = "theoretical"
    #: measured on the device: copy bandwidth, peak multiply-add
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a device can reach at most."""

    kind: CeilingKind
    #: floating-point operations in 1e9 per second; infinite where only the bandwidth is known
    gflops: float = math.inf
    #: memory traffic in 1e9 bytes per second; infinite where only the arithmetic is known
    gbytes_per_s: float = math.inf
    #: type of the operands that it holds for; ``None`` for every type
    dtype: DataType | None = None

    def at(self, intensity: float) -> float:
        """Return the GFLOP/s that can be reached at most with so many operations per byte."""
        return min(self.gflops, self.gbytes_per_s * intensity)

    @classmethod
    def parse(cls, text: str) -> Ceiling:
        """Parse ``KIND=GFLOPS,GBYTES``, e.g. ``measured=95000,1350``; either number may be ``-``.

        :raises UsageError: it is something else.
        """
        kind, _, numbers = text.partition("=")
        try:
            values = [math.inf if part.strip() == "-" else float(part) for part in numbers.split(",")]
            gflops, gbytes = values
            ceiling = cls(kind=CeilingKind(kind.strip()), gflops=gflops, gbytes_per_s=gbytes)
        except ValueError:
            kinds = " or ".join(ceiling_kind.value for ceiling_kind in CeilingKind)
            raise UsageError(
                f"ceiling {text!r} is not KIND=GFLOPS,GBYTES_PER_S with {kinds}, e.g. measured=95000,1350"
            ) from None
        if not min(values) > 0 or min(values) == math.inf:
            raise UsageError(f"ceiling {text!r} needs positive numbers, and one of them at least")
        return ceiling

    def as_plain(self) -> dict[str, object]:
        """Return JSON values; what is not known is missing."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value != math.inf}

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> Ceiling | None:
        """Return what :meth:`as_plain` wrote; ``None`` for anything else, as other versions may write."""
        try:
            known = msgspec.convert({name: value for name, value in plain.items() if value is not None}, cls)
        except msgspec.ValidationError:
            return None
        return known if 0 < min(known.gflops, known.gbytes_per_s) < math.inf else None


def rates_of(problem: Problem, types: TypeSet | DataType, time_ms: float) -> tuple[float, float]:
    """Return what a duration means for a problem: GFLOP/s, and GB/s of all tensors.

    :param types: of the tensors, or of the operands alone.
    :param time_ms: its duration in milliseconds, more than 0.
    """
    seconds = time_ms / 1e3
    return problem.flop / seconds / 1e9, traffic_of(problem, types) / seconds / 1e9
