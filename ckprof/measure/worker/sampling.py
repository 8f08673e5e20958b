"""Sampling: warm-up, and flushed or warm samples until :mod:`ckprof.measure.stopping` ends it.

Every sample is the duration that the launcher itself measured; nothing of what is done here is inside it.
Of short kernels a sample may be the mean of several launches.

Between launches, some elements of an operand get the other sign. An element of a sum of products changes its
sign with all elements of one operand that its products have. Along an axis of the result that one operand has
as well, such as the images of a batch or the output channels of a weight, any set of indices can be negated
in that operand: the result is negated in the same places, and every rounding is symmetric, so that not a bit
of it is different otherwise. Which set it is nobody can foresee, and the reference need not be computed
again. Zeros keep their sign: a sum that cancels is +0 either way.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from ckprof.measure.stopping import SamplingEnd
from ckprof.model.computation import AffineIndex, Tolerance
from ckprof.model.outcome import MAX_TIME, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.model.computation import Contraction
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet


#: quartiles mean nothing below this number of samples
FEWEST_SAMPLES: Final = 3
#: launches of a sample at most: a queue that is full makes the host wait
MOST_LAUNCHES: Final = 64
#: share of a processor that a thread which waits does not take
MOST_BUSY: Final = 0.5


class TimingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of the run options that concerns sampling."""

    warmup: int
    min_samples: int
    #: samples that the time limit leaves in any case
    fewest_samples: int = FEWEST_SAMPLES
    min_time_s: float
    max_time_s: float
    timeout_s: float
    criterion: str
    criterion_parameters: dict[str, float]
    #: bytes to touch before every sample; 0 leaves the caches warm
    flush_bytes: int
    keep_samples: bool


class AuditRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How launches are looked at while a kernel is sampled."""

    #: of the device's comparisons
    tolerance: Tolerance
    #: digest of what was found right, as hexadecimal text; empty where the device compares
    verified: str = ""
    #: whether the result is that of other operands
    fresh: bool = False
    #: share of the time that may be spent on it
    share: float
    #: seconds that may be spent on it in any case
    least_s: float
    #: the kernel was looked at thoroughly before: one launch is enough, and certain
    is_brief: bool = False


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison on the device has found."""

    wrong: int
    unwritten: int
    non_finite: int
    in_gaps: int
    gaps: int
    #: position of the first wrong element; ``None`` if there is none
    first: int | None
    #: largest error of a finite element
    max_error: float
    #: the first wrong element and what was expected, as texts: JSON has no infinity
    got: str
    expected: str


class Audit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was seen of a kernel's launches while it was sampled."""

    #: launches, of the warm-up as well
    launches: int = 0
    #: those whose result was compared, or waits for that
    checked: int = 0
    #: results that wait for a comparison
    kept: int = 0
    #: bytes of the result that were written after a launch was over
    late_bytes: int = 0
    #: share of the time between two requests in which threads that no launch waits for were at work
    busy: float = 0.0
    #: milliseconds that launches took by the worker's clock, the median, and what of them launchers have not
    #: reported, the first quartile
    launch_ms: float = 0.0
    unreported_ms: float = 0.0
    #: what the device found wrong, the first one
    findings: Findings | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Samples of one kernel and what it cost to get them."""

    #: durations that the launcher measured
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
    #: seconds of :attr:`wall_s` spent on looking at launches
    audit_s: float = 0.0
    #: bytes touched before every sample: less than was asked for where memory is short
    flush_bytes: int = 0
    #: units of the device that computed the launches, where the target chooses one for each of them
    units: tuple[str, ...] = ()
    audit: Audit = Audit()


class SignedAxis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis along which indices of an operand, and of the result, may be negated."""

    #: name of the operand
    operand: str
    length: int
    #: elements from index to index in the operand, and in the result
    operand_step: int
    result_step: int


