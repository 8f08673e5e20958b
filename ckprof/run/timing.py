"""Sampling: warm-up, flushed or warm samples, and the rules that end it.

Every sample is the duration that the launcher itself measured; nothing of what is done here is inside it.
Sampling ends, whichever is first, when

* the criterion is satisfied, after ``min_samples`` samples and ``min_time_s`` seconds of kernel time;
* ``max_time_s`` seconds of wall time are spent, after ``min_time_s`` of kernel time and at least three
  samples;
* one more sample would exceed what is left of the kernel's timeout.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckprof.model.outcome import Measurement
from ckprof.run.stopping import make_criterion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.run.messages import TimingSettings

#: ``stopped_by`` of the rules that are no criterion
MAX_TIME = "max-time"
TIMEOUT = "timeout"

#: quartiles mean nothing below this number of samples
_FEWEST_SAMPLES = 3
#: the parent kills the worker at the full timeout; sampling must be over before
_TIMEOUT_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Samples of one kernel and what it cost to get them."""

    samples_ms: tuple[float, ...]
    stopped_by: str
    #: wall seconds, warm-up and flushes included
    wall_s: float
    #: seconds of these spent on flushing caches
    flush_s: float

    def measurement(self, *, keep_samples: bool) -> Measurement:
        """Return the samples summed up."""
        return summarise(self.samples_ms, self.stopped_by, keep_samples=keep_samples)


def take_samples(
    run_once: Callable[[], float],
    flush: Callable[[], None] | None,
    settings: TimingSettings,
    *,
    first_ms: float,
    first_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Sampling:
    """Time a kernel that has run once already.

    :param run_once: runs the kernel and returns the launcher's time in milliseconds.
    :param flush: evicts the caches; ``None`` leaves them warm.
    :param first_ms: the launcher's time of the first run; the only sample if the timeout leaves no room.
    :param first_s: wall seconds of that run.
    :param clock: monotonic seconds.
    """
    start = clock()
    budget_s = settings.timeout_s * _TIMEOUT_SHARE - first_s
    if first_s > budget_s:
        return Sampling(samples_ms=(first_ms,), stopped_by=TIMEOUT, wall_s=0.0, flush_s=0.0)
    for _ in range(settings.warmup):
        if clock() - start + first_s > min(settings.max_time_s, budget_s - first_s):
            break
        run_once()
    criterion = make_criterion(settings.criterion, settings.criterion_parameters)
    fewest = min(settings.min_samples, _FEWEST_SAMPLES)
    samples: list[float] = []
    measured_ms = 0.0
    flush_s = 0.0
    while True:
        before = clock()
        if flush is not None:
            flush()
            flush_s += clock() - before
        sample = run_once()
        samples.append(sample)
        measured_ms += sample
        criterion.add(sample)
        now = clock()
        count = len(samples)
        timed_enough = measured_ms >= settings.min_time_s * 1e3
        if count >= settings.min_samples and timed_enough and criterion.is_finished():
            stopped_by = criterion.id
        elif count >= fewest and timed_enough and now - start >= settings.max_time_s:
            stopped_by = MAX_TIME
        elif now - start + (now - before) > budget_s:
            stopped_by = TIMEOUT
        else:
            continue
        return Sampling(samples_ms=tuple(samples), stopped_by=stopped_by, wall_s=now - start, flush_s=flush_s)


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
