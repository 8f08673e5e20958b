"""Where a search measures, as time models know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.api.timed_kernels import KernelKind
    from ckprof.model.dtype import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedDevice:
    """Where the kernels of a search run, or ran."""

    kind: KernelKind
    dtype: DataType
    #: architecture or name, as time models know it; empty if unknown
    name: str
    #: compute units; 0 if unknown
    units: int
