"""The functions of one number that the old library's ``DynamicUnaryOp`` chooses from when it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckprof_plugins.elementwise.operation import Values

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnaryFunction:
    """One of the functions, of ``x`` and of ``alpha``, ``beta`` and ``gamma`` as far as it has them."""

    #: C++ expression in fp32
    cpp: str
    formula: Callable[[Array, Values], Array]


def _sigmoid(x: Array) -> Array:
    import numpy as np

    return 1 / (1 + np.exp(-x))


def _tanh(x: Array, p: Values) -> Array:
    import numpy as np

    return np.tanh(x)


def _soft_relu(x: Array, p: Values) -> Array:
    import numpy as np

    return np.logaddexp(0.0, x * p["alpha"]) / p["alpha"]


def _power(x: Array, p: Values) -> Array:
    import numpy as np

    return np.power(p["alpha"] + p["beta"] * x, p["gamma"])


def _clipped(x: Array, p: Values) -> Array:
    import numpy as np

    return np.minimum(p["beta"], np.maximum(p["alpha"], x))


def _leaky(x: Array, p: Values) -> Array:
    import numpy as np

    return np.where(x >= 0, x, x * p["alpha"])


def _elu(x: Array, p: Values) -> Array:
    import numpy as np

    return np.where(x > 0, x, p["alpha"] * np.expm1(np.minimum(x, 0.0)))


def _logistic(x: Array, p: Values) -> Array:
    import numpy as np

    return p["alpha"] / (1 + np.exp(-x) * p["alpha"])


UNARY: Final = {
    "Relu": UnaryFunction("x > 0 ? x : 0", lambda x, p: x * (x > 0)),
    "PassThrough": UnaryFunction("x", lambda x, p: x),
    "UnaryAbs": UnaryFunction("fabsf(x)", lambda x, p: abs(x)),
    "Sigmoid": UnaryFunction("1 / (1 + expf(-x))", lambda x, p: _sigmoid(x)),
    "TanH": UnaryFunction("tanhf(x)", _tanh),
    "Swish": UnaryFunction("x / (1 + expf(-beta * x))", lambda x, p: x * _sigmoid(p["beta"] * x)),
    # without overflow where the exponential would have it
    "SoftRelu": UnaryFunction(
        "((x * alpha > 0 ? x * alpha : 0) + log1pf(expf(-fabsf(x * alpha)))) / alpha", _soft_relu
    ),
    "Power": UnaryFunction("powf(alpha + beta * x, gamma)", _power),
    "ClippedRelu": UnaryFunction("(x > alpha ? x : alpha) < beta ? (x > alpha ? x : alpha) : beta", _clipped),
    "LeakyRelu": UnaryFunction("x >= 0 ? x : x * alpha", _leaky),
    "Elu": UnaryFunction("x > 0 ? x : alpha * expm1f(x)", _elu),
    "Logistic": UnaryFunction("alpha / (1 + expf(-x) * alpha)", _logistic),
}

#: functions that grow faster than their argument
_POWER: Final = tuple(UNARY).index("Power")
_SOFT_RELU: Final = tuple(UNARY).index("SoftRelu")
_LOGISTIC: Final = tuple(UNARY).index("Logistic")


def unary_cpp() -> tuple[str, ...]:
    """Return the statements that compute the function with the number ``function``."""
    cases = (f"case {number}: return {unary.cpp};" for number, unary in enumerate(UNARY.values()))
    return ("switch(static_cast<int>(function))", "{", *cases, "default: return x;", "}")


def apply_unary(x: Array, p: Values) -> Array:
    """Return the function that ``function`` numbers, in double precision."""
    function: UnaryFunction = tuple(UNARY.values())[int(p["function"])]
    return function.formula(x, p)


def unary_variance(x: float, _: tuple[float, ...], p: Values) -> float:
    """Return a bound of the variance of results: all functions but one are no steeper than a line."""
    if p["function"] != _POWER:
        return max(1.0, p["alpha"] ** 2, p["beta"] ** 2) * x
    base = abs(p["alpha"]) + abs(p["beta"]) * 6 * math.sqrt(x)
    return (p["gamma"] * p["beta"]) ** 2 * math.pow(base, 2 * (p["gamma"] - 1)) * x


def unary_constraint(p: Values) -> str:
    """Return what is wrong with the numbers for the function; empty if nothing is."""
    if p["function"] == _SOFT_RELU and p["alpha"] == 0:
        return "alpha is 0, which SoftRelu divides by"
    if p["function"] == _LOGISTIC and p["alpha"] < 0:
        return f"alpha is {p['alpha']}, with which Logistic has a pole; expected 0 or more"
    if p["function"] == _POWER and not (p["gamma"].is_integer() and p["gamma"] >= 0):
        return f"gamma is {p['gamma']}, expected an integer from 0 on: sums may be negative or 0"
    return ""
