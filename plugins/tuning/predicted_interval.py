"""How far measured times are from predicted ones, by kind of kernel.

On the published tables of gfx950, predictions of compv3 kernels whose loop repeats are much closer than those
of kernels that go once or twice through their reduction, most of whose time is prologue and epilogue. The
halves are what holds 90 % of the times of a kind; ``prediction_figures.py`` prints them, and how many of the
times they hold where the kernel, or the table, was left out.
"""

from __future__ import annotations

from math import exp
from typing import Final

#: share of the published times that the interval of a kind holds
SHARE: Final = 0.9
#: (pipeline, whether its loop repeats) -> half the logarithmic width of the interval
KINDS: Final = {
    ("compv3", True): 0.17,
    ("compv3", False): 0.44,
    ("compv4", True): 0.60,
    ("compv4", False): 0.36,
}
#: of kinds that no published table has
WIDEST: Final = 0.60
#: iterations from which on a loop repeats; loops of two turns are not taken for one
REPEATS: Final = 1


def interval_us(time_us: float, pipeline: object, iterations: int) -> tuple[float, float]:
    """Return the limits that hold a measured time in 90 of 100 cases, in microseconds.

    :param pipeline: what the instance calls its main loop, e.g. ``compv3``; ``None`` if it does not.
    :param iterations: how often the loop runs that most executed instructions belong to.
    """
    half = KINDS.get((str(pipeline), iterations >= REPEATS), WIDEST)
    return time_us * exp(-half), time_us * exp(half)
