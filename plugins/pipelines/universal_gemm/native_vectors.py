"""How wide the memory accesses of a matrix-product kernel are where it is left to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines._gemm.native_width import native_width
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance

#: bytes of the widest access
_WIDEST: Final = 16


def native_vectors(instance: UniversalGemmInstance, lanes: int) -> tuple[int, int, int]:
    """Return the elements per access to A, B and E.

    A thread loads as much at once as the fast axis of the block tile and the thread's share of it are whole
    multiples of. The first GEMM pipeline loads single elements where an axis is padded, and else 16 bytes.

    :param lanes: of a wave.
    """
    threads = instance.waves * lanes
    element = instance.dtype.properties.size_bytes
    tile, layout = instance.tile, instance.layout
    # the fast axis of each operand's tile, its other axis, and whether padding narrows the first pipeline
    rows = tile.k, tile.m, instance.pad_k
    columns = tile.m, tile.k, instance.pad_m
    a = rows if layout.a == "MK" else columns
    # of B, it is the pad of the other axis that the first pipeline looks at
    b = (tile.n, tile.k, instance.pad_k) if layout.b == "KN" else (tile.k, tile.n, instance.pad_n)
    # where the fast axis is not that of the product, a thread's share bounds the access
    capped = layout.a != "MK", layout.b == "KN"
    loads = [
        _first_pipeline(fast * other // threads, padded, element, is_capped)
        if instance.gemm_pipeline is GemmPipeline.COMPV1
        else native_width(fast, fast * other // threads, element)
        for (fast, other, padded), is_capped in zip((a, b), capped, strict=True)
    ]
    result = instance.types.result.properties.size_bytes
    store = min(instance.mma_tile.n * instance.wave_grid.n, _WIDEST // result)
    return loads[0], loads[1], store


def _first_pipeline(share: int, padded: bool, element: int, capped: bool) -> int:
    if padded:
        return 1
    widest = _WIDEST // element
    return min(widest, max(share, 1)) if capped else widest
