"""The table of element-wise operations: those that factories of the old library and CK Tile have names for.

Instance strings spell them in words of their own.

Defaults of parameters are such that a kernel shows whether it uses them: all of an operation differ, none is
1 as in the library's functors, one is negative. Factors are powers of two, with which results of integers are
exact; sums of most layers are below, between and above the bounds of a clamp.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.strings.argument_kinds import words
from ckprof.model.strings.fields import Field
from ckprof.model.types import spellings
from ckprof_plugins.elementwise.operation import (
    UNARY,
    DExtent,
    DTensor,
    OperandChange,
    OperationParameter,
    OperationProperties,
    apply_unary,
    unary_constraint,
    unary_cpp,
    unary_variance,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckprof_plugins.elementwise.operation import Values

    Array = NDArray[np.float64]
    Arrays = tuple[Array, ...]


_CLAMP: Final = (OperationParameter("floor", -2.0, 0.0), OperationParameter("ceiling", 6.0, 256.0))
_CLAMPED: Final = ("return ck_tile::min(ck_tile::max(y, floor), ceiling);",)
#: of variances that are drawn: what is divided by the root of less shows how sums are rounded, little else
_LEAST_VARIANCE: Final = 2.0**-4
_OPERAND_FACTORS: Final = (
    OperationParameter("scale_in", 2.0, 1.0),
    OperationParameter("scale_wei", -0.5, 1.0),
)
_SCALES: Final = (*_OPERAND_FACTORS, OperationParameter("scale_out", 4.0, 1.0))


class ElementwiseOp(Enum):
    """What is done with an element of the sums and those of the D tensors, or with elements of the operands.

    The value is the name of CK's functor, as instance strings have it.
    """

    MULTI_D_ADD = "MultiDAdd"
    MULTI_D_MULTIPLY = "MultiDMultiply"
    ADD = "Add"
    CLAMP = "Clamp"
    ADD_CLAMP = "AddClamp"
    BIAS_NORMALIZE_CLAMP = "BiasNormalizeInInferClamp"
    SCALE = "Scale"
    BILINEAR = "Bilinear"
    SCALE_ADD_SCALE_ADD_RELU = "ScaleAddScaleAddRelu"
    CONV_SCALE = "ConvScale"
    CONV_SCALE_RELU = "ConvScaleRelu"
    CONV_SCALE_ADD = "ConvScaleAdd"
    CONV_INVSCALE = "ConvInvscale"
    DYNAMIC_UNARY_OP = "DynamicUnaryOp"
    SCALE_ADD = "ScaleAdd"

    @property
    def properties(self) -> OperationProperties:
        """Everything else that is known about the operation."""
        return _TABLE[self]

    @property
    def number(self) -> int:
        """How kernel libraries are told; 0 is none."""
        return 1 + list(ElementwiseOp).index(self)

    @classmethod
    def parse(cls, name: str) -> ElementwiseOp:
        """Return the operation with this name or alias.

        :raises InputError: there is none.
        """
        for operation in cls:
            if name in (operation.value, *operation.properties.aliases):
                return operation
        raise InputError(f"element-wise operation {name} is unknown, expected one of {spellings(cls)}")


def _clamp(y: Array, p: Values) -> Array:
    import numpy as np

    return np.clip(y, p["floor"], p["ceiling"])


def _relu(y: Array) -> Array:
    import numpy as np

    return np.maximum(y, 0.0)


def _add_all(x: Array, d: Arrays, p: Values) -> Array:
    return sum(d, start=x)


def _multiply_all(x: Array, d: Arrays, p: Values) -> Array:
    import numpy as np

    product: Array = np.prod(np.stack(np.broadcast_arrays(x, *d)), axis=0)
    return product


def _normalize(x: Array, d: Arrays, p: Values) -> Array:
    import numpy as np

    bias, mean, variance, gamma, beta = d
    return _clamp((x + bias - mean) / np.sqrt(variance + p["epsilon"]) * gamma + beta, p)


def _normalized_variance(x: float, d: tuple[float, ...], p: Values) -> float:
    bias, mean, _, gamma, beta = d
    # that of a channel whose variance is the least that is drawn: its roundings are magnified most
    return (x + bias + mean) / (_LEAST_VARIANCE + p["epsilon"]) * gamma + beta


def _scales(p: Values) -> float:
    return p["scale_in"] * p["scale_wei"] * p["scale_out"]


def _ordered(p: Values) -> str:
    floor, ceiling = p["floor"], p["ceiling"]
    return "" if floor <= ceiling else f"floor is {floor}, more than ceiling, which is {ceiling}"


def _positive_epsilon(p: Values) -> str:
    return _ordered(p) or ("" if p["epsilon"] > 0 else f"epsilon is {p['epsilon']}, expected more than 0")


def _no_zero(p: Values) -> str:
    zero = next((name for name, value in p.items() if value == 0), "")
    return f"{zero} is 0, which results are divided by" if zero else ""


def _scale_add(scale: str) -> OperandChange:
    """Return the sum of an operand times a number and a further tensor, rounded once, whatever compiles it.

    :param scale: name of the number.
    """
    return OperandChange(flop=2, cpp=f"fmaf({scale}, x, d0)", formula=lambda x, d, p: p[scale] * x + d)


_TABLE: Final = {
    ElementwiseOp.MULTI_D_ADD: OperationProperties(
        variadic=True,
        flop=1,
        cpp=("return (x + ... + d);",),
        formula=_add_all,
        variance=lambda x, d, p: x + sum(d),
        exact=True,
    ),
    ElementwiseOp.MULTI_D_MULTIPLY: OperationProperties(
        variadic=True,
        flop=1,
        cpp=("return (x * ... * d);",),
        formula=_multiply_all,
        variance=lambda x, d, p: x * math.prod(d),
        exact=True,
    ),
    ElementwiseOp.ADD: OperationProperties(
        aliases=("bias",),
        d_tensors=(DTensor("bias"),),
        flop=1,
        cpp=("return x + d0;",),
        formula=_add_all,
        variance=lambda x, d, p: x + sum(d),
        exact=True,
    ),
    ElementwiseOp.CLAMP: OperationProperties(
        aliases=("clamp",),
        parameters=_CLAMP,
        flop=2,
        cpp=("const float y = x;", *_CLAMPED),
        formula=lambda x, d, p: _clamp(x, p),
        variance=lambda x, d, p: x,
        exact=True,
        constraint=_ordered,
    ),
    ElementwiseOp.ADD_CLAMP: OperationProperties(
        aliases=("bias_clamp",),
        parameters=_CLAMP,
        d_tensors=(DTensor("bias"),),
        flop=3,
        cpp=("const float y = x + d0;", *_CLAMPED),
        formula=lambda x, d, p: _clamp(x + d[0], p),
        variance=lambda x, d, p: x + d[0],
        exact=True,
        constraint=_ordered,
    ),
    ElementwiseOp.BIAS_NORMALIZE_CLAMP: OperationProperties(
        aliases=("bias_bnorm_clamp",),
        parameters=(*_CLAMP, OperationParameter("epsilon", 1e-4, 1e-4)),
        d_tensors=(
            *(DTensor("bias"), DTensor("mean"), DTensor("variance", least=_LEAST_VARIANCE)),
            *(DTensor("gamma"), DTensor("beta")),
        ),
        flop=9,
        cpp=("const float y = (x + d0 - d1) / sqrtf(d2 + epsilon) * d3 + d4;", *_CLAMPED),
        formula=_normalize,
        variance=_normalized_variance,
        constraint=_positive_epsilon,
    ),
    ElementwiseOp.SCALE: OperationProperties(
        aliases=("scale",),
        parameters=(OperationParameter("scale", -0.5, 1.0),),
        flop=1,
        cpp=("return scale * x;",),
        formula=lambda x, d, p: p["scale"] * x,
        variance=lambda x, d, p: p["scale"] ** 2 * x,
        exact=True,
    ),
    ElementwiseOp.BILINEAR: OperationProperties(
        aliases=("bilinear",),
        parameters=(OperationParameter("alpha", 2.0, 1.0), OperationParameter("beta", -0.5, 1.0)),
        d_tensors=(DTensor("d0"),),
        flop=3,
        cpp=("return alpha * x + beta * d0;",),
        formula=lambda x, d, p: p["alpha"] * x + p["beta"] * d[0],
        variance=lambda x, d, p: p["alpha"] ** 2 * x + p["beta"] ** 2 * d[0],
        exact=True,
    ),
    ElementwiseOp.SCALE_ADD_SCALE_ADD_RELU: OperationProperties(
        aliases=("scaleadd_scaleadd_relu",),
        parameters=(OperationParameter("alpha1", 2.0, 1.0), OperationParameter("alpha2", -0.5, 1.0)),
        d_tensors=(DTensor("d0"), DTensor("bias", DExtent.CHANNEL)),
        flop=5,
        cpp=("const float y = alpha1 * x + alpha2 * d0 + d1;", "return y > 0 ? y : 0;"),
        formula=lambda x, d, p: _relu(p["alpha1"] * x + p["alpha2"] * d[0] + d[1]),
        variance=lambda x, d, p: p["alpha1"] ** 2 * x + p["alpha2"] ** 2 * d[0] + d[1],
        exact=True,
    ),
    ElementwiseOp.CONV_SCALE: OperationProperties(
        aliases=("convscale",),
        parameters=_SCALES,
        flop=3,
        cpp=("return x * scale_in * scale_wei * scale_out;",),
        formula=lambda x, d, p: x * _scales(p),
        variance=lambda x, d, p: x * _scales(p) ** 2,
        exact=True,
    ),
    ElementwiseOp.CONV_SCALE_RELU: OperationProperties(
        aliases=("convscale_relu",),
        parameters=_SCALES,
        flop=4,
        cpp=("const float y = x * scale_in * scale_wei;", "return (y > 0 ? y : 0) * scale_out;"),
        formula=lambda x, d, p: _relu(x * p["scale_in"] * p["scale_wei"]) * p["scale_out"],
        variance=lambda x, d, p: x * _scales(p) ** 2,
        exact=True,
    ),
    ElementwiseOp.CONV_SCALE_ADD: OperationProperties(
        aliases=("convscale_add",),
        parameters=_SCALES,
        d_tensors=(DTensor("d0"),),
        flop=4,
        cpp=("return (x * scale_in * scale_wei + d0) * scale_out;",),
        formula=lambda x, d, p: (x * p["scale_in"] * p["scale_wei"] + d[0]) * p["scale_out"],
        variance=lambda x, d, p: x * _scales(p) ** 2 + d[0] * p["scale_out"] ** 2,
        exact=True,
    ),
    ElementwiseOp.CONV_INVSCALE: OperationProperties(
        aliases=("convinvscale",),
        parameters=_SCALES,
        flop=3,
        cpp=("return x / scale_in / scale_wei / scale_out;",),
        formula=lambda x, d, p: x / _scales(p),
        variance=lambda x, d, p: x / _scales(p) ** 2,
        exact=True,
        constraint=_no_zero,
    ),
    ElementwiseOp.DYNAMIC_UNARY_OP: OperationProperties(
        aliases=("dynamic_op",),
        parameters=(
            OperationParameter("function", 0.0, 0.0, choices=tuple(UNARY)),
            *(
                OperationParameter("alpha", 0.25, 1.0),
                OperationParameter("beta", 2.0, 1.0),
                OperationParameter("gamma", 2.0, 2.0),
            ),
        ),
        flop=1,
        cpp=unary_cpp(),
        formula=lambda x, d, p: apply_unary(x, p),
        variance=unary_variance,
        constraint=unary_constraint,
    ),
    ElementwiseOp.SCALE_ADD: OperationProperties(
        aliases=("scaleadd_ab",),
        parameters=_OPERAND_FACTORS,
        operands=tuple(_scale_add(factor.name) for factor in _OPERAND_FACTORS),
        flop=0,
        cpp=(),
        formula=lambda x, d, p: x,
        variance=lambda x, d, p: x,
    ),
}


#: those that leave values as they are, but for their type
PLAIN_OPERATIONS: Final = frozenset({"PassThrough", "UnaryConvert"})

#: those that are named alike whatever they are made from
COMBINED_OPERATIONS: Final = frozenset(
    {"BinaryWithUnaryCombinedOp", "TrinaryWithUnaryCombinedOp", "UnaryCombinedOp"}
)

#: those of the old library that no kernel of CK Tile has for its results
_OTHERS: Final = (
    *("AddHardswish", "AddHardswishAdd", "AddRelu", "AddReluAdd", "AddSigmoid", *sorted(COMBINED_OPERATIONS)),
    *("ConvertBF16RTN", "ConvertF8RNE", "ConvertF8SR", "Elu", "LeakyRelu", "Logistic", "PassThroughPack2"),
    *("Power", "Relu", "Sigmoid", "SoftRelu", "Swish", "TanH", "UnaryAbs"),
)

#: name of an element-wise operation
ELEMENT_OPERATION: Final = replace(
    words((*sorted(PLAIN_OPERATIONS), *(operation.value for operation in ElementwiseOp), *_OTHERS)),
    expected="the name of an operation",
)


def operations(*roles: str) -> tuple[Field, ...]:
    """Return the fields of the element-wise operations on operands and result."""
    return tuple(Field(f"operation_{role}", ELEMENT_OPERATION) for role in roles)
