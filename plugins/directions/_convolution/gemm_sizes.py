"""The matrix products that convolutions are, sizes of CK Tile's implicit GEMM, and their sums.

Forward N*out x K with C*filter as reduction, backward weight K x C*filter with N*out, backward data
N*input x C with K*filter over all strides together. Each function takes a problem, or one whose sizes are
symbols. Sums are for references that devices compute: along an axis, output ``o`` meets input
``o * stride + tap * dilation - left pad``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ckprof.model.computation import AffineIndex, Contraction
from ckprof.model.gemm_work import ImageShape, Product
from ckprof_plugins.directions._convolution.convolution import filter_axes, image_axes
from ckprof_plugins.directions._convolution.fused_problem import elementwise_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.types import DataType
    from ckprof_plugins.directions._convolution.convolution import Convolution


def forward_sizes(problem: Convolution) -> tuple[Any, Any, Any]:
    """Return m, n, k of the forward convolution."""
    taps = prod(problem.filter)
    return problem.batch * prod(problem.output), problem.out_channels, problem.in_channels * taps


def forward_runs(problem: Convolution) -> tuple[Any, Any]:
    """Return how many elements of n and k lie side by side: output channels, channels of one tap."""
    return problem.out_channels, problem.in_channels


def backward_data_sizes(problem: Convolution) -> tuple[Any, Any, Any]:
    """Return m, n, k of the gradient of the input: each tap reaches every stride-th element of the image."""
    depth = -(-(problem.out_channels * prod(problem.filter)) // prod(problem.strides))
    return problem.batch * prod(problem.input), problem.in_channels, depth


def backward_data_runs(problem: Convolution) -> tuple[Any, Any]:
    """Return how many elements of n and k lie side by side: input channels, channels of one tap."""
    return problem.in_channels, problem.out_channels


def backward_weight_sizes(problem: Convolution) -> tuple[Any, Any, Any]:
    """Return m, n, k of the gradient of the weight."""
    pixels = problem.batch * prod(problem.output)
    return problem.out_channels, problem.in_channels * prod(problem.filter), pixels


def backward_weight_runs(problem: Convolution) -> tuple[Any, Any]:
    """Return how many elements of n and k lie side by side: channels of one tap; along k, pixels."""
    return problem.in_channels, problem.batch * prod(problem.output)


def forward_product(problem: Convolution, dtype: DataType) -> Product:
    """Return the products that a forward convolution is."""
    sizes = *forward_sizes(problem), *forward_runs(problem)
    return convolution_product(problem, dtype.properties.size_bytes, sizes)


def backward_data_product(problem: Convolution, dtype: DataType) -> Product:
    """Return the products that a gradient of the input is."""
    sizes = *backward_data_sizes(problem), *backward_data_runs(problem)
    return convolution_product(problem, dtype.properties.size_bytes, sizes)


def backward_weight_product(problem: Convolution, dtype: DataType) -> Product:
    """Return the products that a gradient of the weight is."""
    sizes = *backward_weight_sizes(problem), *backward_weight_runs(problem)
    return convolution_product(problem, dtype.properties.size_bytes, sizes)


def convolution_product(problem: Convolution, element_bytes: int, sizes: Sequence[Any]) -> Product:
    """Return the products of a convolution, one for each group.

    :param element_bytes: of every tensor.
    :param sizes: m, n and k of one of them, then lengths of the runs of n and k if something interrupts them.
    """
    m, n, k, *runs = sizes
    output = problem.output
    return Product(
        m=m,
        n=n,
        k=k,
        batch=problem.groups,
        tensor_bytes=problem.moved_bytes(element_bytes),
        result_bytes=element_bytes,
        runs=(runs[0], runs[1]) if runs else None,
        images=ImageShape(
            rows=output[-2] if problem.ndim > 1 else 1,
            columns=output[-1],
            images=problem.batch * (prod(output[:-2]) if problem.ndim > 1 else 1),
            channels=problem.groups * problem.out_channels,
            step=prod(problem.strides),
        ),
    )


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
