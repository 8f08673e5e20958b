"""Convolutions by torch, and what follows them. Imported by a baseline's worker alone."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import msgspec
import torch

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.baselines.torch_elementwise import NotInTorchError, roundings_of, steps_of
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.elementwise.combination import Combination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.model.computation import Computation, TensorView
    from ckprof_plugins.baselines.torch_elementwise import TorchStep

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
    """Return what torch cannot do: pads that differ, types and element-wise operations that it lacks."""
    unmet = []
    problem = convolution_of(work)
    dtypes = {view.dtype for view in work.tensors}
    if problem.left_pads != problem.right_pads:
        message = f"torch pads both sides alike, not {problem.left_pads} and {problem.right_pads}"
        unmet.append(UnmetRequirement(rule="baseline-pads", message=message))
    for dtype in dtypes.difference(_TYPES):
        message = f"torch convolves no {dtype.value}"
        unmet.append(UnmetRequirement(rule="baseline-type", message=message))
    if not dtypes.difference(_TYPES):
        try:
            _steps(work)
        except NotInTorchError as exc:
            unmet.append(UnmetRequirement(rule="baseline-operation", message=str(exc)))
    return unmet


def roundings(work: Computation, *, on_gpu: bool) -> int:
    """Return how often torch rounds a sum until it is an element of the result."""
    return roundings_of(_steps(work)) + (on_gpu and _adds_rounded_parts(work))


def _adds_rounded_parts(work: Computation) -> bool:
    """Say whether the library may round parts of a sum to the type of the result before it adds them.

    Seen of cuDNN 9.19 on an H100: of weight gradients of dilated filters in 16 bits (kernels
    ``cutlass_tensorop_*_s16816wgrad_optimized``), elements close to 0 are off by what two or three such
    roundings cost. Without a dilation, its sums are of fp32.
    """
    dilated = any(dilation != 1 for dilation in convolution_of(work).dilations)
    return dilated and work.operation == "bwd_weight" and work.tensors[-1].dtype is not DataType.FP32


def _steps(work: Computation) -> tuple[TorchStep, ...]:
    """Return what follows the convolution.

    :raises NotInTorchError: torch cannot do it.
    """
    if (asked := work.problem.get("elementwise")) is None:
        return ()
    return steps_of(msgspec.convert(asked, Combination), _TYPES[work.tensors[-1].dtype])


def convolution_of(work: Computation) -> ConvProblem:
    """Return the problem of a computation."""
    return msgspec.convert({name: work.problem[name] for name in SIZE_NAMES}, ConvProblem)


def tensors(
    work: Computation, addresses: Mapping[str, int], memory: Callable[[int, int], Any]
) -> dict[str, Any]:
    """Return the tensors as torch wants them, in the memory order of the layout.

    :param memory: returns so many bytes at an address.
    """
    result = work.tensors[-1]
    return {
        # D tensors have the axes of the result, or some of them
        view.name: _view(view, view if view.name in _JOINED else result, addresses[view.name], memory)
        for view in work.tensors
    }


def computation(work: Computation, tensors: Mapping[str, Any]) -> Callable[[], Any]:
    """Return what computes the result, in memory of torch's."""
    convolve, problem, result = OPERATIONS[work.operation], convolution_of(work), work.tensors[-1].name
    steps = _steps(work)
    further = [tensors[view.name] for view in work.tensors[:-1] if view.name not in _JOINED]

    def computed() -> Any:
        values = convolve(problem, result, tensors)
        for step in steps:
            values = step.apply(values, further)
        return values

    return computed


def _view(tensor: TensorView, whole: TensorView, address: int, memory: Callable[[int, int], Any]) -> Any:
    """Return a tensor in torch's order of axes, of length 1 along those that it does not have.

    :param whole: the tensor of the convolution whose axes it has.
    """
    shape, joined, leading = list(tensor.lengths), _JOINED[whole.name], _LEADING[whole.name]
    size_bytes = prod(shape) * tensor.dtype.properties.size_bytes
    flat = memory(address, size_bytes).view(_TYPES[tensor.dtype])
    at = tensor.axes.index(joined)
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    axes, all_axes = (one.axes.replace(joined, joined[1]) for one in (tensor, whole))
    wanted = leading + "".join(axis for axis in all_axes if axis not in leading)
    ordered = flat.view(shape).permute([axes.index(axis) for axis in wanted if axis in axes])
    return ordered[tuple(slice(None) if axis in axes else None for axis in wanted)]


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
