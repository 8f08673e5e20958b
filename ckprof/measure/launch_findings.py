"""What the parent makes of what a worker has seen of a kernel's launches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.measure.worker.messages import MOST_BUSY
from ckprof.wording import percent

if TYPE_CHECKING:
    from ckprof.measure.worker.messages import Audit
    from ckprof.model.outcome import Verification

#: share of the time of sampling that looking at launches may take
AUDIT_SHARE: Final = 0.08
#: seconds that it may take in any case, and that launches may take which are made for that alone
AUDIT_LEAST_S: Final = 0.02
#: milliseconds of a launch, and the share of it, that need not be in the time that a launcher reports
_UNREPORTED_MS: Final = 0.15
_UNREPORTED_SHARE: Final = 0.15


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
