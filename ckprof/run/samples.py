"""Durations summed up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckprof.model.outcome import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.outcome import Outcome


def summarise(samples_ms: Sequence[float], stopped_by: str, *, keep_samples: bool) -> Measurement:
    """Return median, spread, least and mean of samples in milliseconds.

    Quartiles between two samples are interpolated linearly.
    """
    samples = np.asarray(samples_ms, dtype=np.float64)
    first, median, third = np.percentile(samples, (25, 50, 75))
    return Measurement(
        median_ms=float(median),
        spread_ms=float(third - first) / 2,
        min_ms=float(samples.min()),
        mean_ms=float(samples.mean()),
        samples=samples.size,
        stopped_by=stopped_by,
        samples_ms=tuple(samples_ms) if keep_samples else (),
    )


def without_samples(outcome: Outcome) -> Outcome:
    """Return the outcome without raw samples."""
    if outcome.measurement is None:
        return outcome
    return replace(outcome, measurement=replace(outcome.measurement, samples_ms=()))
