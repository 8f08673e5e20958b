"""Durations summed up."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.model.outcome import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.outcome import Outcome


def summarise(samples_ms: Sequence[float], stopped_by: str, *, keep_samples: bool) -> Measurement:
    """Return median, spread, least and mean of samples in milliseconds.

    Quartiles between two samples are interpolated linearly.
    """
    ordered = sorted(samples_ms)
    return Measurement(
        median_ms=quantile(ordered, 0.5),
        spread_ms=(quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 2,
        min_ms=ordered[0],
        mean_ms=math.fsum(ordered) / len(ordered),
        samples=len(ordered),
        stopped_by=stopped_by,
        samples_ms=tuple(samples_ms) if keep_samples else (),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return what that share of some numbers does not exceed; between two of them it is interpolated.

    numpy's functions for it import its masked arrays, which takes longer than many a measurement.

    :param ordered: ascending, at least one.
    :param share: 0 to 1.
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def without_samples(outcome: Outcome) -> Outcome:
    """Return the outcome without raw samples."""
    if outcome.measurement is None:
        return outcome
    return replace(outcome, measurement=replace(outcome.measurement, samples_ms=()))
