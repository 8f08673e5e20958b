"""The configuration of a depthwise kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckprof.errors import InputError
from ckprof.model.instance import Instance

#: Lanes of a block: one wave.
BLOCK_SIZE = 64

#: Distance between the taps of the filter.
DILATION = 1


#: Fields that are sizes, in the order of the columns of a list.
SIZES = (
    *("tile_h", "tile_w", "filt", "str_h", "str_w", "pad_h", "pad_w"),
    *("nbatch", "sub_h", "sub_w", "in_vec", "out_vec"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseInstance(Instance):
    """A kernel for convolutions in which every channel is a group of its own.

    A block computes tiles of ``tile_h x tile_w`` outputs for ``nbatch`` images of one channel; each lane
    computes a patch of ``sub_h x sub_w``.

    :raises InputError: a size is not positive or a pad is negative.
    """

    pipeline: ClassVar[str] = "depthwise"

    tile_h: int
    tile_w: int
    #: side of the square filter
    filt: int
    str_h: int
    str_w: int
    pad_h: int
    pad_w: int
    nbatch: int
    sub_h: int
    sub_w: int
    #: elements per memory access of input and output
    in_vec: int
    out_vec: int

    def __post_init__(self) -> None:
        for name in SIZES:
            value = getattr(self, name)
            least = 0 if name.startswith("pad") else 1
            if value < least:
                raise InputError(f"{name} is {value}, expected {least} or more")

    @property
    def repeats(self) -> int:
        """Patches of a tile: cdiv(tile_h, sub_h) * cdiv(tile_w, sub_w)."""
        return -(-self.tile_h // self.sub_h) * -(-self.tile_w // self.sub_w)

    @property
    def tiles_per_wave(self) -> int:
        """Tiles, each of another image, that a wave computes at once; 0 if a tile has too many patches."""
        return BLOCK_SIZE // self.repeats

    @property
    def lds_tile(self) -> tuple[int, int]:
        """Rows and columns of the input that a tile needs: tile * stride + 2 * pad."""
        return self.tile_h * self.str_h + 2 * self.pad_h, self.tile_w * self.str_w + 2 * self.pad_w

    @property
    def lds_bytes(self) -> int:
        """Local memory of a block: rows * row stride * tiles per wave * bytes of an element.

        The row stride is the number of columns rounded up to ``in_vec``, with room for one more pad.
        """
        rows, columns = self.lds_tile
        stride = _round_up(columns, self.in_vec)
        if stride < columns + self.pad_w:
            stride = _round_up(columns + self.pad_w, self.in_vec)
        return rows * stride * self.tiles_per_wave * self.dtype.properties.size_bytes


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
