"""The rule set ``gemm``: the default configuration of the dispatcher's generator of plain matrix products."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.operations.gemm.element_types import GEMM_TYPES
from ckprof_plugins.operations.gemm.layout import LAYOUTS
from ckprof_plugins.pipelines._gemm.instance import Extent
from ckprof_plugins.pipelines._gemm.vocabulary import Epilogue, GemmPipeline, Scheduler
from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import RuleSetRequest

_OPERATION: Final = "gemm"
_TILES_MN: Final = (128, 256)
_TILES_K: Final = (32, 64)
_WAVES: Final = (2, 4)
_MMA_MN: Final = (16, 32)
_MMA_K: Final = 16


class GemmRuleSet:
    """One GEMM pipeline, the sizes of tiles, waves and MMA tiles combined, one by one and persistent."""

    id = "gemm"
    label = "the dispatcher's default configuration of plain matrix products"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels of every layout and type, tiles outermost."""
        if _OPERATION not in request.directions:
            return []
        dtypes = [dtype for dtype in request.dtypes if dtype in GEMM_TYPES]
        shapes = product(_TILES_MN, _TILES_MN, _TILES_K, _WAVES, _WAVES, _MMA_MN, _MMA_MN, (False, True))
        found: list[RuleSetEntry] = []
        for *sizes, persistent in shapes:
            tile_m, tile_n, tile_k, wave_m, wave_n, mma_m, mma_n = sizes
            for layout, dtype in product(LAYOUTS, dtypes):
                instance = UniversalGemmInstance(
                    id=len(found),
                    direction=_OPERATION,
                    ndim=layout.ndim,
                    layout=layout,
                    dtype=dtype,
                    tile=Extent(m=tile_m, n=tile_n, k=tile_k),
                    wave_grid=Extent(m=wave_m, n=wave_n, k=1),
                    mma_tile=Extent(m=mma_m, n=mma_n, k=_MMA_K),
                    gemm_pipeline=GemmPipeline.COMPV4,
                    scheduler=Scheduler.INTRAWAVE,
                    epilogue=Epilogue.CSHUFFLE,
                    pad_m=False,
                    pad_n=False,
                    pad_k=False,
                    persistent=persistent,
                    vector_size_a=0,
                    vector_size_b=0,
                    vector_size_c=0,
                )
                found.append(RuleSetEntry(instance))
        return found
