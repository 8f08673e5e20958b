"""What parent and worker say to each other about sampling a kernel, and about its launches meanwhile."""

from __future__ import annotations

from typing import Final

import msgspec

from ckprof.measure.worker.message import Message

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


class Sample(Message, frozen=True, tag="sample"):
    """Poison the result and time one kernel, which has run once, on the loaded problem."""

    key: str
    split_k: int
    timing: TimingSettings
    #: duration of the first run: as the launcher reported it, and on the clock of the parent
    first_ms: float
    first_s: float
    #: of the device's comparisons, see :class:`Check`
    rtol: float = 0.0
    atol: float = 0.0
    #: digest of what was found right, as hexadecimal text; empty where the device compares
    verified: str = ""
    #: whether the result is that of other operands
    fresh: bool = False
    #: share of the time that may be spent on looking at launches; 0 where results are not verified
    audit_share: float = 0.0
    #: seconds that may be spent on that in any case
    audit_least_s: float = 0.0


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
    #: those of them whose bits were others than before
    odd: int = 0
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


class Sampled(Message, frozen=True, tag="sampled"):
    """A kernel was timed."""

    key: str
    sampling: Sampling
    #: bytes touched before every sample: less than was asked for where memory is short
    flush_bytes: int = 0
    #: units of the device that computed the launches, where the target chooses one for each of them
    units: tuple[str, ...] = ()
    audit: Audit = Audit()
