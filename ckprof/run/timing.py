"""Sampling: warm-up, flushed or warm samples, and the rules that end it.

Every sample is the duration that the launcher itself measured; nothing of what is done here is inside it.
Of short kernels a sample may be the mean of several launches, see :mod:`ckprof.run.batching`.
Sampling ends, whichever is first, when

* the criterion is satisfied, after ``min_samples`` samples and ``min_time_s`` seconds of kernel time;
* ``max_time_s`` seconds of wall time are spent, after ``min_time_s`` of kernel time and at least
  ``fewest_samples`` samples;
* one more sample would exceed what is left of the kernel's timeout.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ckprof.model.outcome import MAX_TIME, TIMEOUT
from ckprof.run.batching import DOUBTFUL_MS, PROBE_LAUNCHES, launches_per_sample
from ckprof.run.stopping import make_criterion

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.run.messages import TimingSettings

#: the parent kills the worker at the full timeout; sampling must be over before
_TIMEOUT_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Samples of one kernel and what it cost to get them."""

    samples_ms: tuple[float, ...]
    stopped_by: str
    #: runs before the samples
    warmup: int
    #: wall seconds, warm-up and flushes included
    wall_s: float
    #: seconds of these spent on flushing caches
    flush_s: float
    #: launches in a row that each sample is the mean of
    launches: int = 1


class KernelFailure(Exception):
    """A timed run failed; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """What sampling does with a kernel."""

    #: runs it and returns the launcher's time in milliseconds
    run_once: Callable[[], float]
    #: launches it that many times in a row and returns the milliseconds of one; ``None`` where that gains
    #: nothing, because the host's clock measures
    run_batch: Callable[[int], float] | None = None
    #: evicts the caches before each sample; ``None`` leaves them warm
    flush: Callable[[], None] | None = None
    #: done once, between the warm-up and the samples
    after_warmup: Callable[[], None] | None = None


def take_samples(
    kernel: Launches,
    settings: TimingSettings,
    *,
    first_ms: float,
    first_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Sampling:
    """Time a kernel that has run once already.

    :param kernel: how to run it.
    :param first_ms: the launcher's time of the first run; the only sample if the timeout leaves no room.
    :param first_s: wall seconds of that run.
    :param clock: monotonic seconds.
    """
    start = clock()
    budget_s = settings.timeout_s * _TIMEOUT_SHARE - first_s
    if first_s > budget_s:
        return Sampling(samples_ms=(first_ms,), stopped_by=TIMEOUT, warmup=0, wall_s=0.0, flush_s=0.0)
    warmup = 0
    shortest_ms = first_ms
    while warmup < settings.warmup:
        if clock() - start + first_s > min(settings.max_time_s, budget_s - first_s):
            break
        shortest_ms = min(shortest_ms, kernel.run_once())
        warmup += 1
    launches, run = _sample_of(kernel, shortest_ms)
    if kernel.after_warmup is not None:
        kernel.after_warmup()
    ending = _Ending(settings, start, budget_s)
    samples: list[float] = []
    flush_s = 0.0
    while True:
        before = clock()
        if kernel.flush is not None:
            kernel.flush()
            flush_s += clock() - before
        samples.append(run())
        now = clock()
        stopped_by = ending.after(samples[-1], launches, now, now - before)
        if stopped_by:
            return Sampling(
                samples_ms=tuple(samples),
                stopped_by=stopped_by,
                warmup=warmup,
                wall_s=now - start,
                flush_s=flush_s,
                launches=launches,
            )


def _sample_of(kernel: Launches, shortest_ms: float) -> tuple[int, Callable[[], float]]:
    """Return how many launches a sample is the mean of, and what takes one.

    :param shortest_ms: the shortest run so far.
    """
    if kernel.run_batch is None:
        return 1, kernel.run_once
    flushed = kernel.flush is not None
    if not flushed and shortest_ms < DOUBTFUL_MS:
        shortest_ms = min(shortest_ms, kernel.run_batch(PROBE_LAUNCHES))
    launches = launches_per_sample(shortest_ms, flushed=flushed)
    return launches, partial(kernel.run_batch, launches) if launches > 1 else kernel.run_once


class _Ending:
    """Says when sampling is over, and why.

    :param start: when it began, by the clock of whatever follows.
    :param budget_s: seconds that are left of the kernel's timeout then.
    """

    def __init__(self, settings: TimingSettings, start: float, budget_s: float) -> None:
        self._settings = settings
        self._start = start
        self._budget_s = budget_s
        self._criterion = make_criterion(settings.criterion, settings.criterion_parameters)
        self._fewest = min(settings.min_samples, settings.fewest_samples)
        self._count = 0
        self._measured_ms = 0.0

    def after(self, sample_ms: float, launches: int, now: float, last_s: float) -> str:
        """Take a sample into account; return what ends sampling with it, or nothing.

        :param last_s: wall seconds that it took, with its flush.
        """
        settings = self._settings
        self._count += 1
        self._measured_ms += sample_ms * launches
        self._criterion.add(sample_ms)
        timed_enough = self._measured_ms >= settings.min_time_s * 1e3
        if self._count >= settings.min_samples and timed_enough and self._criterion.is_finished():
            return self._criterion.id
        if self._count >= self._fewest and timed_enough and now - self._start >= settings.max_time_s:
            return MAX_TIME
        return TIMEOUT if now - self._start + last_s > self._budget_s else ""


def checked_time(time_ms: float) -> float:
    """Return the duration that a launcher reported.

    :raises KernelFailure: it is no positive number. A launch that did not happen shows as 0 ms and would win
        every ranking.
    """
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise KernelFailure(f"the launcher reported a duration of {time_ms} ms")
    return time_ms
