"""Convolutions that tests have, in a line each."""

from ckprof_plugins.directions._convolution.problem import ConvProblem


def convolution(line):
    """Return the problem of some sizes.

    :param line: dimensions, groups, images, output and input channels of a group, and along each dimension
        filter, input, strides, dilations, left and right pads: as ckProfiler has them.
    """
    ndim, *values = map(int, line.split())
    counts = dict(zip(("groups", "batch", "out_channels", "in_channels"), values, strict=False))
    names = ("filter", "input", "strides", "dilations", "left_pads", "right_pads")
    sizes = [tuple(values[at : at + ndim]) for at in range(4, len(values), ndim)]
    return ConvProblem(**counts, **dict(zip(names, sizes, strict=True)))  # type: ignore[arg-type]
