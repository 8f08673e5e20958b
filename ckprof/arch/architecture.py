"""The properties about one architecture that decide which kernels it can run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Sizes along m, n and k.
Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Architecture:
    """One GPU architecture."""

    #: LLVM's name, e.g. ``gfx942``
    name: str
    #: what it is sold as
    label: str
    lanes_per_wave: int
    #: local memory of one workgroup in bytes
    lds_bytes: int
    #: arrangements of the waves of a block, in the order of the table
    wave_grids: tuple[Sizes, ...]
    #: data type -> tiles of its matrix instructions, in the order of the table; a missing type has none
    mma_tiles: Mapping[str, tuple[Sizes, ...]]
