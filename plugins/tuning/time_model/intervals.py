"""How far predictions may be off: from the errors on problems that fits had not seen.

Some problems are left out of a fit and then predicted: shares of all, and those at either end of an axis.
Each such trial keeps its errors as multiples of the kernels' usual ones. A new problem is compared with the
most similar trials: those whose sizes are near, that were about as far from the problems of the fit, and as
far beyond their range in the same direction. The quantile of their
errors is that of the new problem: a conformal prediction that is localised (Guan, "Localized conformal
prediction: a generalized inference framework for conformal prediction", Biometrika 110, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import dist, log2, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.tuning.time_model.formula import Sizes


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
        gap = log2(value / min(max(value, least), most))
        gaps.append(gap if abs(gap) > _NOTHING else 0.0)
    return tuple(gaps)


#: Share of measured times that lie in an interval.
COVERAGE: Final = 0.95
#: Standard deviations of a normal distribution that an interval reaches to either side.
DEVIATIONS: Final = 1.96
#: The logarithm of ten: farther from a predicted time no interval ends, for then nothing is known.
LARGEST_HALF: Final = 2.303

#: A trial's errors in bands: the share of errors in each; the middle of each is kept.
BANDS: Final = (0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02)

#: Share of trials that are no farther from what was left to learn from than is usual.
_USUAL: Final = 0.98

#: How many trials are asked.
_NEIGHBOURS: Final = 40
#: What the distance to what was left to learn from counts, as a square, relative to the sizes.
_NEAREST_WEIGHT: Final = 4.0
#: What a new problem weighs among them: less than 1, for it has many times whose errors differ.
_OWN_WEIGHT: Final = 0.2
#: Growth of errors per factor of two that a problem is farther out than the trials, and how many factors of
#: two it counts that the channels of a filter tap are halved: what short runs cost is not seen in long ones.
_GROWTH: Final = 0.7
_SHORTER: Final = 3.0
_RUNS: Final = frozenset(place for place, axis in enumerate(RANGE_AXES) if axis in ("n_run", "k_run"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One problem that was left out of one fit."""

    #: its number among the trained problems
    problem: int
    #: distance to the nearest problem that was left in the fit
    nearest: float
    #: see :func:`ckprof_plugins.tuning.time_model.intervals.beyond`, of the problems that were left in
    beyond: tuple[float, ...]
    #: the middle of each of :data:`BANDS` of its errors, as multiples of the kernels' spreads
    errors: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What is known about errors on problems that were not seen."""

    #: of the trained problems, see :func:`ckprof_plugins.tuning.time_model.intervals.place`
    places: tuple[tuple[float, ...], ...] = ()
    trials: tuple[Trial, ...] = ()

    @property
    def usual_distance(self) -> float:
        """The distance to what was left in the fit that few trials inside the range exceed."""
        inside = sorted(trial.nearest for trial in self.trials if not any(trial.beyond))
        return inside[int(_USUAL * (len(inside) - 1))] if inside else 0.0

    def nearest(self, place: Sequence[float]) -> float:
        """Return the distance of a place to the nearest trained problem."""
        return min(dist(place, other) for other in self.places)

    def reach(self, place: Sequence[float], beyond: Sequence[float]) -> float:
        """Return how many scales of a kernel an interval reaches to either side on a new problem.

        :param beyond: how far the problem is outside of the trained range.
        """
        gaps = [dist(place, other) for other in self.places]
        nearest = min(gaps)

        def gap(trial: Trial) -> float:
            apart = gaps[trial.problem] ** 2 + _NEAREST_WEIGHT * (nearest - trial.nearest) ** 2
            return apart + dist(beyond, trial.beyond) ** 2

        alike = sorted(self.trials, key=gap)[:_NEIGHBOURS]
        usual = sum(_length(trial.beyond) for trial in alike) / len(alike)
        growth = 1.0 + _GROWTH * max(0.0, _length(beyond) - usual)
        return growth * _quantile(alike)


def _quantile(trials: Sequence[Trial]) -> float:
    """Return the error that :data:`COVERAGE` of the trials' errors, and of a further problem's, are below."""
    atoms = sorted(
        (error, share) for trial in trials for error, share in zip(trial.errors, BANDS, strict=True)
    )
    left = COVERAGE * (len(trials) + _OWN_WEIGHT)
    for error, share in atoms:
        left -= share
        if left <= 0:
            return error
    return atoms[-1][0]


def _length(gaps: Sequence[float]) -> float:
    """Return how far outside of a range gaps along :data:`RANGE_AXES` are together."""
    counted = (_SHORTER * gap if axis in _RUNS and gap < 0 else gap for axis, gap in enumerate(gaps))
    return sqrt(sum(gap**2 for gap in counted))
