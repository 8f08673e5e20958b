"""Quantiles of Student's t distribution, without a statistics library."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=1024)
def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution.

    Exact for 1 and 2 degrees of freedom; otherwise the distribution function is inverted, starting from the
    normal distribution.

    :param probability: between 0 and 1, both excluded.
    :param freedom: degrees of freedom, at least 1.
    :raises ValueError: an argument is out of range.
    """
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"no quantile for probability {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -student_quantile(1 - probability, freedom)
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        share = 4 * probability * (1 - probability)
        return 2 * (probability - 0.5) * math.sqrt(2 / share)
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(probability))
    while student_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if student_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def student_cdf(value: float, freedom: float) -> float:
    """Return the distribution function of Student's t distribution."""
    share = freedom / (freedom + value * value)
    tail = 0.5 * _beta_share(freedom / 2, 0.5, share)
    return 1 - tail if value > 0 else tail


def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function (DLMF 8.17.22, the continued fraction)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return front * fraction / a
