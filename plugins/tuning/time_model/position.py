"""Where a problem lies among others: its place, and how far it is outside of their range.

Lengths are binary logarithms: 1 is a factor of two along one axis.
"""

from __future__ import annotations

from math import dist, log2
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.tuning.time_model.work import Sizes

#: What is compared with the trained range, and what each is called where people read it.
RANGE_AXES: Final[Mapping[str, str]] = {
    "m": "m",
    "n": "n",
    "k": "k",
    "batch": "batch",
    "n_run": "channels of one filter tap along n",
    "k_run": "channels of one filter tap along k",
    "taps": "number of filter taps",
    "work": "number of multiply-adds",
    "step": "product of the strides",
}

#: least and greatest value along each axis
Ranges = dict[str, tuple[float, float]]

#: axes of a place, and how much each counts
_PLACE: Final = {"m": 1.0, "n": 1.0, "k": 1.0, "batch": 0.5, "n_run": 1.0, "k_run": 1.0}

#: numbers in a place
PLACE_AXES: Final = len(_PLACE) + 1

#: What rounding alone makes of a range.
_NOTHING: Final = 1e-9


def extents(sizes: Sizes) -> dict[str, float]:
    """Return the value of a problem along each of :data:`RANGE_AXES`."""
    m, n, k, batch = (float(size) for size in (sizes.m, sizes.n, sizes.k, sizes.batch))
    n_run, k_run = float(sizes.n_run), float(sizes.k_run)
    return {
        "m": m,
        "n": n,
        "k": k,
        "batch": batch,
        "n_run": n_run,
        "k_run": k_run,
        "taps": n / n_run * (k / k_run),
        "work": m * n * k * batch,
        "step": float(sizes.step),
    }


def place(sizes: Sizes) -> tuple[float, ...]:
    """Return the coordinates of a problem: sizes of its products and runs, and multiply-adds per byte."""
    values = extents(sizes)
    axes = [weight * log2(values[axis]) for axis, weight in _PLACE.items()]
    return (*axes, log2(values["work"] / float(sizes.tensor_bytes)))


def ranges_of(problems: Sequence[Sizes]) -> Ranges:
    """Return the range of problems along each of :data:`RANGE_AXES`."""
    every = [extents(sizes) for sizes in problems]
    return {axis: (min(one[axis] for one in every), max(one[axis] for one in every)) for axis in RANGE_AXES}


def beyond(ranges: Mapping[str, tuple[float, float]], sizes: Sizes) -> tuple[float, ...]:
    """Return how far a problem is below (less than 0) or above a range, along each of :data:`RANGE_AXES`."""
    gaps = []
    for axis, value in extents(sizes).items():
        least, most = ranges[axis]
        below = log2(value / least) if value < least else 0.0
        above = log2(value / most) if value > most else 0.0
        gaps.append(below + above if abs(below + above) > _NOTHING else 0.0)
    return tuple(gaps)


def squared_gap(place: Sequence[float], other: Sequence[float]) -> float:
    """Return the square of the distance between two points."""
    return dist(place, other) ** 2
