"""Element-wise operations as a user of torch writes them: one operation of torch after the other, in place.

Each rounds to the type of the result, so that there are as many roundings as there are steps. Imported by a
baseline's worker alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional

from ckprof_plugins.elementwise.operation import UNARY, DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from ckprof_plugins.elementwise.combination import Combination
    from ckprof_plugins.elementwise.operation import Values


@dataclass(frozen=True, slots=True)
class TorchStep:
    """One thing that is done with a tensor before it is written again.

    :param apply: of the tensor and the D tensors; may change the tensor and must return the result.
    :param roundings: to the type of the tensor, at most.
    """

    apply: Callable[[Any, Sequence[Any]], Any]
    roundings: int = 1


class NotInTorchError(Exception):
    """Torch has no operations for a combination; the message names what it lacks."""


def steps_of(combination: Combination, dtype: Any) -> tuple[TorchStep, ...]:
    """Return what torch does with a result of a type, in order; none where nothing is to be done.

    :raises NotInTorchError: it cannot do it.
    """
    make = _STEPS.get(combination.operation)
    if make is None:
        raise NotInTorchError(f"there is no torch code for {combination.operation.value}")
    return tuple(make(combination, dtype))


def roundings_of(steps: Sequence[TorchStep]) -> int:
    """Return how often a sum is rounded until it is an element of the result, as a sum the first time."""
    return 1 + sum(step.roundings for step in steps)


def _add(number: int, alpha: float = 1.0) -> TorchStep:
    return TorchStep(lambda x, d: x.add_(d[number], alpha=alpha) if alpha != 1 else x.add_(d[number]))


def _multiply(number: int) -> TorchStep:
    return TorchStep(lambda x, d: x.mul_(d[number]))


def _times(factor: float) -> TorchStep:
    return TorchStep(lambda x, d: x.mul_(factor))


_RELU: Final = TorchStep(lambda x, d: x.relu_(), roundings=0)


def _add_all(combination: Combination, _: Any) -> list[TorchStep]:
    return [_add(number) for number in range(len(combination.extents))]


def _between(floor: float, ceiling: float, dtype: Any) -> list[TorchStep]:
    """Torch takes only limits that the type holds: those beyond all of its numbers are none."""
    largest, name = torch.finfo(dtype).max, str(dtype).removeprefix("torch.")
    if floor > largest or ceiling < -largest:
        raise NotInTorchError(f"torch clamps {name} to no limits beyond it: from {floor:g} to {ceiling:g}")
    low, high = (floor if floor > -largest else None), (ceiling if ceiling < largest else None)
    if low is None and high is None:
        return []
    return [TorchStep(lambda x, d: x.clamp_(low, high), roundings=0)]


def _clamp(combination: Combination, dtype: Any) -> list[TorchStep]:
    return _between(combination.values["floor"], combination.values["ceiling"], dtype)


def _normalize(combination: Combination, dtype: Any) -> list[TorchStep]:
    """Torch has an operation for what is one number per channel."""
    epsilon = combination.values["epsilon"]

    def at_once(x: Any, d: Sequence[Any]) -> Any:
        mean, variance, gamma, beta = (one.flatten() for one in d[1:])
        return functional.batch_norm(x, mean, variance, gamma, beta, eps=epsilon)

    if all(extent is DExtent.CHANNEL for extent in combination.extents[1:]):
        # scale and shift of a channel may be computed, and rounded, first
        normalized = [TorchStep(at_once, roundings=4)]
    else:
        normalized = [
            TorchStep(lambda x, d: x.sub_(d[1])),
            TorchStep(lambda x, d: x.div_(d[2].add(epsilon).sqrt_()), roundings=3),
            _multiply(3),
            _add(4),
        ]
    return [_add(0), *normalized, *_clamp(combination, dtype)]


def _scale_add_scale_add_relu(combination: Combination, _: Any) -> list[TorchStep]:
    alpha1, alpha2 = (combination.values[name] for name in ("alpha1", "alpha2"))
    return [_times(alpha1), _add(0, alpha2), _add(1), _RELU]


def _operand_scales(combination: Combination) -> float:
    return combination.values["scale_in"] * combination.values["scale_wei"]


def _conv_scale_relu(combination: Combination, _: Any) -> list[TorchStep]:
    return [_times(_operand_scales(combination)), _RELU, _times(combination.values["scale_out"])]


def _conv_scale_add(combination: Combination, _: Any) -> list[TorchStep]:
    return [_times(_operand_scales(combination)), _add(0), _times(combination.values["scale_out"])]


def _conv_invscale(combination: Combination, _: Any) -> list[TorchStep]:
    divisor = math.prod(combination.parameters)
    return [TorchStep(lambda x, d: x.div_(divisor))]


def _unary(combination: Combination, dtype: Any) -> list[TorchStep]:
    values = combination.values
    name = tuple(UNARY)[int(values["function"])]
    make = _UNARY_STEPS.get(name)
    if make is None:
        raise NotInTorchError(f"there is no torch code for the function {name}")
    return make(values, dtype)


def _swish(p: Values, _: Any) -> list[TorchStep]:
    beta = p["beta"]
    if beta == 1:
        return [TorchStep(lambda x, d: functional.silu(x, inplace=True))]
    return [TorchStep(lambda x, d: x.mul_(x.mul(beta).sigmoid_()), roundings=3)]


def _power(p: Values, _: Any) -> list[TorchStep]:
    alpha, gamma = p["alpha"], p["gamma"]
    # the share by which the base is off counts so many times
    raised = TorchStep(lambda x, d: x.pow_(gamma), roundings=1 + 2 * int(gamma))
    return [_times(p["beta"]), TorchStep(lambda x, d: x.add_(alpha)), raised]


def _logistic(p: Values, _: Any) -> list[TorchStep]:
    """Not as the quotient that it is: its exponential may be beyond the type."""
    alpha = p["alpha"]
    if alpha == 0:
        return [TorchStep(lambda x, d: x.zero_(), roundings=0)]
    sigmoid = TorchStep(lambda x, d: x.sigmoid_())
    if alpha == 1:
        return [sigmoid]
    return [TorchStep(lambda x, d: x.sub_(math.log(alpha))), sigmoid, _times(alpha)]


#: function -> what makes its steps
_UNARY_STEPS: Final[dict[str, Callable[[Values, Any], list[TorchStep]]]] = {
    "Relu": lambda p, dtype: [_RELU],
    "PassThrough": lambda p, dtype: [],
    "UnaryAbs": lambda p, dtype: [TorchStep(lambda x, d: x.abs_(), roundings=0)],
    "Sigmoid": lambda p, dtype: [TorchStep(lambda x, d: x.sigmoid_())],
    "TanH": lambda p, dtype: [TorchStep(lambda x, d: x.tanh_())],
    "Swish": _swish,
    "SoftRelu": lambda p, dtype: [TorchStep(lambda x, d: functional.softplus(x, beta=p["alpha"]))],
    "Power": _power,
    "ClippedRelu": lambda p, dtype: _between(p["alpha"], p["beta"], dtype),
    "LeakyRelu": lambda p, dtype: [TorchStep(lambda x, d: functional.leaky_relu_(x, p["alpha"]))],
    "Elu": lambda p, dtype: [TorchStep(lambda x, d: functional.elu_(x, p["alpha"]))],
    "Logistic": _logistic,
}

#: operation -> what makes its steps
_STEPS: Final[dict[ElementwiseOp, Callable[[Combination, Any], list[TorchStep]]]] = {
    ElementwiseOp.MULTI_D_ADD: _add_all,
    ElementwiseOp.MULTI_D_MULTIPLY: lambda one, _: [_multiply(number) for number in range(len(one.extents))],
    ElementwiseOp.ADD: _add_all,
    ElementwiseOp.CLAMP: _clamp,
    ElementwiseOp.ADD_CLAMP: lambda one, dtype: [_add(0), *_clamp(one, dtype)],
    ElementwiseOp.BIAS_NORMALIZE_CLAMP: _normalize,
    ElementwiseOp.SCALE: lambda one, _: [_times(one.values["scale"])],
    ElementwiseOp.BILINEAR: lambda one, _: [_times(one.values["alpha"]), _add(0, one.values["beta"])],
    ElementwiseOp.SCALE_ADD_SCALE_ADD_RELU: _scale_add_scale_add_relu,
    ElementwiseOp.CONV_SCALE: lambda one, _: [_times(math.prod(one.parameters))],
    ElementwiseOp.CONV_SCALE_RELU: _conv_scale_relu,
    ElementwiseOp.CONV_SCALE_ADD: _conv_scale_add,
    ElementwiseOp.CONV_INVSCALE: _conv_invscale,
    ElementwiseOp.DYNAMIC_UNARY_OP: _unary,
}
