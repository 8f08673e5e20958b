"""The problem that a depthwise instance is run on when none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.problem import ConvProblem
from ckprof_plugins.pipelines.depthwise.instance import DILATION

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.depthwise.instance import DepthwiseInstance

_GROUPS: Final = 64

#: A multiple of the images per block of every listed instance.
_BATCH: Final = 32

#: Length of the output where an instance does not fix it. Not a multiple of the usual tiles.
_LENGTH: Final = 28


def problem_for(instance: DepthwiseInstance) -> ConvProblem:
    """Return a problem that the instance supports, as long as it obeys the rules of its family.

    The kernel takes one filter, one stride and one left pad. Where it computes tiles of several images at
    once, an output must not exceed a tile.
    """
    i = instance
    strides = (i.str_h, i.str_w)
    pads = (i.pad_h, i.pad_w)
    tile = (i.tile_h, i.tile_w)
    output = tuple(min(_LENGTH, length) for length in tile) if i.tiles_per_wave > 1 else (_LENGTH, _LENGTH)
    reach = (i.filt - 1) * DILATION + 1
    lengths = tuple(
        max(1, (out - 1) * stride + reach - 2 * pad)
        for out, stride, pad in zip(output, strides, pads, strict=True)
    )
    return ConvProblem(
        groups=_GROUPS,
        batch=_BATCH if _BATCH % i.nbatch == 0 else i.nbatch,
        out_channels=1,
        in_channels=1,
        filter=(i.filt, i.filt),
        input=lengths,
        strides=strides,
        dilations=(DILATION, DILATION),
        left_pads=pads,
        right_pads=pads,
    )
