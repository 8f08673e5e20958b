"""The few operations of the time model, for numbers, arrays and symbols alike.

The model's formulas are written once, with these. Given numbers they compute; given NumPy arrays they compute
many rows, for training; given :class:`~ckprof.selection.expression.Symbol` they record, for the generated
Python and C++.

Every operation is exact or correctly rounded in IEEE arithmetic, so that all of them agree to the last bit:
there is no logarithm and no power.
"""

from __future__ import annotations

import math
from typing import Any

#: a number, an array or a symbol
Value = Any


def ceil_div(a: Value, b: Value) -> Value:
    """Return a / b rounded up, of positive whole numbers."""
    own = getattr(a, "ceil_div", None) or getattr(b, "reverse_ceil_div", None)
    if own is not None:
        return own(b if hasattr(a, "ceil_div") else a)
    return -(-a // b)


def maximum(a: Value, b: Value) -> Value:
    """Return the larger one."""
    return _choose("maximum", a, b)


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller one."""
    return _choose("minimum", a, b)


def square_root(a: Value) -> Value:
    """Return the square root."""
    if hasattr(a, "square_root"):
        return a.square_root()
    if hasattr(a, "shape"):
        import numpy as np

        return np.sqrt(a)
    return math.sqrt(a)


def fourth_power(a: Value) -> Value:
    """Return a * a * a * a."""
    square = a * a
    return square * square


def fourth_root(a: Value) -> Value:
    """Return the fourth root."""
    return square_root(square_root(a))


def _choose(name: str, a: Value, b: Value) -> Value:
    for one, other in ((a, b), (b, a)):
        if hasattr(one, name):
            return getattr(one, name)(other)
    if hasattr(a, "shape") or hasattr(b, "shape"):
        import numpy as np

        return getattr(np, name)(a, b)
    return max(a, b) if name == "maximum" else min(a, b)
