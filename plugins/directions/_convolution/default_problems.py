"""The problems that are used when none is given, the same for every direction."""

from __future__ import annotations

from types import MappingProxyType

from ckprof_plugins.directions._convolution.problem import ConvProblem


def _same_size(groups: int, batch: int, channels: int, size: tuple[int, ...]) -> ConvProblem:
    """Return a problem whose filter has three taps along each axis and whose output is as large as its input.

    :param channels: both K and C, per group.
    :param size: lengths of the image.
    """
    ones = (1,) * len(size)
    return ConvProblem(
        groups=groups,
        batch=batch,
        out_channels=channels,
        in_channels=channels,
        filter=(3,) * len(size),
        input=size,
        strides=ones,
        dilations=ones,
        left_pads=ones,
        right_pads=ones,
    )


#: Number of spatial dimensions -> problem. 200 to 240 MFLOP each: long enough to measure, short enough for
#: every instance on a CPU.
DEFAULT_PROBLEMS = MappingProxyType(
    {
        1: _same_size(1, 4, 64, (2048,)),
        2: _same_size(1, 4, 64, (28, 28)),
        3: _same_size(1, 1, 64, (4, 16, 16)),
    }
)
