"""Work per second: the figures that runs are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.problem import traffic_of

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType, TypeSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a duration means for a problem."""

    #: FLOP / time / 1e9
    gflops: float
    #: bytes of all tensors / time / 1e9
    gbytes: float

    @property
    def tflops(self) -> float:
        """FLOP / time / 1e12."""
        return self.gflops / 1e3


def rates_of(problem: Problem, types: TypeSet | DataType, time_ms: float) -> Rates:
    """Return the rates of a run.

    :param types: of the tensors, or of the operands alone.
    :param time_ms: its duration in milliseconds, more than 0.
    """
    seconds = time_ms / 1e3
    return Rates(
        gflops=problem.flop / seconds / 1e9,
        gbytes=traffic_of(problem, types) / seconds / 1e9,
    )
