"""The configuration of a stream-K kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ckprof.model.types import SplitSum
from ckprof_plugins.pipelines._gemm.instance import GemmInstance


class ReductionStrategy(Enum):
    """In which order the partial sums of a tile are added; the value is the spelling of catalogs."""

    TREE = "TREE"
    LINEAR = "LINEAR"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``StreamKReductionStrategy``."""
        return _STRATEGIES[self][0]

    @property
    def number(self) -> int:
        """Value of that enumerator, which instance strings print."""
        return _STRATEGIES[self][1]

    @property
    def word(self) -> str:
        """What kernel names say."""
        return self.value.lower()


_STRATEGIES = {ReductionStrategy.TREE: ("Tree", 2), ReductionStrategy.LINEAR: ("Linear", 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKInstance(GemmInstance):
    """A kernel that hands each workgroup the same number of iterations, wherever tiles begin and end."""

    pipeline: ClassVar[str] = "stream_k"
    split_sum: ClassVar[SplitSum] = SplitSum.ACCUMULATOR

    strategy: ReductionStrategy
    #: as many workgroups as fit on the device, each of which takes several tiles
    persistent: bool
    #: the record asks for a second stage as well, which a stream-K kernel does not have
    two_stage: bool = False
