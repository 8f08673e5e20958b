"""The tiles of the dispatcher's instance builder, and the layouts of its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from ckprof.model.architecture import Sizes


#: Number of spatial dimensions -> the layout of all GEMM kernels.
GEMM_LAYOUTS: Final = {layout.ndim: layout for layout in LAYOUTS if layout.input.endswith("GC")}

#: tile, wave grid, MMA tile, and whether there is a compv4 kernel, with twice the ``tile_k``
ROWS: Final[tuple[tuple[Sizes, Sizes, Sizes, bool], ...]] = (
    ((16, 64, 64), (1, 4, 1), (16, 16, 16), True),
    ((32, 64, 64), (2, 2, 1), (16, 16, 16), True),
    ((64, 64, 64), (4, 1, 1), (16, 16, 16), True),
    ((32, 128, 64), (1, 4, 1), (32, 32, 16), False),
    ((64, 128, 64), (2, 2, 1), (32, 32, 16), False),
    ((128, 128, 64), (4, 4, 1), (32, 32, 16), False),
    ((16, 64, 128), (1, 4, 1), (16, 16, 32), True),
    ((32, 64, 128), (2, 2, 1), (16, 16, 32), True),
    ((64, 64, 128), (4, 1, 1), (16, 16, 32), True),
    ((128, 64, 128), (8, 2, 1), (16, 16, 32), False),
)
#: the tiles that compv4 has kernels of
COMPV4_TILES: Final = tuple(tile for tile, _, _, double_buffered in ROWS if double_buffered)
