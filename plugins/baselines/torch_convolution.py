"""Convolutions by torch. Imported by a baseline's worker alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from ckprof.model.dtype import DataType
from ckprof.model.layout import tensor_shape
from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.model.baseline import BaselineConvolution

_TYPES: Final = {
    DataType.FP16: torch.float16,
    DataType.BF16: torch.bfloat16,
    DataType.FP32: torch.float32,
}
#: pairs of neighbouring axes that torch knows as one: channels of all groups
_JOINED: Final = {"input": "GC", "weight": "GK", "output": "GK"}
#: what torch calls channels, first of output then of input, in a weight; and the batch of the others
_LEADING: Final = {"input": "NC", "weight": "KC", "output": "NK"}


def unmet_requirements(convolution: BaselineConvolution) -> list[UnmetRequirement]:
    """Return what torch cannot do: pads that differ, types that it does not have."""
    found = []
    problem = convolution.problem
    if problem.left_pads != problem.right_pads:
        message = f"torch pads both sides alike, not {problem.left_pads} and {problem.right_pads}"
        found.append(UnmetRequirement(rule="baseline-pads", message=message))
    if convolution.dtype not in _TYPES:
        message = f"torch convolves no {convolution.dtype.value}"
        found.append(UnmetRequirement(rule="baseline-type", message=message))
    if convolution.direction not in _DIRECTIONS:
        message = f"torch has no operation for the direction {convolution.direction}"
        found.append(UnmetRequirement(rule="baseline-direction", message=message))
    return found


def tensors(
    convolution: BaselineConvolution, addresses: Mapping[str, int], memory: Callable[[int, int], Any]
) -> dict[str, Any]:
    """Return the tensors as torch wants them, in the memory order of the layout.

    :param memory: returns so many bytes at an address.
    """
    return {name: _view(convolution, name, address, memory) for name, address in addresses.items()}


def compute(convolution: BaselineConvolution, tensors: Mapping[str, Any]) -> Any:
    """Return the result, in memory of torch's."""
    return _DIRECTIONS[convolution.direction](convolution, tensors)


def _view(
    convolution: BaselineConvolution, name: str, address: int, memory: Callable[[int, int], Any]
) -> Any:
    shape = list(tensor_shape(convolution.problem, convolution.layout, name))
    axes = convolution.layout.order(name)
    kind = _TYPES[convolution.dtype]
    count = 1
    for length in shape:
        count *= length
    flat = memory(address, count * convolution.dtype.properties.size_bytes).view(kind)
    joined = _JOINED[name]
    at = axes.index(joined)
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    axes = axes.replace(joined, joined[1])
    leading = _LEADING[name]
    wanted = leading + "".join(axis for axis in axes if axis not in leading)
    return flat.view(shape).permute([axes.index(axis) for axis in wanted])


def _forward(convolution: BaselineConvolution, tensors: Mapping[str, Any]) -> Any:
    return torch.ops.aten.convolution(
        tensors["input"], tensors["weight"], None, *_settings(convolution), convolution.problem.groups
    )


def _backward(convolution: BaselineConvolution, tensors: Mapping[str, Any]) -> Any:
    mask = [convolution.result == "input", convolution.result == "weight", False]
    results = torch.ops.aten.convolution_backward(
        *(tensors[name] for name in ("output", "input", "weight")),
        None,
        *_settings(convolution),
        convolution.problem.groups,
        mask,
    )
    return results[0] if mask[0] else results[1]


_DIRECTIONS: Final = {"fwd": _forward, "bwd_data": _backward, "bwd_weight": _backward}


def _settings(convolution: BaselineConvolution) -> tuple[object, ...]:
    """Return stride, padding, dilation, whether transposed, and output padding, as torch orders them."""
    problem = convolution.problem
    return (
        list(problem.strides),
        list(problem.left_pads),
        list(problem.dilations),
        False,
        [0] * problem.ndim,
    )
