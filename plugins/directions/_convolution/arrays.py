"""Tensors of a convolution in one fixed axis order, whatever their memory layout, for the references."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ckprof_plugins.directions._convolution.convolution import Convolution

#: Letters of the spatial axes, outermost first, of images and of filters.
_IMAGE_AXES = "DHW"
_FILTER_AXES = "ZYX"


def image_axes(ndim: int) -> str:
    """Return the letters of the spatial axes of input and output, e.g. ``HW`` for two."""
    return _IMAGE_AXES[3 - ndim :]


def filter_axes(ndim: int) -> str:
    """Return the letters of the spatial axes of the weight, e.g. ``YX`` for two."""
    return _FILTER_AXES[3 - ndim :]


def reordered(array: NDArray[np.float64], order: str, wanted: str) -> NDArray[np.float64]:
    """Return a view of ``array`` whose axes are in another order.

    :param order: one letter per axis of ``array``.
    :param wanted: the same letters in the order of the result.
    """
    view: NDArray[np.float64] = array.transpose([order.index(letter) for letter in wanted])
    return view


def padded(array: NDArray[np.float64], problem: Convolution) -> NDArray[np.float64]:
    """Return the input with its pads around the image, filled with zeros.

    :param array: the input with axes G, N, spatial axes, C.
    """
    import numpy as np

    pads = zip(problem.left_pads, problem.right_pads, strict=True)
    return np.pad(array, ((0, 0), (0, 0), *pads, (0, 0)))


def image_part(problem: Convolution) -> tuple[slice, ...]:
    """Return which part of the padded input is the image, one slice per spatial axis."""
    return tuple(
        slice(left, left + size) for left, size in zip(problem.left_pads, problem.input, strict=True)
    )


def taps(problem: Convolution) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield every tap of the filter and which elements of the padded input it meets.

    The slices have one entry per spatial axis and each gives as many elements as the output has:
    element ``o`` of the output meets ``o * stride + tap * dilation`` of the padded input.
    """
    axes = [
        [slice(tap * dilation, tap * dilation + (out - 1) * stride + 1, stride) for tap in range(count)]
        for count, dilation, stride, out in zip(
            problem.filter, problem.dilations, problem.strides, problem.output, strict=True
        )
    ]
    for tap in product(*map(range, problem.filter)):
        yield tap, tuple(axis[index] for axis, index in zip(axes, tap, strict=True))
