"""Convolutions by torch. Imported by a baseline's worker alone."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import msgspec
import torch

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.model.computation import Computation, TensorView

_TYPES: Final = {
    DataType.FP16: torch.float16,
    DataType.BF16: torch.bfloat16,
    DataType.FP32: torch.float32,
}
#: pairs of neighbouring axes that torch knows as one: channels of all groups
_JOINED: Final = {"input": "GC", "weight": "GK", "output": "GK"}
#: what torch calls channels, first of output then of input, in a weight; and the batch of the others
_LEADING: Final = {"input": "NC", "weight": "KC", "output": "NK"}


def unmet_requirements(work: Computation) -> list[UnmetRequirement]:
    """Return what torch cannot do: pads that differ, types that it does not have, element-wise operations."""
    unmet = []
    if elementwise := work.problem.get("elementwise"):
        message = f"torch is told to convolve alone, not to compute {elementwise['operation']}"
        unmet.append(UnmetRequirement(rule="baseline-operation", message=message))
    problem = convolution_of(work)
    dtypes = {view.dtype for view in work.tensors}
    if problem.left_pads != problem.right_pads:
        message = f"torch pads both sides alike, not {problem.left_pads} and {problem.right_pads}"
        unmet.append(UnmetRequirement(rule="baseline-pads", message=message))
    for dtype in dtypes.difference(_TYPES):
        message = f"torch convolves no {dtype.value}"
        unmet.append(UnmetRequirement(rule="baseline-type", message=message))
    return unmet


def convolution_of(work: Computation) -> ConvProblem:
    """Return the problem of a computation."""
    return msgspec.convert({name: work.problem[name] for name in SIZE_NAMES}, ConvProblem)


def tensors(
    work: Computation, addresses: Mapping[str, int], memory: Callable[[int, int], Any]
) -> dict[str, Any]:
    """Return the tensors as torch wants them, in the memory order of the layout.

    :param memory: returns so many bytes at an address.
    """
    return {view.name: _view(view, addresses[view.name], memory) for view in work.tensors}


def compute(work: Computation, tensors: Mapping[str, Any]) -> Any:
    """Return the result, in memory of torch's."""
    return OPERATIONS[work.operation](convolution_of(work), work.tensors[-1].name, tensors)


def _view(tensor: TensorView, address: int, memory: Callable[[int, int], Any]) -> Any:
    shape, axes = list(tensor.lengths), tensor.axes
    size_bytes = prod(shape) * tensor.dtype.properties.size_bytes
    flat = memory(address, size_bytes).view(_TYPES[tensor.dtype])
    joined = _JOINED[tensor.name]
    at = axes.index(joined)
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    axes = axes.replace(joined, joined[1])
    leading = _LEADING[tensor.name]
    wanted = leading + "".join(axis for axis in axes if axis not in leading)
    return flat.view(shape).permute([axes.index(axis) for axis in wanted])


def _forward(problem: ConvProblem, _: str, tensors: Mapping[str, Any]) -> Any:
    return torch.ops.aten.convolution(
        tensors["input"], tensors["weight"], None, *_settings(problem), problem.groups
    )


def _backward(problem: ConvProblem, result: str, tensors: Mapping[str, Any]) -> Any:
    mask = [result == "input", result == "weight", False]
    results = torch.ops.aten.convolution_backward(
        *(tensors[name] for name in ("output", "input", "weight")),
        None,
        *_settings(problem),
        problem.groups,
        mask,
    )
    return results[0] if mask[0] else results[1]


#: id of the direction -> what computes it
OPERATIONS: Final = {"fwd": _forward, "bwd_data": _backward, "bwd_weight": _backward}


def _settings(problem: ConvProblem) -> tuple[object, ...]:
    """Return stride, padding, dilation, whether transposed, and output padding, as torch orders them."""
    return (
        list(problem.strides),
        list(problem.left_pads),
        list(problem.dilations),
        False,
        [0] * problem.ndim,
    )
