"""How often a kernel is instantiated where hot loop and tail of the main loop are template arguments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11
from ckprof_plugins.pipelines._gemm.prefetch import mem_prefetch_stages
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.pipelines._gemm.instance import GemmInstance
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance

_WAVE_LANES: Final = 64
#: API level -> GEMM pipeline -> combinations of hot loop and tail; others have one, mem what it prefetches
_ENDS: Final[Mapping[str, Mapping[GemmPipeline, int]]] = {
    API_LEVEL_2025_07: {GemmPipeline.COMPV3: 3, GemmPipeline.COMPV4: 4},
    API_LEVEL_2025_11: {GemmPipeline.COMPV3: 3, GemmPipeline.COMPV4: 5},
}
#: API levels whose kernels have hot loop and tail among their template arguments
FIXED_TAILS_LEVELS: Final = frozenset(_ENDS)


def loop_ends(instance: GemmInstance | UniversalGemmInstance, api_level: str) -> int:
    """Return how many combinations of hot loop and tail the GEMM pipeline is instantiated for."""
    if instance.gemm_pipeline is not GemmPipeline.MEM:
        return _ENDS[api_level].get(instance.gemm_pipeline, 1)
    # as many as it has prefetch stages, with and without hot loop
    tile = instance.tile
    stage_bytes = (tile.m + tile.n) * tile.k * instance.dtype.properties.size_bytes
    lanes = _WAVE_LANES * math.prod(instance.wave_grid.sizes)
    return 2 * mem_prefetch_stages(stage_bytes, lanes)
