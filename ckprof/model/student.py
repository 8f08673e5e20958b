"""Student's t distribution and the normal one, as far as intervals and tests need them."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

_NORMAL: Final = NormalDist()

#: relative accuracy of the continued fraction, and a bound on its terms that is never reached
_EPSILON: Final = 1e-15
_TERMS: Final = 10_000


def t_tail(t: float, df: float) -> float:
    """Return the probability that a t-distributed value exceeds ``t``.

    :param df: degrees of freedom, positive; infinite for the normal distribution.
    """
    if math.isinf(df):
        return _NORMAL.cdf(-t)
    square = t * t
    if square < 1:  # the other argument would be rounded to 1
        half = 0.5 * (1 - _incomplete_beta(square / (df + square), 0.5, df / 2))
    else:
        half = 0.5 * _incomplete_beta(df / (df + square), df / 2, 0.5)
    return half if t >= 0 else 1 - half


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Return the value that a t-distributed one stays below with this probability.

    :param probability: between 0 and 1, both excluded.
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high = 0.0, 1.0
    while t_tail(high, df) > 1 - probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_tail(middle, df) > 1 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=4096)
def quick_t_quantile(probability: float, df: float) -> float:
    """Return about the same as :func:`t_quantile`, much faster: for estimates.

    The first terms of the expansion in 1 / df (Abramowitz and Stegun 26.7.5).
    """
    z = _NORMAL.inv_cdf(probability)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)


def normal_tail(z: float) -> float:
    """Return the probability that a normally distributed value exceeds ``z``."""
    return _NORMAL.cdf(-z)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function (NIST DLMF 8.17)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x > (a + 1) / (a + b + 2):  # there the fraction of the mirrored function converges faster
        return 1 - front * _fraction(1 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction 8.17.22 from the front, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d, tiny)
            c = _not_zero(1 + term / c, tiny)
            value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def _not_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the value that a beta-distributed one stays below with this probability.

    :param a: of the distribution, positive.
    :param b: of the distribution, positive.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2
