"""Whether the figures of an attempt can be those of its samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.store.errors import DamagedRow

if TYPE_CHECKING:
    from ckprof.model.outcome import Measurement

#: figures are computed again with the same steps, on another machine with another library of mathematics
RELATIVE_ACCURACY: Final = 1e-9


def implausible(number: int, timing: Measurement) -> DamagedRow | None:
    """Return why the figures of an attempt cannot be those of its samples, if they cannot.

    :param number: of the attempt.
    """
    slack = 1 + RELATIVE_ACCURACY
    if timing.min_ms > timing.median_ms * slack:
        what = f"{timing.min_ms:g} ms is above its median, {timing.median_ms:g} ms"
        return DamagedRow("attempts", number, "min_ms", what)
    samples = timing.samples_ms
    if not samples:
        return None
    for place, sample in enumerate(samples):
        if not (math.isfinite(sample) and sample > 0):
            what = f"sample {place} is {sample:g} ms, expected a finite and positive time"
            return DamagedRow("samples", number, "data", what)
    least, most = min(samples), max(samples)
    for column in ("median_ms", "mean_ms", "min_ms"):
        figure = getattr(timing, column)
        if not least / slack <= figure <= most * slack:
            what = f"{figure:g} ms is outside of its raw samples, {least:g} to {most:g} ms"
            return DamagedRow("attempts", number, column, what)
    return None
