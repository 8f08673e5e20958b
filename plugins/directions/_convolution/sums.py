"""The sums of products that each direction of convolution is, for references that devices compute.

Along an axis, output ``o`` meets input ``o * stride + tap * dilation - left pad``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.model.computation import AffineIndex, Contraction
from ckprof_plugins.directions._convolution.arrays import filter_axes, image_axes
from ckprof_plugins.directions._convolution.fused_problem import elementwise_of

if TYPE_CHECKING:
    from ckprof_plugins.directions._convolution.convolution import Convolution


def forward_sums(problem: Convolution) -> Contraction:
    """Return the output's: over taps and input channels, each from the input that it meets."""
    taps = zip(filter_axes(problem.ndim), problem.filter, strict=True)
    return Contraction(
        summed=(*taps, ("C", problem.in_channels)),
        indices={"input": _input_indices(problem)},
        is_changed=elementwise_of(problem) is not None,
    )


def backward_data_sums(problem: Convolution) -> Contraction:
    """Return those of the input's gradient: over taps and output channels, from the output that met it."""
    taps = zip(filter_axes(problem.ndim), problem.filter, strict=True)
    indices = {
        image: AffineIndex(terms=((image, 1), (tap, -dilation)), offset=pad, divisor=stride)
        for image, tap, stride, dilation, pad in _along_axes(problem)
    }
    return Contraction(
        summed=(*taps, ("K", problem.out_channels)),
        indices={"output": indices},
        is_changed=elementwise_of(problem) is not None,
    )


def backward_weight_sums(problem: Convolution) -> Contraction:
    """Return those of the weight's gradient: over all outputs, each with the input that it met."""
    image = zip(image_axes(problem.ndim), problem.output, strict=True)
    return Contraction(
        summed=(("N", problem.batch), *image),
        indices={"input": _input_indices(problem)},
        is_changed=elementwise_of(problem) is not None,
    )


def _input_indices(problem: Convolution) -> dict[str, AffineIndex]:
    return {
        image: AffineIndex(terms=((image, stride), (tap, dilation)), offset=-pad)
        for image, tap, stride, dilation, pad in _along_axes(problem)
    }


def _along_axes(problem: Convolution) -> list[tuple[str, str, int, int, int]]:
    """Return, per spatial axis, its letters in images and filters, stride, dilation and left pad."""
    return list(
        zip(
            image_axes(problem.ndim),
            filter_axes(problem.ndim),
            problem.strides,
            problem.dilations,
            problem.left_pads,
            strict=True,
        )
    )
