"""What launches take by the worker's clock, beside what launchers report of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from ckprof.measure.plausibility import dishonest
from ckprof.measure.worker.audit import LaunchTimes
from ckprof.measure.worker.sampling import Audit

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
    assert not dishonest(audit_of(burn))
    # by the clock alone, the launcher has reported less than half
    assert (time.perf_counter() - start) * 1e3 > 2 * 4 * BURN_MS


def test_a_launcher_that_reports_half_is_found_on_a_busy_machine(contended_cpu):
    assert "the launcher reported" in dishonest(audit_of(lambda: burn() / 2))
