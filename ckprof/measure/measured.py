"""What is asked of a kernel's measurement, what becomes of it, and what its launches must not look like."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import MOST_BUSY, MOST_LAUNCHES
from ckprof.model.noise import quantile
from ckprof.model.outcome import KernelResult, Status, Verification
from ckprof.model.requirement import MEMORY_IN_USE, UnmetRequirement
from ckprof.wording import percent

if TYPE_CHECKING:
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.messages import Ran
    from ckprof.measure.worker.sampling import Audit, Sampling, TimingSettings
    from ckprof.model.types import SplitSum


#: what a rejected run may name first: the id of the condition that is not met
_NAMED_CONDITION: Final = re.compile(r"(?P<rule>[a-z][a-z0-9]*(?:-[a-z0-9]+)+): (?P<message>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A result that was compared with the reference and found right: the same bytes need no second look."""

    #: of all bytes of the result
    digest: bytes
    verification: Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(KernelResult):
    """What became of one kernel, and what the next measurement has to know."""

    #: every condition that the problem does not meet, if that is why
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction that were run; ``None`` if it did not come to that
    split_k: int | None = None
    #: the last result that was found right
    verified: Verified | None = None
    #: wall seconds of the timing stage
    timing_s: float = 0.0
    #: seconds of these spent on flushing caches
    flush_s: float = 0.0
    #: bytes touched before every sample
    flush_bytes: int = 0
    #: False if it did not come to that for a reason that has nothing to do with the kernel
    launched: bool = True
    #: the kernel did what may harm the next one: the worker must not be used any more
    tainted: bool = False
    #: why it was not verified with exact operands as well, though it should be; empty where it was
    one_set: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """Which kernel is measured, and how."""

    key: str
    #: splits of the reduction; less than 1 lets the kernel choose
    split_k: int
    split_sum: SplitSum
    timing: TimingSettings
    #: seconds for verification and copying, each time
    own_limit_s: float
    #: least duration that the device could need, in milliseconds; 0 if that is not known
    least_ms: float = 0.0
    #: what an earlier measurement of the kernel on the problem found right; then only the result of the timed
    #: runs is judged
    verified: Verified | None = None
    #: the problem with operands whose sums are exact; the kernel runs on it first, unless it was right before
    exact: PreparedProblem | None = None
    #: a launch was wrong for which a kernel before may be to blame: every one is looked at
    suspected: bool = False


def not_met(*unmet: UnmetRequirement, reason: str) -> Measured:
    """Return what becomes of a kernel whose requirements are not met: unsupported, unless that may pass."""
    if any(requirement.rule == MEMORY_IN_USE for requirement in unmet):
        return Measured(
            status=Status.RUN_ERROR,
            reason=f"not launched: {reason}; others use the device's memory now",
            launched=False,
        )
    return Measured(status=Status.UNSUPPORTED, reason=reason, unmet_requirements=unmet)


def not_run(ran: Ran) -> Measured:
    """Return what becomes of a kernel whose first run did not end well."""
    if ran.status is AbiStatus.REJECTED:
        named = _NAMED_CONDITION.fullmatch(ran.reason)
        rejection = (
            UnmetRequirement(rule=named["rule"], message=named["message"])
            if named
            else UnmetRequirement(rule="run", message=ran.reason or "the kernel gave no reason")
        )
        return not_met(rejection, reason=rejection.message)
    # An error may stay with the device, and the next kernel would be blamed for it.
    reason = ran.reason or "the run failed without a reason"
    return Measured(status=Status.RUN_ERROR, reason=reason, tainted=True)


#: share of the time of sampling that looking at launches may take
AUDIT_SHARE: Final = 0.08
#: seconds that it may take in any case, and that launches may take which are made for that alone
AUDIT_LEAST_S: Final = 0.02
#: milliseconds of a launch, and the share of it, that need not be in the time that a launcher reports
_UNREPORTED_MS: Final = 0.15
_UNREPORTED_SHARE: Final = 0.15
#: seconds that the parent's clock may deviate from the worker's
_CLOCK_SLACK_S: Final = 1e-3
#: how many times its reported duration a run may take on the parent's clock, beside this many milliseconds
#: for what a launcher does before and after
_MOST_SLOWDOWN: Final = 20.0
_LAUNCH_MS: Final = 20.0


def implausible(sampling: Sampling, elapsed_s: float, least_ms: float) -> str:
    """Return why reported durations cannot be true, or an empty text.

    :param elapsed_s: seconds on the parent's clock during which the samples were taken.
    :param least_ms: least duration that the device could need; 0 if that is not known.
    """
    samples = np.asarray(sampling.samples_ms, dtype=np.float64)
    if not samples.size or not np.isfinite(samples).all() or not (samples > 0).all():
        return "the worker reported durations that are no positive numbers"
    own_s = sampling.flush_s + sampling.audit_s
    if not (0 <= min(sampling.flush_s, sampling.audit_s) and own_s <= elapsed_s + _CLOCK_SLACK_S):
        return f"the worker reported {own_s:.3g} s of flushing and checks within {elapsed_s:.3g} s"
    launches = sampling.launches
    if not 1 <= launches <= MOST_LAUNCHES:
        return f"the worker reported samples of {launches} launches, expected 1 to {MOST_LAUNCHES}"
    total_s = float(samples.sum()) * launches / 1e3
    if total_s > elapsed_s + _CLOCK_SLACK_S:
        return f"the launcher reported runs of {total_s:.3g} s, which took {elapsed_s:.3g} s with all else"
    taken_ms = (elapsed_s - own_s) * 1e3 / (samples.size + max(0, sampling.warmup))
    mean_ms = float(samples.mean()) * launches
    if taken_ms > _MOST_SLOWDOWN * mean_ms + _LAUNCH_MS:
        run_ms, whole_ms = mean_ms / launches, taken_ms / launches
        return f"the launcher reported {run_ms:.3g} ms per run, which took {whole_ms:.3g} ms"
    median_ms = quantile(sorted(sampling.samples_ms), 0.5)
    if median_ms < least_ms:
        return f"the launcher reported {median_ms:.3g} ms, the device's peak allows {least_ms:.3g} ms"
    return ""


def dishonest(audit: Audit) -> str:
    """Return why the times of a kernel's launches cannot be believed, or an empty text."""
    if audit.busy > MOST_BUSY:
        return (
            f"threads that no launch waits for took {percent(audit.busy, 0)} of a processor "
            "between launches: "
            "what they compute is not in the time"
        )
    if audit.unreported_ms > _UNREPORTED_MS + _UNREPORTED_SHARE * audit.launch_ms:
        reported_ms = audit.launch_ms - audit.unreported_ms
        return (
            f"the launcher reported {reported_ms:.3g} ms for what took {audit.launch_ms:.3g} ms "
            "until all was done"
        )
    return ""


def written_late(audit: Audit) -> str:
    """Return what a kernel wrote when its launch was over, or an empty text."""
    return (
        f"wrote {audit.late_bytes} bytes of its result after the launch was over" if audit.late_bytes else ""
    )


def with_share(verification: Verification | None, audit: Audit) -> Verification | None:
    """Return a verification with how many launches were looked at: the first one was, in any case."""
    if verification is None:
        return None
    return replace(verification, launches=audit.launches + 1, checked=audit.checked + 1)
