"""MIOpenDriver's ``CBAInfer``: a convolution with bias, batch normalisation and activation.

Facts are those of MIOpen's ``driver/CBAInferFusion_driver.hpp``: the flags of ``conv`` with few exceptions,
``-J`` for what is fused, ``-m`` for the activation and ``-A``, ``-B``, ``-G`` for its numbers.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import LARGEST, DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem_case import ProblemLine, Token

#: base argument -> type of the elements
FUSION_BASES: Final = {"CBAInfer": DataType.FP32, "CBAInferfp16": DataType.FP16}

#: batch size where a line says none
DEFAULT_BATCH: Final = 32


#: flags with a number: names, default
NUMBERS: Final[Mapping[str, tuple[tuple[str, str], float]]] = {
    "fusion": (("-J", "--fusion_mode"), 0),
    "activation": (("-m", "--activMode"), 3),
    "alpha": (("-A", "--alpha"), 1.0),
    "beta": (("-B", "--beta"), 0.0),
    "gamma": (("-G", "--gamma"), 1.0),
    "bn_mode": (("-M", "--bnMode"), 0),
}

#: value of ``-J`` -> bias, batch normalisation, activation; 2 has no convolution
_FUSIONS: Final = {
    0: (True, True, True),
    1: (False, True, True),
    3: (False, True, False),
    4: (True, False, True),
    5: (False, False, True),
    6: (True, False, False),
}
#: what ``-b 1`` of a convolution asks for
BIAS: Final[Mapping[str, float]] = MappingProxyType({"fusion": 6})
_SPATIAL: Final = 1
#: what the driver adds to variances
_EPSILON: Final = 1e-6

#: what the value of ``-m`` numbers
_ACTIVATIONS: Final = (
    *("passthru", "logistic", "tanh", "relu", "softrelu", "abs", "power", "clippedrelu", "leakyrelu", "elu"),
    "clamp",
)
#: activation -> function of the operation with one operand, and which of the driver's numbers its are
_UNARY: Final = {
    "passthru": ("PassThrough", {}),
    "logistic": ("Sigmoid", {}),
    "tanh": ("TanH", {"alpha": 1.0, "beta": 1.0}),
    "abs": ("UnaryAbs", {}),
    "leakyrelu": ("LeakyRelu", {}),
    "elu": ("Elu", {}),
}


def number_of(text: str) -> str | None:
    """Return which of :data:`NUMBERS` a flag gives; ``None``: none of them."""
    return next((name for name, (names, _) in NUMBERS.items() if text in names), None)


def read_number(line: ProblemLine, name: str, token: Token) -> float:
    """Return the value of one of :data:`NUMBERS`.

    :raises InputError: it is none.
    """
    if name in ("fusion", "activation", "bn_mode"):
        return line.integer(token, name)
    try:
        return float(token.text)
    except ValueError:
        raise line.error(f"expected a number for {name}, got {token.text!r}", token.column) from None


def fused(line: ProblemLine, numbers: Mapping[str, float]) -> Combination | str:
    """Return what a line asks for beside the convolution, or why no kernel computes it.

    :raises InputError: a number has no meaning.
    """
    given = {name: numbers.get(name, default) for name, (_, default) in NUMBERS.items()}
    fusion = int(given["fusion"])
    if fusion not in _FUSIONS:
        known = ", ".join(map(str, _FUSIONS))
        raise line.error(f"-J {fusion} asks for no convolution (known: {known})")
    bias, normalised, activated = _FUSIONS[fusion]
    activation = "passthru"
    if activated:
        if not 0 <= given["activation"] < len(_ACTIVATIONS):
            raise line.error(f"-m {int(given['activation'])} is not an activation of MIOpen")
        activation = _ACTIVATIONS[int(given["activation"])]
    with line.at():
        return _combination(given, bias, normalised, activation)


def _combination(
    given: Mapping[str, float], bias: bool, normalised: bool, activation: str
) -> Combination | str:
    limits = _limits(activation, given)
    if normalised:
        if not bias:
            return "it asks for batch normalisation without a bias, which no kernel has"
        if given["bn_mode"] != _SPATIAL:
            # most lines that ask for it do not mean to
            default = "(-M 0, MIOpenDriver's default)"
            return f"it asks for batch normalisation per activation {default}; give -M 1 for that per channel"
        if limits is None:
            return f"it asks for batch normalisation and {activation}; kernels clamp after it"
        return Combination(
            operation=ElementwiseOp.BIAS_NORMALIZE_CLAMP,
            parameters=(*limits, _EPSILON),
            extents=(DExtent.CHANNEL,) * 5,
        )
    if bias:
        if limits is None:
            return f"it asks for a bias and {activation}; kernels clamp after a bias"
        return Combination(operation=ElementwiseOp.ADD_CLAMP, parameters=limits, extents=(DExtent.CHANNEL,))
    if limits is not None and activation != "passthru":
        return Combination(operation=ElementwiseOp.CLAMP, parameters=limits, extents=())
    if activation not in _UNARY:
        return f"it asks for {activation}, which kernels do not have as MIOpen has it"
    function, needed = _UNARY[activation]
    if any(given[name] != value for name, value in needed.items()):
        return f"it asks for {activation} with numbers that kernels do not have"
    choice, *_ = ElementwiseOp.DYNAMIC_UNARY_OP.properties.parameters
    return Combination(
        operation=ElementwiseOp.DYNAMIC_UNARY_OP,
        parameters=(choice.parse(function), given["alpha"], 1.0, 2.0),
        extents=(),
    )


def _limits(activation: str, given: Mapping[str, float]) -> tuple[float, float] | None:
    """Return floor and ceiling of an activation that clamps; ``None`` for others."""
    if activation == "passthru":
        return -LARGEST, LARGEST
    if activation == "relu":
        return 0.0, LARGEST
    if activation == "clippedrelu":
        return 0.0, given["alpha"]
    if activation == "clamp":
        return given["alpha"], given["beta"]
    return None
