"""Whether the times that a worker reports of a kernel can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.formatting import percent
from ckprof.measure.worker.sampling import MOST_BUSY, MOST_LAUNCHES
from ckprof.model.noise import quantile

if TYPE_CHECKING:
    from ckprof.measure.worker.sampling import Audit, Sampling

#: milliseconds of a launch, and the share of it, that need not be in the time that a launcher reports
_UNREPORTED_MS: Final = 0.15
_UNREPORTED_SHARE: Final = 0.15
#: seconds that the parent's clock may deviate from the worker's
_CLOCK_SLACK_S: Final = 1e-3
#: seconds of the parent's clock in which a busy machine runs neither of them
_MESSAGE_S: Final = 0.1
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
    taken_ms = (elapsed_s - own_s - _MESSAGE_S) * 1e3 / (samples.size + max(0, sampling.warmup))
    mean_ms = float(samples.mean()) * launches
    if taken_ms > _MOST_SLOWDOWN * mean_ms + _LAUNCH_MS:
        run_ms, whole_ms = mean_ms / launches, taken_ms / launches
        return f"the launcher reported {run_ms:.3g} ms per run, which took {whole_ms:.3g} ms"
    median_ms = quantile(sorted(sampling.samples_ms), 0.5)
    if median_ms < least_ms:
        return f"the launcher reported {median_ms:.3g} ms, the device's peak allows {least_ms:.3g} ms"
    return ""


def dishonest(audit: Audit, prepares_untimed: bool = False) -> str:
    """Return why the times of a kernel's launches cannot be believed, or an empty text.

    :param prepares_untimed: it is known that launches take longer than the kernel whose time is reported.
    """
    if audit.busy > MOST_BUSY:
        return (
            f"threads that no launch waits for took {percent(audit.busy, 0)} of a processor "
            "between launches: what they compute is not in the time"
        )
    if not prepares_untimed and audit.unreported_ms > _UNREPORTED_MS + _UNREPORTED_SHARE * audit.launch_ms:
        reported_ms = audit.launch_ms - audit.unreported_ms
        return (
            f"the launcher reported {reported_ms:.3g} ms for what took {audit.launch_ms:.3g} ms "
            "until all was done"
        )
    return ""
