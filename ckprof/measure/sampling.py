"""Sampling: warm-up, and flushed or warm samples until :mod:`ckprof.measure.stopping` ends it.

Every sample is the duration that the launcher itself measured; nothing of what is done here is inside it.
Of short kernels a sample may be the mean of several launches.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ckprof.measure.stopping import SamplingEnd
from ckprof.measure.worker.sampling_messages import MOST_LAUNCHES, Sampling
from ckprof.model.outcome import MAX_TIME, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.measure.worker.sampling_messages import TimingSettings


#: the parent kills the worker at the full timeout; sampling must be over before
_TIMEOUT_SHARE = 0.9


class Watcher(Protocol):
    """What is done around each launch, never inside of the time that is measured."""

    #: seconds that it took so far
    spent_s: float

    def before(self) -> None:
        """Prepare what the kernel cannot foresee."""

    def after(self, launches: int) -> bool:
        """Look at what so many launches in a row have left; say whether there is no use in further ones."""


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
    #: looks at launches; ``None``: nobody does
    watcher: Watcher | None = None


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
        time_ms, _ = _watched(kernel.watcher, kernel.run_once)
        shortest_ms = min(shortest_ms, time_ms)
        warmup += 1
    launches, run = _sample_of(kernel, shortest_ms)
    if kernel.after_warmup is not None:
        kernel.after_warmup()
    ending = SamplingEnd(settings, start, budget_s)
    samples: list[float] = []
    flush_s = 0.0
    while True:
        before = clock()
        sample = _Sample(run, kernel.flush, clock)
        time_ms, is_wrong = _watched(kernel.watcher, sample, launches)
        samples.append(time_ms)
        flush_s += sample.flush_s
        now = clock()
        stopped_by = ending.after(samples[-1], launches, now, now - before) or (MAX_TIME if is_wrong else "")
        if stopped_by:
            return Sampling(
                samples_ms=tuple(samples),
                stopped_by=stopped_by,
                warmup=warmup,
                wall_s=now - start,
                flush_s=flush_s,
                launches=launches,
                audit_s=kernel.watcher.spent_s if kernel.watcher is not None else 0.0,
            )


class _Sample:
    """A run behind a flush of the caches."""

    def __init__(
        self, run: Callable[[], float], flush: Callable[[], None] | None, clock: Callable[[], float]
    ) -> None:
        self._run, self._flush, self._clock = run, flush, clock
        self.flush_s = 0.0

    def __call__(self) -> float:
        if self._flush is not None:
            before = self._clock()
            self._flush()
            self.flush_s = self._clock() - before
        return self._run()


def _watched(watcher: Watcher | None, run: Callable[[], float], launches: int = 1) -> tuple[float, bool]:
    """Return the time of a run, and whether its result is known to be wrong."""
    if watcher is None:
        return run(), False
    watcher.before()
    time_ms = run()
    return time_ms, watcher.after(launches)


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


def checked_time(time_ms: float) -> float:
    """Return the duration that a launcher reported.

    :raises KernelFailure: it is no positive number. A launch that did not happen shows as 0 ms and would win
        every ranking.
    """
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise KernelFailure(f"the launcher reported a duration of {time_ms} ms")
    return time_ms


#: milliseconds below which a kernel is launched several times per sample
SHORT_MS: Final = 0.02
#: single launches on an idle device that seem shorter than this many milliseconds may be of short kernels; so
#: many in a row tell
DOUBTFUL_MS: Final = 0.06
PROBE_LAUNCHES: Final = 4
#: milliseconds that the launches of a sample should take together
BATCH_MS: Final = 0.2


def launches_per_sample(duration_ms: float, *, flushed: bool) -> int:
    """Return how many launches in a row a sample holds, on a device with a clock of its own.

    :param duration_ms: shortest run of the kernel so far.
    :param flushed: caches are evicted before each sample.
    """
    if flushed or not 0 < duration_ms < SHORT_MS:
        return 1
    return min(MOST_LAUNCHES, math.ceil(BATCH_MS / duration_ms))
