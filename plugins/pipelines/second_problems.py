"""Small convolutions that show what a comfortable one hides: the second problems of kernels.

See :meth:`ckprof.plugin.protocols.Pipeline.second_problems`. Each has several groups, images, strides,
dilations and pads that differ by axis and side, pixels that no window reaches, and tails along M, N and K.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.vocabulary import Specialization

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof_plugins.pipelines.gemm_instance import GemmInstance


class Window(NamedTuple):
    """How windows lie, one number per axis."""

    filter: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    left_pads: tuple[int, ...]
    right_pads: tuple[int, ...]


#: number of dimensions -> windows. Taps that meet the same pixel are stride / gcd(stride, dilation) apart, a
#: different number along each axis, of which filters have more than one and, in 3D, fewer as well. Strides
#: and dilations have a common divisor and none; a pad is longer than the taps are apart
_WINDOWS: Final = {
    1: Window((5,), (3,), (2,), (5,), (2,)),
    2: Window((3, 4), (4, 3), (2, 4), (1, 5), (0, 1)),
    3: Window((3, 2, 2), (2, 1, 3), (3, 2, 1), (1, 2, 0), (0, 1, 1)),
}
#: number of dimensions -> images and lengths of the output: 252 rows of a product, which fill over 3 quarters
#: of the last tile of 32, 64 and 128, and as many images as can be cut in two ways; and 28 to 35 for kernels
#: that are otherwise run on less work
_LARGE: Final = {1: (6, (42,)), 2: (6, (3, 14)), 3: (6, (2, 3, 7))}
_SMALL: Final = {1: (5, (7,)), 2: (5, (2, 3)), 3: (5, (2, 1, 3))}
#: the same, of 65 rows: one more than tiles of 32 and 64 are filled with, and than steps of that length
_ONE_MORE: Final = {1: (5, (13,)), 2: (5, (13, 1)), 3: (5, (1, 13, 1))}
#: the same, of 64 rows: whole steps of 16 and 32, of which three splits leave the last one empty
_WHOLE: Final = {1: (4, (16,)), 2: (4, (4, 4)), 3: (4, (2, 2, 4))}
#: images of a single window each
_IMAGES: Final = 5

#: of an image, and of a tile
_PIXELS_TIMES_ROWS: Final = 2**21

#: what kernels want sizes to be multiples of
MULTIPLES: Final = (1, 8, 16, 32, 64)

#: channels that exceed most tiles, and those beside them, which are a part of the reduction: five of
#: the deepest tiles with all taps, and without any other tap
_LONG: Final = 128
_SHORT: Final = 32
_SHORT_ALONE: Final = 320
#: what channels are multiples of where kernels with shorter vectors share operands with those of longer ones
SHARED: Final = 8


def with_window(
    window: Window, images: int, output: Sequence[int], groups: int, channels: tuple[int, int]
) -> ConvProblem:
    """Return a convolution by its output; with strides, the last pixel of each axis is beyond all windows.

    :param channels: K and C of a group.
    """
    lengths = tuple(
        (out - 1) * stride + (taps - 1) * dilation + 1 - left - right + (stride > 1)
        for out, taps, stride, dilation, left, right in zip(output, *window, strict=True)
    )
    return ConvProblem(
        groups=groups,
        batch=images,
        out_channels=channels[0],
        in_channels=channels[1],
        filter=window.filter,
        input=tuple(max(1, length) for length in lengths),
        strides=window.strides,
        dilations=window.dilations,
        left_pads=window.left_pads,
        right_pads=window.right_pads,
    )


def window_of(instance: GemmInstance) -> Window:
    """Return windows that a kernel's specialization allows."""
    usual = _WINDOWS[instance.ndim]
    ones, zeros = (1,) * instance.ndim, (0,) * instance.ndim
    if instance.specialization is Specialization.FILTER1X1_STRIDE1_PAD0:
        return Window(ones, ones, ones, zeros, zeros)
    if instance.specialization is Specialization.FILTER1X1_PAD0:
        return usual._replace(filter=ones, dilations=ones, left_pads=zeros, right_pads=zeros)
    if instance.specialization is Specialization.FILTER3X3:
        return usual._replace(filter=(3,) * instance.ndim)
    return usual


