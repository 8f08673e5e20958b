"""The problems that are used when none is given.

What a kernel does at the ends of its operands is only seen where tiles do not divide them. So the products of
matrices that these problems are have tails along M, N and K for nearly every kernel of the shipped lists.
Sizes are multiples of 8 at most, which vectors of channels need, or of 16 where those do.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

#: of one group: one whole tile of 64 and a rest
_IN_CHANNELS: Final = 72
_OUT_CHANNELS: Final = 88


def default_problems(out_channels: int = _OUT_CHANNELS) -> Mapping[int, ConvProblem]:
    """Return number of spatial dimensions -> problem.

    200 to 240 MFLOP each: long enough to measure, short enough for every instance on a CPU.

    :param out_channels: K, which vectors of a direction may need to be a multiple of.
    """
    return MappingProxyType(
        {
            1: _same_size(4, out_channels, (1525,)),
            2: _same_size(4, out_channels, (23, 23)),
            3: _same_size(1, out_channels, (3, 15, 15)),
        }
    )


def _same_size(batch: int, out_channels: int, size: tuple[int, ...]) -> ConvProblem:
    """Return a problem whose filter has three taps along each axis and whose output is as large as its input.

    :param size: lengths of the image.
    """
    ones = (1,) * len(size)
    return ConvProblem(
        groups=1,
        batch=batch,
        out_channels=out_channels,
        in_channels=_IN_CHANNELS,
        filter=(3,) * len(size),
        input=size,
        strides=ones,
        dilations=ones,
        left_pads=ones,
        right_pads=ones,
    )
