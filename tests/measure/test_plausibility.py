"""What launches take by the clocks of worker and parent, beside what launchers report of it."""

import math
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from ckprof.measure.plausibility import dishonest, implausible
from ckprof.measure.worker.audit import LaunchTimes
from ckprof.measure.worker.sampling import MOST_BUSY, MOST_LAUNCHES, Audit, Sampling
from tests.cases import Cases

BURN_MS = 20.0


@pytest.fixture
def contended_cpu():
    """Have this thread and three other processes share one CPU."""
    if not Path("/proc/thread-self/schedstat").exists():
        pytest.skip("the system does not say how long a thread waits for a CPU")
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    code = f"import os; os.sched_setaffinity(0, [{cpu}]); print(flush=True)\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(3):
            other = stack.enter_context(
                subprocess.Popen([sys.executable, "-IS", "-c", code], stdout=subprocess.PIPE)
            )
            stack.callback(other.kill)
            other.stdout.readline()
        os.sched_setaffinity(0, [cpu])
        stack.callback(os.sched_setaffinity, 0, allowed)
        yield


def burn():
    """Compute for a while; return the milliseconds that this took without those of waiting for a CPU."""
    start = time.thread_time()
    while (spent_ms := (time.thread_time() - start) * 1e3) < BURN_MS:
        pass
    return spent_ms


def audit_of(run):
    times = LaunchTimes()
    for _ in range(4):
        times.timed(run)
    return Audit(launch_ms=times.launch_ms, unreported_ms=times.unreported_ms)


def test_what_a_launch_waits_for_a_cpu_is_not_held_against_its_launcher(contended_cpu):
    start = time.perf_counter()
    # a host may take the CPU away from the whole machine, which is told by nobody: not every time
    assert any(not dishonest(audit_of(burn)) for _ in range(8))
    # by the clock alone, the launcher has reported less than half
    assert (time.perf_counter() - start) * 1e3 > 2 * 4 * BURN_MS


def test_a_launcher_that_reports_half_is_found_on_a_busy_machine(contended_cpu):
    assert "the launcher reported" in dishonest(audit_of(lambda: burn() / 2))


def reported(**changes):
    """Ten samples of 1 ms each, which took 12 ms with all else."""
    values = {"samples_ms": (1.0,) * 10, "stopped_by": "stdrel", "warmup": 0, "wall_s": 0.01, "flush_s": 0.0}
    return Sampling(**{**values, **changes})


PLAUSIBLE = {
    "as they are": ({}, 0.012, 0.0),
    "the clocks differ by a millisecond": ({}, 0.0095, 0.0),
    "most is flushing": ({"flush_s": 0.9}, 0.93, 0.0),
    "several launches a sample": ({"launches": 3}, 0.031, 0.0),
    "a launcher does 20 ms of its own": ({}, 0.49, 0.0),
    "a single short run that a busy machine holds up": ({"samples_ms": (0.016,)}, 0.1, 0.0),
    "as fast as the device can be": ({}, 0.012, 1.0),
    "half are faster than the device can be": ({"samples_ms": (0.1, 1.0, 1.0)}, 0.012, 1.0),
}
IMPLAUSIBLE = {
    "no sample": ({"samples_ms": ()}, 0.012, 0.0, "durations that are no positive numbers"),
    "zero": ({"samples_ms": (1.0, 0.0)}, 0.012, 0.0, "durations that are no positive numbers"),
    "negative": ({"samples_ms": (1.0, -1.0)}, 0.012, 0.0, "durations that are no positive numbers"),
    "not finite": ({"samples_ms": (1.0, math.inf)}, 9.0, 0.0, "durations that are no positive numbers"),
    "flushing took longer": (
        {"flush_s": 0.5},
        0.4,
        0.0,
        "reported 0.5 s of flushing and checks within 0.4 s",
    ),
    "both took longer": ({"flush_s": 0.2, "audit_s": 0.3}, 0.4, 0.0, "reported 0.5 s of flushing"),
    "negative flushing": ({"flush_s": -0.1}, 0.012, 0.0, "reported -0.1 s of flushing"),
    "negative checks": ({"audit_s": -0.1, "flush_s": 0.1}, 0.2, 0.0, "reported 0 s of flushing"),
    "no launch": ({"launches": 0}, 0.012, 0.0, "samples of 0 launches, expected 1 to "),
    "too many launches": ({"launches": MOST_LAUNCHES + 1}, 9.0, 0.0, f"expected 1 to {MOST_LAUNCHES}"),
    "longer than it took": ({}, 0.0085, 0.0, "runs of 0.01 s, which took 0.0085 s with all else"),
    "each launch counts": ({"launches": 2}, 0.012, 0.0, "runs of 0.02 s, which took 0.012 s"),
    "far shorter than it took": ({}, 0.52, 0.0, "1 ms per run, which took 42 ms"),
    "flushing is no excuse": ({"flush_s": 0.1}, 0.62, 0.0, "1 ms per run, which took 42 ms"),
    "faster than the device": ({}, 0.012, 1.01, "1 ms, the device's peak allows 1.01 ms"),
}


def test_what_is_believed_and_what_is_not():
    with Cases() as cases:
        for name, (changes, elapsed_s, least_ms) in PLAUSIBLE.items():
            with cases.case(name):
                assert implausible(reported(**changes), elapsed_s, least_ms) == ""
    with Cases() as cases:
        for name, (changes, elapsed_s, least_ms, text) in IMPLAUSIBLE.items():
            with cases.case(name):
                assert text in implausible(reported(**changes), elapsed_s, least_ms)


def test_warmup_takes_time_as_well():
    # 41 ms for each of eleven runs are too much, for each of twelve they are not
    assert implausible(reported(warmup=1), 0.551, 0.0)
    assert not implausible(reported(warmup=2), 0.551, 0.0)


def test_a_launch_may_take_a_little_longer_than_it_reports():
    for launch_ms in (0.0, 1.0, 100.0):
        limit = 0.15 + 0.15 * launch_ms
        assert dishonest(Audit(launch_ms=launch_ms, unreported_ms=limit - 1e-9)) == ""
        text = dishonest(Audit(launch_ms=launch_ms, unreported_ms=limit + 1e-9))
        assert dishonest(Audit(launch_ms=launch_ms, unreported_ms=limit + 1e-9), prepares_untimed=True) == ""
        assert text.endswith(f"ms for what took {launch_ms:.3g} ms until all was done")


def test_other_threads_may_not_compute_between_launches():
    assert dishonest(Audit(busy=MOST_BUSY)) == ""
    assert "threads that no launch waits for took 100 % of a processor" in dishonest(Audit(busy=1.0))