def second_convolutions(
    instance: GemmInstance, multiples: tuple[int, int], *, sums_outputs: bool
) -> Iterator[Sequence[ConvProblem]]:
    """Yield alternatives, the largest first: of several tiles, and of less than one.

    :param multiples: what C and K of a group have to be multiples of; channels are odd multiples.
    :param sums_outputs: the reduction is along K and not along C.
    """
    ndim, merged = instance.ndim, instance.num_groups_to_merge
    window, (c, k) = window_of(instance), multiples
    if merged > 1:
        few = [(k, c), (max(k, 5), 1), (k, 1)]
        yield [with_window(window, *_SMALL[ndim], 3 * merged, channels) for channels in few]
        return
    one = instance.specialization is Specialization.FILTER3X3
    short = _SHORT if math.prod(window.filter) > 1 else _SHORT_ALONE

    def channels(long: int, short: int, least: int = 1) -> tuple[int, int]:
        of_k, of_c = (short, long) if sums_outputs else (long, short)
        return beyond(of_k, math.lcm(k, least)), 1 if one else beyond(of_c, math.lcm(c, least))

    yield [
        # kernels whose vectors divide 8 share the operands; tails of shorter ones are seen elsewhere
        with_window(window, *_LARGE[ndim], 2, channels(_LONG, short, SHARED)),
        with_window(window, *_LARGE[ndim], 2, channels(64, 16)),
        with_window(window, *_SMALL[ndim], 2, channels(16, 0)),
    ]
    ones, zeros = (1,) * ndim, (0,) * ndim
    alone = window._replace(filter=ones, dilations=ones, left_pads=zeros, right_pads=zeros)
    # as many groups as kernels have a path of their own for, and such as have one for a single tap; more than
    # three quarters of the last tile of 64 and 128 columns
    yield [with_window(window, *_ONE_MORE[ndim], 1, channels(long, 0)) for long in (112, 16)]
    yield [with_window(alone, *_WHOLE[ndim], 1, channels(16, 0))]
    # five groups: faults may spare the first two, or count them in two bits
    yield [with_window(alone, _IMAGES, ones, 5, channels(0, 0))]


def convolutions_with_tails(ndim: int) -> Sequence[ConvProblem]:
    """Return alternatives for kernels of which nothing is known: what tells most comes first."""
    ones, zeros = (1,) * ndim, (0,) * ndim
    alone = Window(ones, ones, ones, zeros, zeros)
    return [
        with_window(window, *_SMALL[ndim], groups, (beyond(64, multiple), beyond(16, multiple)))
        for window in (_WINDOWS[ndim], alone)
        for groups in (2, 1)
        for multiple in MULTIPLES
    ]


def rounded_up(length: int, multiple: int) -> int:
    """Return the least multiple that is no less than a length."""
    return -(-length // multiple) * multiple


def beyond(length: int, multiple: int) -> int:
    """Return the least multiple that is more than a length."""
    return rounded_up(length + 1, multiple)


def dividing_convolutions(instance: GemmInstance, multiples: tuple[int, int]) -> Sequence[ConvProblem]:
    """Return alternatives whose few tiles have more steps than devices have workgroups, which divide them.

    Rows of a group fill its tile: stream-K has no other problems of several groups. The larger a tile, the
    fewer workgroups there are.

    :param multiples: what C and K of a group have to be multiples of.
    """
    c, k = multiples
    ones, zeros = (1,) * instance.ndim, (0,) * instance.ndim
    pixels = _PIXELS_TIMES_ROWS // instance.tile.m
    output = (*ones[:-1], pixels) if instance.ndim == 1 else (*ones[:-2], 128, pixels // 128)
    return [
        with_window(Window(ones, ones, ones, zeros, zeros), images, output, groups, (channels, c))
        # three tiles: workgroups that go on to the next one take several steps of it
        for groups, images, channels in ((3, 2, instance.tile.m), (1, 3, instance.tile.m + k), (1, 3, k))
    ]
