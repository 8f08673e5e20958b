"""Measured and predicted times as one table to learn from: predicted ones where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.tuning.prediction import MeasuredTimes, named_alike
from ckprof_plugins.tuning.time_model.measurements import merged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.tuning.predicted_times import PredictedTimes
    from ckprof_plugins.tuning.prediction import Calibration
    from ckprof_plugins.tuning.time_model.measurements import Measurements

    #: (problem, kernel, splits) -> microseconds
    Times = Mapping[tuple[Problem, str, int], float]

#: half the logarithmic width of the interval around predicted times that holds 95 % of measured ones, on the
#: published tables, see plugins/tuning/docs/predict.md
USUAL_HALF: Final = 0.55
#: measured and predicted times of the same kernels that tell it better
_LEAST_PAIRS: Final = 60
_LEAST_PROBLEMS: Final = 4
_COVERED: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Blended:
    """A table with predicted times, and how far measured ones are from them."""

    table: Measurements
    #: see :attr:`ckprof_plugins.tuning.time_model.model.TimeModel.predicted_half`
    half: float
    calibration: Calibration


def with_predicted(
    registry: Registry, measured: Measurements | None, predicted: PredictedTimes, path: Path
) -> Blended:
    """Return a table of both, the predicted times corrected by the measured ones.

    :param measured: ``None`` if nothing was measured.
    :param path: of the predicted times, for messages.
    :raises InputError: the times are of different devices.
    """
    known = _by_problem(predicted.table)
    if measured is None:
        calibration = MeasuredTimes(times={}).calibration({})
        return Blended(table=predicted.table, half=USUAL_HALF, calibration=calibration)
    here, there = measured.target or measured.arch, predicted.table.arch
    if measured.target or (measured.arch and measured.arch != there):
        raise InputError(f"these times are predicted for {there}, the others are measured on {here}", path)
    alike = named_alike(registry, measured.kernels, predicted.fields)
    named = _renamed(measured, alike, predicted.table)
    times = MeasuredTimes(times=_by_problem(named))
    calibration = times.calibration(known)
    corrected = {
        key: time_us * calibration.device * calibration.kernels.get(key[1], 1.0)
        for key, time_us in predicted.table.times.items()
    }
    return Blended(
        table=merged((named, replace(predicted.table, times=corrected))),
        half=_half(times, known),
        calibration=calibration,
    )


def _by_problem(table: Measurements) -> Times:
    return {
        (table.problems[index], name, splits): time_us
        for (index, name, splits), time_us in table.times.items()
    }


def _renamed(measured: Measurements, alike: Mapping[str, str], predicted: Measurements) -> Measurements:
    """Return measured times under the names that the predicted ones have."""
    return replace(
        measured,
        kernels={
            alike.get(name, name): predicted.kernels.get(alike.get(name, name), traits)
            for name, traits in measured.kernels.items()
        },
        times={
            (index, alike.get(name, name), splits): time_us
            for (index, name, splits), time_us in measured.times.items()
        },
    )


def _half(measured: MeasuredTimes, predicted: Times) -> float:
    """Return how far measured times are from predicted ones that the other problems' times have corrected."""
    both = {key: time_us for key, time_us in measured.times.items() if key in predicted}
    problems = {problem for problem, _, _ in both}
    if len(both) < _LEAST_PAIRS or len(problems) < _LEAST_PROBLEMS:
        return USUAL_HALF
    errors = []
    for left_out in problems:
        others = {key: time_us for key, time_us in both.items() if key[0] != left_out}
        factors = MeasuredTimes(times=others).calibration(predicted)
        for key, time_us in both.items():
            if key[0] == left_out:
                guess = predicted[key] * factors.device * factors.kernels.get(key[1], 1.0)
                errors.append(abs(log(time_us / guess)))
    errors.sort()
    return errors[min(len(errors) - 1, ceil(_COVERED * (len(errors) + 1)) - 1)]
