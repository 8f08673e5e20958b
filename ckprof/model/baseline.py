"""A library of somebody else, measured on the same problem as the instances: what they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from ckprof.model.outcome import Outcome
    from ckprof.model.types import ComputeType, DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOutcome:
    """What became of a baseline on one problem, for instances of one layout and data type."""

    #: id of the baseline
    baseline: str
    #: versions and device, in one line
    description: str
    layout: str
    dtype: DataType
    #: what operands could be rounded to before they were multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None
    #: as of an instance; its ``key`` is the id of the baseline
    outcome: Outcome

    @property
    def median_ms(self) -> float | None:
        """Median time if the outcome is ``ok``, ``None`` if there is none to compare with."""
        measured = self.outcome.measurement if self.outcome.status is Status.OK else None
        return measured.median_ms if measured is not None and measured.median_ms > 0 else None
