"""How kernels are timed in a round, unless a sweep is told otherwise."""

from __future__ import annotations

from ckprof.run.options import RunOptions

#: Rounds are short: what varies between them is larger than what more samples within one would tell.
ROUND_TIME_S = 0.1
ROUND_SAMPLES = 5


def round_run_options(timeout_s: float) -> RunOptions:
    """Return the run options of a sweep.

    :param timeout_s: seconds for one kernel's runs.
    """
    return RunOptions(
        min_samples=ROUND_SAMPLES, max_time_s=ROUND_TIME_S, timeout_s=timeout_s, keep_samples=True
    )
