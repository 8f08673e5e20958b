"""The tiles of the dispatcher's instance builder, the layouts of its kernels, and its word ``si``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def compv4_defect(tile: Sizes) -> UnmetRequirement | None:
    """Return what upstream's table of tiles has against a compv4 kernel; ``None`` if it has one."""
    if tile in COMPV4_TILES:
        return None
    text = "x".join(map(str, tile))
    return UnmetRequirement(
        rule="compv4-tile",
        message=f"compv4 has no kernel of tile {text} in upstream's table: waves and MMA tile "
        "are not those of its six tiles",
        found=text,
        allowed=", ".join("x".join(map(str, tile)) for tile in COMPV4_TILES),
    )


#: option, and its only value
SI_OPTION: Final = "--si-as"
SPLIT_IMAGE: Final = "split_image"


def is_split_image(options: Mapping[str, object]) -> bool:
    """Say whether kernels with ``_si`` in their names are asked for as those that split the image.

    :param options: values of options by name.
    :raises InputError: the value is another one.
    """
    value = options.get("si_as")
    if value not in (None, SPLIT_IMAGE):
        raise InputError(f"{SI_OPTION} {value}: expected {SPLIT_IMAGE}")
    return value is not None
