"""What matrix-product kernels can express at the API levels that lack something.

A level without an entry has everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.api_level import API_LEVEL_2025_07
from ckprof.model.dtype import DataType
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmSurface:
    """What the headers of one level offer to matrix products."""

    gemm_pipelines: frozenset[GemmPipeline]
    #: those with an interwave scheduler
    interwave: frozenset[GemmPipeline]
    #: those that can be persistent: others ignore the flag, and a grid of another size is wrong for them
    persistent: frozenset[GemmPipeline]
    #: type of the operands -> MMA tiles that the headers know
    mma_tiles: Mapping[DataType, frozenset[Sizes]]


_HALF: Final = frozenset({(32, 32, 8), (32, 32, 16), (16, 16, 16), (16, 16, 32), (4, 64, 16), (64, 4, 16)})
_FLOAT8: Final = frozenset({(32, 32, 16), (32, 32, 32), (16, 16, 32), (16, 16, 64)})
_INT8: Final = frozenset({(32, 32, 16), (16, 16, 32)})

SURFACES: Final[Mapping[str, GemmSurface]] = {
    API_LEVEL_2025_07: GemmSurface(
        # compv5 adds up the accumulators of two waves, whatever the grid
        gemm_pipelines=frozenset(
            {GemmPipeline.COMPV1, GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4}
        ),
        interwave=frozenset({GemmPipeline.MEM}),
        persistent=frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3}),
        mma_tiles={
            DataType.FP16: _HALF,
            DataType.BF16: _HALF,
            DataType.FP8: _FLOAT8,
            DataType.BF8: _FLOAT8,
            DataType.INT8: _INT8,
        },
    )
}