def signed_axes(
    contraction: Contraction, specs: Sequence[TensorSpec], types: TypeSet
) -> tuple[SignedAxis, ...]:
    """Return one axis of each operand, the one whose indices lie together best; none where there is none.

    :param specs: the operands and, as the last one, the result.
    """
    *operands, result = specs
    dtypes = types.of_so_many(len(specs))
    if (
        contraction.is_changed
        or len(operands) != 2
        or any(dtype.properties.is_integer for dtype in dtypes)
        # many of their elements are rounded to a zero whose sign another rounding would not change
        or types.result.properties.size_bytes == 1
        or not all(spec.is_packed for spec in specs)
    ):
        return ()
    found = (_axis_of(contraction, spec, result) for spec in operands)
    return tuple(axis for axis in found if axis is not None)


def _axis_of(contraction: Contraction, spec: TensorSpec, result: TensorSpec) -> SignedAxis | None:
    indices = contraction.indices.get(spec.name, {})
    steps = dict(zip(result.axes, result.strides, strict=True))
    axes = [
        SignedAxis(operand=spec.name, length=length, operand_step=step, result_step=steps[letter])
        for letter, length, step in zip(spec.axes, spec.shape, spec.strides, strict=True)
        if letter in steps and _is_alone(letter, indices)
    ]
    # an axis of one index leaves nothing to chance
    return max(axes, key=lambda axis: (axis.length > 1, axis.operand_step), default=None)


def _is_alone(letter: str, indices: Mapping[str, AffineIndex]) -> bool:
    """Say whether an axis of an operand is that of the result, which no other one of its axes depends on."""
    itself = AffineIndex(terms=((letter, 1),))
    return indices.get(letter, itself) == itself and not any(
        letter == used for axis, index in indices.items() if axis != letter for used, _ in index.terms
    )


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


def take_samples(
    run_once: Callable[[], float],
    settings: TimingSettings,
    *,
    first_ms: float,
    first_s: float,
    run_batch: Callable[[int], float] | None = None,
    flush: Callable[[], None] | None = None,
    after_warmup: Callable[[], None] | None = None,
    watcher: Watcher | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Sampling:
    """Time a kernel that has run once already.

    :param run_once: runs it and returns the launcher's time in milliseconds.
    :param first_ms: the launcher's time of the first run; the only sample if the timeout leaves no room.
    :param first_s: wall seconds of that run.
    :param run_batch: launches it that many times in a row and returns the milliseconds of one; ``None`` where
        that gains nothing, because the host's clock measures.
    :param flush: evicts the caches before each sample; ``None`` leaves them warm.
    :param after_warmup: done once, between the warm-up and the samples.
    :param watcher: looks at launches; ``None``: nobody does.
    :param clock: monotonic seconds.
    """
    start = clock()
    budget_s = settings.timeout_s * _TIMEOUT_SHARE - first_s
    if first_s > budget_s:
        return Sampling(samples_ms=(first_ms,), stopped_by=TIMEOUT, warmup=0, wall_s=0.0, flush_s=0.0)

    def watched(run: Callable[[], float], launches: int) -> tuple[float, bool]:
        """Return the time of a run, and whether its result is known to be wrong."""
        if watcher is None:
            return run(), False
        watcher.before()
        time_ms = run()
        return time_ms, watcher.after(launches)

    warmup = 0
    shortest_ms = first_ms
    while warmup < settings.warmup:
        if clock() - start + first_s > min(settings.max_time_s, budget_s - first_s):
            break
        time_ms, _ = watched(run_once, 1)
        shortest_ms = min(shortest_ms, time_ms)
        warmup += 1
    launches = 1
    run: Callable[[], float] = run_once
    if run_batch is not None:
        if flush is None and shortest_ms < DOUBTFUL_MS:
            shortest_ms = min(shortest_ms, run_batch(PROBE_LAUNCHES))
        launches = launches_per_sample(shortest_ms, flushed=flush is not None)
        if launches > 1:
            run = partial(run_batch, launches)
    if after_warmup is not None:
        after_warmup()
    flush_s = 0.0

    def sample() -> float:
        nonlocal flush_s
        if flush is not None:
            before = clock()
            flush()
            flush_s += clock() - before
        return run()

    ending = SamplingEnd(settings, start, budget_s)
    samples: list[float] = []
    while True:
        before = clock()
        time_ms, is_wrong = watched(sample, launches)
        samples.append(time_ms)
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
                audit_s=watcher.spent_s if watcher is not None else 0.0,
            )


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
