"""What an element-wise operation is: its parameters, further tensors, arithmetic in C++ and in numpy.

The old library's ``DynamicUnaryOp`` chooses among functions of one number when it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


#: what CK Tile calls the operation that leaves sums as they are
STORED_AS_IT_IS: Final = "PassThrough"

#: largest finite number in fp32
LARGEST: Final = (2 - 2.0**-23) * 2.0**127
#: words for numbers in problem lines
LIMITS: Final = {"max": LARGEST, "-max": -LARGEST}

#: parameters that are no factors
BOUNDS: Final = frozenset({"floor", "ceiling"})

#: name of a parameter -> value
Values: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OperationParameter:
    """A number that an operation takes when a kernel runs.

    :param default: where a line gives none.
    :param functor: that of CK's functor, which no kernel is launched with.
    :param choices: words for the numbers from 0 on; empty for a free number.
    """

    name: str
    default: float
    functor: float
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> float:
        """Return the number that a text stands for.

        :raises InputError: none that a kernel could take.
        """
        if self.choices:
            if text not in self.choices:
                raise InputError(f"{self.name} is {text}, expected one of {', '.join(self.choices)}")
            return float(self.choices.index(text))
        try:
            value = LIMITS[text] if text in LIMITS else float(text)
        except ValueError:
            raise InputError(f"{self.name} is {text}, expected a number") from None
        return self.checked(value)

    def checked(self, value: float) -> float:
        """Return a number that kernels can take.

        :raises InputError: it is none.
        """
        if self.choices:
            if value not in range(len(self.choices)):
                raise InputError(f"{self.name} is {value}, expected 0 to {len(self.choices) - 1}")
        elif not abs(value) <= LARGEST:
            raise InputError(f"{self.name} is {value}, expected a number that fp32 holds")
        return value

    def text(self, value: float) -> str:
        """Return the shortest text of a number."""
        if self.choices:
            return self.choices[int(value)]
        limit = next((name for name, number in LIMITS.items() if number == value), "")
        return limit or f"{value!r}".removesuffix(".0")


class DExtent(Enum):
    """What a D tensor has an element for."""

    #: each element of the result
    FULL = "full"
    #: each channel of the result, of all groups
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True)
class DTensor:
    """A tensor that an operation takes beside the sums."""

    #: what it is, in problem lines
    role: str
    #: that it has in the factories
    extent: DExtent = DExtent.FULL
    #: drawn without its sign, and not less; 0: drawn with it
    least: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandChange:
    """What an operand is made from: an element of it and one of a further tensor, which lies as it does.

    Numbers are fp32, and rounded to the type of the operand once.
    """

    #: floating-point operations per element
    flop: int
    #: C++ expression of ``x``, the element of the operand, ``d0``, that of the further tensor, and parameters
    cpp: str
    #: the same in double precision, of arrays
    formula: Callable[[NDArray[np.float64], NDArray[np.float64], Values], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationProperties:
    """One row of the table of operations.

    Numbers are fp32 in C++; ``x`` is the sum, rounded to the type of the result, ``d0`` and so on are
    elements of the D tensors.
    """

    #: further names in lines, lists and options
    aliases: tuple[str, ...] = ()
    parameters: tuple[OperationParameter, ...] = ()
    d_tensors: tuple[DTensor, ...] = ()
    #: what the first and the second operand are made from before they are multiplied; empty: they are as they
    #: are. Nothing is done with sums then
    operands: tuple[OperandChange, ...] = ()
    #: takes any number of D tensors, from one on, as the pack ``d``
    variadic: bool = False
    #: floating-point operations per element; those of a variadic one per D tensor
    flop: int
    #: statements of a C++ function of ``x`` and the D tensors
    cpp: tuple[str, ...]
    #: the same in double precision, of arrays
    formula: Callable[[NDArray[np.float64], tuple[NDArray[np.float64], ...], Values], NDArray[np.float64]]
    #: variance of a result: of the variance of sums, of the mean squares of D tensors
    variance: Callable[[float, tuple[float, ...], Values], float]
    #: results of integers are what double precision gives, rounded once, where all factors are powers of two
    exact: bool = False
    #: what the values of parameters must obey together: returns what is wrong
    constraint: Callable[[Values], str] = lambda _: ""

    def deviation(self, of_sum: float, mean_squares: tuple[float, ...], values: Values) -> float:
        """Return the standard deviation of an element of the result.

        :param of_sum: that of an element of the sum.
        :param mean_squares: of the elements of each D tensor.
        """
        return math.sqrt(self.variance(of_sum**2, mean_squares, values))


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
