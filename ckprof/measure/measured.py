"""What is asked of a kernel's measurement, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.outcome import KernelResult, Status, Verification
from ckprof.model.requirement import MEMORY_IN_USE, UnmetRequirement

if TYPE_CHECKING:
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.messages import Ran
    from ckprof.measure.worker.sampling_messages import TimingSettings
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
