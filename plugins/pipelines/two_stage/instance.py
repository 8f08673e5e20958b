"""The configuration of a two-stage kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckprof.model.types import SplitSum
from ckprof_plugins.pipelines._gemm.instance import GemmInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageInstance(GemmInstance):
    """A kernel that sums into a workspace of fp32 and a second one that converts to the result's type."""

    pipeline: ClassVar[str] = "two_stage"
    split_sum: ClassVar[SplitSum] = SplitSum.ACCUMULATOR
