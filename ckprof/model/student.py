"""Student's t distribution and the normal one, as far as intervals and tests need them."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_NORMAL: Final = NormalDist()

#: relative accuracy of the continued fraction, and a bound on its terms that is never reached
_EPSILON: Final = 1e-15
_TERMS: Final = 10_000
#: relative length of the last step to a quantile, and a bound on the steps that is never reached
_CLOSE: Final = 1e-13
_STEPS: Final = 500


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
    beyond = 1 - probability
    high = 1.0
    while t_tail(high, df) > beyond:
        high *= 2
    return _root(
        lambda t: beyond - t_tail(t, df),
        lambda t: _t_density(t, df),
        low=high / 2 if high > 1 else 0.0,
        high=high,
        start=quick_t_quantile(probability, df),
    )


@lru_cache(maxsize=4096)
def quick_t_quantile(probability: float, df: float) -> float:
    """Return about the same as :func:`t_quantile`, much faster: for estimates.

    The first terms of the expansion in 1 / df (Abramowitz and Stegun 26.7.5).
    """
    z = _NORMAL.inv_cdf(probability)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)


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
    return _root(
        lambda x: _incomplete_beta(x, a, b) - probability,
        lambda x: _beta_density(x, a, b),
        low=0.0,
        high=1.0,
        start=a / (a + b),
    )


def _t_density(t: float, df: float) -> float:
    if math.isinf(df):
        return _NORMAL.pdf(t)
    front = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(front - (df + 1) / 2 * math.log1p(t * t / df))


def _beta_density(x: float, a: float, b: float) -> float:
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))


def _root(
    function: Callable[[float], float],
    slope: Callable[[float], float],
    *,
    low: float,
    high: float,
    start: float,
) -> float:
    """Return where an increasing function is zero, by Newton's method; a step out of the bounds halves them.

    :param low: there it is not positive; with ``high``, where it is not negative, around the root.
    :param start: where to begin, if that is between them.
    """
    place = start if low < start < high else (low + high) / 2
    for _ in range(_STEPS):
        value = function(place)
        if value < 0:
            low = place
        else:
            high = place
        steep = slope(place)
        found = place - value / steep if steep > 0 else low
        if not low < found < high:
            found = (low + high) / 2
        if abs(found - place) <= _CLOSE * abs(found) or found in (low, high):
            return found
        place = found
    return place
